package import IMDescriptors
package import IMWire

/// Where packets come from, in batches.  One conforming final class per kind of source.
package protocol PacketSource: AnyObject {
  /// Hands the next batch to `body` and returns true, or returns false when there will be no more.
  ///
  /// The bytes are borrowed until `body` returns; `PacketRecord.slack` readable bytes follow the last packet. A live
  /// source also hands out an empty batch about ten times a second while the line is quiet, so that the caller may look
  /// at its clock. Everything before a damage has been handed out before the error is thrown; after an error the
  /// source has ended, and asking again returns false.
  func nextBatch(_ body: (RawSpan, Span<PacketRecord>) -> Void) throws(CaptureError) -> Bool

  /// Where in the capture, unpacked, the first byte of the bytes stands that `nextBatch` is handing out; `nil` but for a file.
  var batchOffset: UInt64? { get }

  /// Where in its capture, unpacked, the bytes of each packet begin that `nextBatch` is handing out; empty where `batchOffset` says so, and
  /// for a live capture. The packets' numbers say which capture that is.
  var packetOffsets: [UInt64] { get }

  /// What has been counted so far.
  var statistics: CaptureStatistics { get }

  /// The interfaces seen so far; `PacketRecord.interface` counts into this list.
  var interfaces: [CaptureInterface] { get }

  /// What happened to the source since the last call and is no reason to end.
  func takeEvents() -> [CaptureEvent]

  /// Asks the source to end: a file at the next batch, a live capture after it has handed out what the kernel had
  /// accepted before this call.  Safe in a signal handler and from any thread.
  func stop()
}

extension PacketSource {
  /// None.
  package var packetOffsets: [UInt64] { [] }
}

/// Something a capture noticed that does not end it.
package enum CaptureEvent: Equatable, Sendable, CustomStringConvertible {
  /// The interface went down; the capture waits for it.
  case interfaceDown(String)
  /// The interface is up again.
  case interfaceUp(String)
  /// The interface has disappeared; the capture waits for another of its name.
  case interfaceGone(String)
  /// There is an interface of that name again, and the capture goes on.
  case interfaceBack(String)
  /// A wish that could not be granted, in words.
  case warning(String)

  /// In words.
  package var description: String {
    switch self {
    case .interfaceDown(let name): "\(name): the interface went down; waiting for it"
    case .interfaceUp(let name): "\(name): the interface is up again"
    case .interfaceGone(let name): "\(name): the interface disappeared; waiting for one of that name"
    case .interfaceBack(let name): "\(name): the interface is back"
    case .warning(let text): text
    }
  }
}
