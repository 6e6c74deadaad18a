/// SplitMix64: small, good enough for tests, and the same everywhere.
package struct SeededRandom: RandomNumberGenerator, Sendable {
  private var state: UInt64

  /// The same numbers for the same seed.
  package init(_ seed: UInt64) { state = seed }

  /// The next number.
  package mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }

  /// `count` bytes.
  package mutating func bytes(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8(truncatingIfNeeded: next()) } }

  /// True once in `times`.
  package mutating func once(in times: Int) -> Bool { next() % UInt64(max(1, times)) == 0 }

  /// One of `elements`, which are not empty.
  package mutating func one<T>(of elements: [T]) -> T { elements[Int(next() % UInt64(elements.count))] }
}
