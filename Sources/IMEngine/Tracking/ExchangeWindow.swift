import IMWire

/// An exchange that a frame to come seems to belong to, in either direction.
struct WantedExchange: BitwiseCopyable {
  var session: UInt32, sequence: UInt64
}

/// Where the exchanges of one session begin: for each direction and each value of a number's lowest bits, the lower half of
/// the position of the newest, 0 for none. 64 bytes, one cache line.
struct ExchangeWindow: BitwiseCopyable {
  /// Places of each direction, a power of two.
  static var width: Int { 8 }
  /// Places of both.
  static var places: Int { 16 }
  var newest: InlineArray<16, UInt32> = InlineArray(repeating: 0)

  /// Where a number's exchanges begin.
  @inline(__always)
  static func place(_ direction: Direction, _ sequence: UInt64) -> Int {
    Int(direction.rawValue) &* width &+ Int(truncatingIfNeeded: sequence & UInt64(width &- 1))
  }
}
