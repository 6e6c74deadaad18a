import IMEngine
import IMWire

/// The value of an element, read as the profile says that it is to be.
enum ElementValue: Equatable {
  case unsigned(UInt64)
  case signed(Int64)
  case text
  case bytes
  case time(Timestamp)
  case address(IPAddress)
  case digits
  /// Two texts; where each begins and ends.
  case pair(Range<Int>, Range<Int>)
  /// Of no type that is known, or of another length than its type has.
  case unknown

  /// Reads `bytes` as `type`.
  init(_ type: ValueType?, _ bytes: UnsafeRawBufferPointer) {
    guard let type else {
      self = .unknown
      return
    }
    let count = bytes.count
    let isNumber = (1...8).contains(count)
    let number = isNumber ? Self.number(bytes, type.littleEndian) : 0
    self =
      switch type.kind {
      case .unsigned where isNumber: .unsigned(number)
      case .signed where isNumber:
        .signed(Int64(bitPattern: number << UInt64(64 - count * 8)) >> Int64(64 - count * 8))
      case .text: .text
      case .bytes: .bytes
      case .bcd where count > 0: .digits
      case .time where count == 4 || count == 8: Self.time(number, perSecond: 1)
      case .milliseconds where count == 8: Self.time(number, perSecond: 1_000)
      // 70 years with 17 leap days.
      case .seconds1900 where count == 4 && number >= 2_208_988_800: Self.time(number - 2_208_988_800, perSecond: 1)
      case .address: Self.address(bytes)
      case .varint where (1...4).contains(count): .unsigned(bytes.reversed().reduce(0) { $0 << 7 | UInt64($1 & 0x7f) })
      case .pair: Self.pair(bytes)
      default: .unknown
      }
  }

  /// Two texts that fill `bytes`, by lengths of two bytes, or else of one or four.
  private static func pair(_ bytes: UnsafeRawBufferPointer) -> ElementValue {
    func text(_ at: Int, _ width: Int) -> Range<Int>? {
      guard at + width <= bytes.count else { return nil }
      let count = bytes[at..<at + width].reduce(0) { $0 << 8 | Int($1) }
      return count <= bytes.count - at - width ? at + width..<at + width + count : nil
    }
    for width in [2, 1, 4] {
      if let key = text(0, width), let value = text(key.upperBound, width), value.upperBound == bytes.count {
        return .pair(key, value)
      }
    }
    return .unknown
  }

  private static func number(_ bytes: UnsafeRawBufferPointer, _ littleEndian: Bool) -> UInt64 {
    var number: UInt64 = 0
    for i in bytes.indices { number = number << 8 | UInt64(bytes[littleEndian ? bytes.count - 1 - i : i]) }
    return number
  }

  /// Times that a timestamp can hold, up to the year 2262.
  private static func time(_ number: UInt64, perSecond: UInt64) -> ElementValue {
    guard number / perSecond < 9_000_000_000 else { return .unknown }
    return .time(Timestamp(nanoseconds: Int64(number * (1_000_000_000 / perSecond))))
  }

  private static func address(_ bytes: UnsafeRawBufferPointer) -> ElementValue {
    var at = 0
    // An address family (IANA) in front: 1 is IPv4, 2 is IPv6.
    if bytes.count == 6 || bytes.count == 18 {
      guard bytes[0] == 0, bytes[1] == (bytes.count == 6 ? 1 : 2) else { return .unknown }
      at = 2
    }
    func number(_ from: Int, _ count: Int) -> UInt64 {
      (from..<from + count).reduce(0) { $0 << 8 | UInt64(bytes[at + $1]) }
    }
    switch bytes.count - at {
    case 4: return .address(IPAddress(v4: UInt32(truncatingIfNeeded: number(0, 4))))
    case 16: return .address(IPAddress(v6High: number(0, 8), v6Low: number(8, 8)))
    default: return .unknown
    }
  }
}

extension ByteWriter {
  /// Appends a value as text for a terminal: numbers, times and addresses as such, bytes in hexadecimal, else in quotes.
  mutating func element(_ value: ElementValue, _ bytes: UnsafeRawBufferPointer) {
    switch value {
    case .unsigned(let number): self.number(number)
    case .signed(let number): self.number(number)
    case .time(let time): instant(time)
    case .address(let address): self.address(address)
    case .bytes, .digits: hexDigits(bytes, limit: 80)
    case .pair(let key, let value):
      element(.text, UnsafeRawBufferPointer(rebasing: bytes[key]))
      literal(" = ")
      element(.text, UnsafeRawBufferPointer(rebasing: bytes[value]))
    case .text, .unknown:
      literal("\"")
      terminal(bytes, limit: 160)
      literal("\"")
    }
  }

  /// Appends a value as JSON: numbers as numbers, anything else as a string.
  mutating func jsonElement(_ value: ElementValue, _ bytes: UnsafeRawBufferPointer) {
    switch value {
    case .unsigned(let number): self.number(number)
    case .signed(let number): self.number(number)
    case .text, .unknown: jsonString(UnsafeRawBufferPointer(rebasing: bytes.prefix(160)))
    case .pair(let key, let value):
      literal("[")
      jsonElement(.text, UnsafeRawBufferPointer(rebasing: bytes[key]))
      literal(",")
      jsonElement(.text, UnsafeRawBufferPointer(rebasing: bytes[value]))
      literal("]")
    case .time, .address, .bytes, .digits:
      literal("\"")
      element(value, bytes)
      literal("\"")
    }
  }

  private mutating func hexDigits(_ bytes: UnsafeRawBufferPointer, limit: Int) {
    for byte in bytes.prefix(limit) { hex(UInt64(byte), width: 2) }
    if bytes.count > limit { literal("...") }
  }
}
