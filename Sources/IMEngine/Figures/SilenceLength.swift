import IMWire

/// Facts of a silence whose ending packet has no answer yet.
struct SilenceFacts: OptionSet, BitwiseCopyable {
  let rawValue: UInt8
  /// The packet that ended it asks TCP for an answer: it carries data or a FIN, or is a keep-alive.
  static let asks = SilenceFacts(rawValue: 1)
  /// The packet that ended it is a reset.
  static let isReset = SilenceFacts(rawValue: 2)
  /// The peer answered with a reset.
  static let isRefused = SilenceFacts(rawValue: 4)
}

/// The length of a silence in 32 bits: microseconds up to 35 minutes, then steps of a millisecond up to 24 days.
struct SilenceLength: BitwiseCopyable {
  private var bits: UInt32 = 0
  /// The highest bit, which says that the others count milliseconds.
  private static var coarse: UInt32 { 1 << 31 }

  init() {}

  /// A silence that lasted for so long.
  init(_ time: Nanoseconds) {
    let microseconds = max(1, time.microseconds)
    bits =
      microseconds < Int64(Self.coarse)
      ? UInt32(truncatingIfNeeded: microseconds)
      : Self.coarse | UInt32(clamping: min(microseconds / 1_000, Int64(Self.coarse) - 1))
  }

  /// Whether there is none.
  var isNone: Bool { bits == 0 }
  /// Its length.
  var time: Nanoseconds {
    bits & Self.coarse == 0 ? .microseconds(Int64(bits)) : .milliseconds(Int64(bits & ~Self.coarse))
  }
}
