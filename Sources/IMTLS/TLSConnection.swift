package import IMWire

/// The TLS of one TCP connection, both directions.
///
/// It owns no bytes of the stream: `next` looks at what the caller holds of a direction, from the first byte that is not consumed, and
/// says what it is and how many bytes it takes. A caller of a direction:
///
/// - appends what TCP delivered to what it holds, and calls `next` until `more` or `undecided`, dropping consumed bytes;
/// - calls `lose` when bytes are missing, with what it still holds, which is consumed by that;
/// - calls `canRetry` for a direction that is `undecided` after the key table or the other direction moved on, and
///   `giveUpWaiting` when it holds too much or has waited too long; then `next` again, as often as before.
///
/// Direction 0 is client to server. Of a connection whose client is not certain, the sides may change places, once: see `isSwapped`.
package final class TLSConnection {
  /// Whether what the caller takes for direction 0 is that of the server. Only ever true of a connection that was made with
  /// `sidesAreCertain: false`; the caller's directions keep their numbers in all calls.
  package private(set) var isSwapped = false
  /// What the handshake told.
  package var facts: TLSFacts { TLSFacts() }

  /// A connection none of whose bytes were seen. For one whose beginning is missing, `lose(byteCount: nil)` of both directions follows.
  package init(sidesAreCertain: Bool = true) {}

  /// What is at the front of `bytes`, the contiguous bytes of `direction` that are not consumed yet.
  ///
  /// - `time`: of the last byte that was captured of them.
  /// - `isEnd`: no bytes will follow them: the connection or the capture ended.
  ///
  /// Every step but `more` and `undecided` consumes at least one byte. Work for each call is bounded by the bytes and the credit.
  package func next(
    _ bytes: UnsafeRawBufferPointer, direction: Int, time: Timestamp, isEnd: Bool = false, in context: TLSContext
  ) -> TLSStep { .unread(count: bytes.count, .noKey) }

  /// Bytes of `direction` will not come: `byteCount` of them, or an unknown number, after `held`, which is what the caller holds and has
  /// not consumed. `held` is consumed. A hole within a record whose header is in `held` leaves the boundary known.
  @discardableResult
  package func lose(
    byteCount: UInt64?, after held: UnsafeRawBufferPointer, direction: Int, time: Timestamp, in context: TLSContext
  ) -> TLSLoss { .isSearching }

  /// Whether `next` may answer otherwise than `undecided` now: the key table has grown, or the other direction told more.
  package func canRetry(direction: Int, in context: TLSContext) -> Bool { false }

  /// The caller does not want to hold bytes of `direction` any longer: what `next` finds undecided is passed over until a key is there,
  /// or, of early data, taken for accepted.
  package func giveUpWaiting(direction: Int) {}

  /// Bytes of `direction` that steps had reported as `noKey` and whose secret came afterwards, since the last call. The caller moves
  /// them to `keyLate`.
  package func takeLateByteCount(direction: Int) -> UInt64 { 0 }

  /// Whether both sides' Finished were read, or of TLS 1.2 without a key both sides sent application data after ChangeCipherSpec.
  package var isEstablished: Bool { false }
  /// Whether records of `direction` are being opened: keys are known.
  package func hasKeys(direction: Int) -> Bool { false }
  /// Whether the boundary of the next record of `direction` is known.
  package func isInStep(direction: Int) -> Bool { true }
  /// Alerts of `direction` that were read, but for close_notify.
  package func alertCount(direction: Int) -> Int { 0 }
  /// The last alert of `direction`; `nil` when none was read.
  package func lastAlert(direction: Int) -> (level: UInt8, description: UInt8)? { nil }
  /// Whether `direction` was closed by close_notify.
  package func isClosed(direction: Int) -> Bool { false }
  /// KeyUpdates of `direction`.
  package func keyUpdateCount(direction: Int) -> Int { 0 }
  /// Bytes of memory that the connection takes, with what it holds of handshake messages.
  package var byteCount: Int { 0 }

  /// Whether `bytes` begin with at least two TLS records in a row, which names TLS without its hello: types 20 to 24, version 3.1 or
  /// 3.3, possible lengths. The second one's header suffices, or the end of `bytes` where the first record ends, when that is of at
  /// least 22 bytes and `isSegment` says that a segment ends there.
  package static func looksLikeRecords(_ bytes: UnsafeRawBufferPointer, isSegment: Bool) -> Bool { false }

  /// Whether `bytes` begin with a ClientHello in a record; `false` also while they are too few (6).
  package static func looksLikeClientHello(_ bytes: UnsafeRawBufferPointer) -> Bool { false }
}
