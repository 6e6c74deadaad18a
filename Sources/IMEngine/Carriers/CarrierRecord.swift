package import IMWire

/// What is kept of a connection whose protocol travels in a carrier. Plain data in a pool, by `Flow.carrier`.
struct CarrierRecord {
  /// The carriers that were seen.
  var carriers: CarrierSet = []
  /// The client and what it connected to, as a PROXY header names them; `nil` where none does.
  var client: Endpoint?, destination: Endpoint?
  /// Whether that client's own connection was TLS.
  var usesTLS = false
  /// Offsets in the streams of side 0 and side 1 behind what carriers put in front of them.
  var begin: InlineArray<2, UInt64> = [0, 0]

  init() {}
}

/// What a carrier tells at its place between the frames.
package struct CarrierEvent: Sendable, BitwiseCopyable {
  /// What was told.
  package enum What: Sendable, BitwiseCopyable {
    /// A PROXY header. `source` is the client and `destination` what it connected to, where the header names them;
    /// `isLocal` says that the proxy speaks for itself, as health checks do.
    case proxy(version: UInt8, isLocal: Bool, source: Endpoint?, destination: Endpoint?)
  }

  /// When the packet came that had its last byte.
  package var timestamp: Timestamp
  /// The direction of the stream that it stands in.
  package var direction: Direction
  /// Where in that stream it begins, and its length in bytes.
  package var streamOffset: UInt64, byteCount: UInt64
  /// What it is.
  package var what: What
}
