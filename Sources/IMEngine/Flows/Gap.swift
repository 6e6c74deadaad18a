import IMWire

/// Why bytes of a stream were never seen.
package enum GapReason: UInt8, CaseIterable, Sendable, BitwiseCopyable {
  /// The peer acknowledged them, so they reached it: the capture lost them.
  case captureLoss
  /// The capture's snaplen cut them off.
  case snaplen
  /// Nobody acknowledged them, and a limit on bytes, segments or time was reached, or the connection ended.
  case unseen

  /// The name in documents.
  package var name: String {
    switch self {
    case .captureLoss: "capture_loss"
    case .snaplen: "snaplen"
    case .unseen: "unseen"
    }
  }
}

/// Bytes missing from a stream.
struct Gap {
  var byteCount: Int
  var reason: GapReason
  /// When bytes behind them were seen first; `distantFuture` where none were.
  var seenAt = Timestamp.distantFuture
}
