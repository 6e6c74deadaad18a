/// Which numbers of one conversation have come: all below a floor, and a bit for each of the next 8,192.
///
/// A number that lies further ahead moves the floor up; what is passed counts as come. Nothing is kept beside the floor
/// while numbers come in their order.
struct NumberWindow: Hashable, Sendable {
  /// How far numbers may come apart.
  static var width: UInt64 { 8_192 }

  /// All numbers below have come.
  private(set) var floor: UInt64
  /// Bit `n % width` for number `n` at or above the floor; empty while there is none.
  private var bits: [UInt64] = []
  private var count = 0

  /// Everything below `floor` has come.
  init(floor: UInt64) { self.floor = floor }

  /// Whether `number` has come.
  func contains(_ number: UInt64) -> Bool {
    guard number >= floor else { return true }
    guard !bits.isEmpty, number - floor < Self.width else { return false }
    return bits[Self.word(number)] & Self.bit(number) != 0
  }

  /// Numbers above the floor that have come.
  var others: [UInt64] {
    guard count > 0 else { return [] }
    return (floor + 1..<floor + Self.width).filter { bits[Self.word($0)] & Self.bit($0) != 0 }
  }

  /// Notes that `number` has come; false when it had.
  mutating func insert(_ number: UInt64) -> Bool {
    guard number < .max, !contains(number) else { return false }
    if number == floor, count == 0 {
      floor += 1
      return true
    }
    while number - floor >= Self.width {
      guard count > 0 else {
        floor = number - Self.width + 1
        break
      }
      raise()
    }
    if bits.isEmpty { bits = [UInt64](repeating: 0, count: Int(Self.width / 64)) }
    bits[Self.word(number)] |= Self.bit(number)
    count += 1
    while count > 0, bits[Self.word(floor)] & Self.bit(floor) != 0 { raise() }
    if count == 0 { bits = [] }
    return true
  }

  /// Everything below `number` counts as come.
  mutating func settle(below number: UInt64) {
    while floor < number {
      guard count > 0 else {
        floor = number
        break
      }
      raise()
    }
    while count > 0, bits[Self.word(floor)] & Self.bit(floor) != 0 { raise() }
    if count == 0 { bits = [] }
  }

  private mutating func raise() {
    if bits[Self.word(floor)] & Self.bit(floor) != 0 {
      bits[Self.word(floor)] &= ~Self.bit(floor)
      count -= 1
    }
    floor += 1
  }

  private static func word(_ number: UInt64) -> Int { Int(number % width / 64) }
  private static func bit(_ number: UInt64) -> UInt64 { 1 << (number & 63) }
}
