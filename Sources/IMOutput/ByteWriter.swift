package import IMWire

/// Bytes on their way out: numbers, times, addresses and JSON strings appended to one buffer without a `String` a line.
///
/// Whoever owns it empties it: `count` tells when, `withBytes` hands the bytes out, `removeAll` begins anew.
package struct ByteWriter: ~Copyable {
  private var memory: UnsafeMutablePointer<UInt8>
  private var capacity: Int
  /// Bytes written.
  package private(set) var count = 0
  private var cachedSecond = Int64.min
  /// The second whose ten digits `epochDigits` holds.
  private var epochSecond = Int64.min
  private var epochDigits: (UInt64, UInt16) = (0, 0)
  private var secondText = InlineArray<20, UInt8>(repeating: 0)

  /// An empty writer with room for `capacity` bytes; it grows.
  package init(capacity: Int = 1 << 16) {
    self.capacity = max(64, capacity)
    memory = .allocate(capacity: self.capacity)
  }

  deinit { memory.deallocate() }

  /// Hands out what was written.
  package func withBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
    try body(UnsafeRawBufferPointer(start: memory, count: count))
  }

  /// Forgets what was written, keeping the memory.
  package mutating func removeAll() { count = 0 }

  /// Cuts what was written back to its first `count` bytes.
  package mutating func truncate(to count: Int) { self.count = min(self.count, count) }

  /// What was written, as text.
  package var text: String { withBytes { String(decoding: $0, as: UTF8.self) } }

  @inline(__always)
  private mutating func reserve(_ more: Int) {
    if count &+ more > capacity { grow(more) }
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    let wanted = max(capacity * 2, count + more)
    let bigger = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
    bigger.update(from: memory, count: count)
    memory.deallocate()
    memory = bigger
    capacity = wanted
  }

  // MARK: Text

  /// Appends a literal.
  @inline(__always)
  package mutating func literal(_ text: StaticString) {
    let n = text.utf8CodeUnitCount
    reserve(n)
    (memory + count).update(from: text.utf8Start, count: n)
    count &+= n
  }

  /// Appends one byte.
  @inline(__always)
  package mutating func byte(_ value: UInt8) {
    reserve(1)
    memory[count] = value
    count &+= 1
  }

  /// Appends text as it is; for names of our own, not for bytes from the wire.
  package mutating func text(_ text: String) {
    var text = text
    text.withUTF8 { utf8 in
      reserve(utf8.count)
      if let base = utf8.baseAddress { (memory + count).update(from: base, count: utf8.count) }
      count &+= utf8.count
    }
  }

  /// Appends bytes as they are.
  @inline(__always)
  mutating func bytes<let byteCount: Int>(_ bytes: InlineArray<byteCount, UInt8>) {
    reserve(byteCount)
    for i in 0..<byteCount { memory[count &+ i] = bytes[i] }
    count &+= byteCount
  }

  /// Appends the name of a member, in quotes and with a colon, after a comma or not. Inlined, so that a name that stands in the
  /// program is a few stores.
  @inline(__always)
  mutating func key(_ name: StaticString, isFirst: Bool) {
    let n = name.utf8CodeUnitCount
    reserve(n &+ 4)
    memory[count] = UInt8(ascii: ",")
    if !isFirst { count &+= 1 }
    memory[count] = UInt8(ascii: "\"")
    let target = memory + (count &+ 1)
    target.update(from: name.utf8Start, count: n)
    target[n] = UInt8(ascii: "\"")
    target[n &+ 1] = UInt8(ascii: ":")
    count &+= n &+ 3
  }

  /// Appends bytes as they are.
  @inline(__always)
  package mutating func raw(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    if let base = bytes.baseAddress {
      UnsafeMutableRawPointer(memory + count).copyMemory(from: base, byteCount: bytes.count)
    }
    count &+= bytes.count
  }

  // MARK: Numbers

  /// Appends a number in decimal.
  @inline(__always)
  package mutating func number(_ value: UInt64) {
    reserve(20)
    if value < 10 {
      memory[count] = 48 &+ UInt8(truncatingIfNeeded: value)
      count &+= 1
      return
    }
    var digits = 1
    var left = value
    while left >= 10_000 {
      left /= 10_000
      digits &+= 4
    }
    digits &+= left >= 100 ? (left >= 1_000 ? 3 : 2) : (left >= 10 ? 1 : 0)
    var position = count &+ digits
    count = position
    left = value
    while left >= 100 {
      let quotient = left / 100
      position &-= 2
      put(pair: Int(truncatingIfNeeded: left &- quotient &* 100), at: position)
      left = quotient
    }
    if left >= 10 {
      put(pair: Int(truncatingIfNeeded: left), at: position &- 2)
    } else {
      memory[position &- 1] = 48 &+ UInt8(truncatingIfNeeded: left)
    }
  }

  /// All numbers of two digits.
  private static var pairs: StaticString {
    """
    0001020304050607080910111213141516171819202122232425262728293031323334353637383940414243444546474849\
    5051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899
    """
  }

  /// Puts the two digits of `value`, which is below 100, where there is room.
  @inline(__always)
  private func put(pair value: Int, at position: Int) {
    let pair = Self.pairs.utf8Start + 2 &* value
    memory[position] = pair[0]
    memory[position &+ 1] = pair[1]
  }

  /// Appends a signed number in decimal.
  package mutating func number(_ value: Int64) {
    if value < 0 { byte(UInt8(ascii: "-")) }
    number(value.magnitude)
  }

  /// Appends a whole number of any width.
  @inline(__always)
  package mutating func number(_ value: some FixedWidthInteger & UnsignedInteger) {
    number(UInt64(truncatingIfNeeded: value))
  }

  /// Appends `value` thousandths with three decimals, without trailing zeros but one: microseconds as milliseconds.
  package mutating func thousandths(_ value: Int64) {
    if value < 0 { byte(UInt8(ascii: "-")) }
    let magnitude = value.magnitude
    let whole = magnitude / 1_000
    number(whole)
    reserve(4)
    let part = Int(truncatingIfNeeded: magnitude &- whole &* 1_000)
    let last = part % 10
    memory[count] = UInt8(ascii: ".")
    put(pair: part / 10, at: count &+ 1)
    memory[count &+ 3] = 48 &+ UInt8(truncatingIfNeeded: last)
    count &+= last != 0 ? 4 : part % 100 != 0 ? 3 : 2
  }

  /// Appends `value` rounded to `decimals` (at most 9) places, without trailing zeros but one. Only finite numbers that fit.
  package mutating func decimal(_ value: Double, _ decimals: Int) {
    var scale: UInt64 = 1
    for _ in 0..<decimals { scale *= 10 }
    let scaled = (value.magnitude * Double(scale)).rounded()
    guard scaled.isFinite, scaled < 1e18 else {
      number(UInt64(0))
      return
    }
    let whole = UInt64(scaled)
    if value < 0, whole > 0 { byte(UInt8(ascii: "-")) }
    number(whole / scale)
    byte(UInt8(ascii: "."))
    var part = whole % scale
    var divisor = scale / 10
    repeat {
      byte(48 + UInt8(divisor == 0 ? 0 : part / divisor))
      part = divisor == 0 ? 0 : part % divisor
      divisor /= 10
    } while part != 0
  }

  /// Appends a number in lower-case hexadecimal with at least `width` digits.
  package mutating func hex(_ value: UInt64, width: Int = 1) {
    let digits = max(width, (64 - value.leadingZeroBitCount + 3) / 4)
    for i in stride(from: digits - 1, through: 0, by: -1) {
      let nibble = UInt8(truncatingIfNeeded: value >> UInt64(i * 4)) & 15
      byte(nibble < 10 ? 48 + nibble : 87 + nibble)
    }
  }

  /// Appends a number in upper-case hexadecimal with at least `width` digits, 16 at most.
  mutating func upperHex(_ value: UInt32, width: Int) {
    let digits = min(16, max(width, (35 &- value.leadingZeroBitCount) / 4))
    reserve(digits)
    var left = value
    for i in stride(from: digits &- 1, through: 0, by: -1) {
      let nibble = UInt8(truncatingIfNeeded: left & 15)
      memory[count &+ i] = nibble < 10 ? 48 &+ nibble : 55 &+ nibble
      left &>>= 4
    }
    count &+= digits
  }

  @inline(__always)
  private mutating func twoDigits(_ value: Int) {
    put(pair: value, at: count)
    count &+= 2
  }

  // MARK: Times

  /// Appends `2026-11-21T00:11:46.123456Z`. The text of the second is kept for the next one.
  package mutating func instant(_ time: Timestamp) {
    let second = time.seconds
    if second != cachedSecond { cacheSecond(second) }
    reserve(32)
    withUnsafeBytes(of: &secondText) { text in
      if let base = text.baseAddress {
        UnsafeMutableRawPointer(memory + count).copyMemory(from: base, byteCount: 20)
      }
    }
    count &+= 20
    let micros = Int(time.microseconds &- second &* 1_000_000)
    twoDigits(micros / 10_000)
    twoDigits(micros / 100 % 100)
    twoDigits(micros % 100)
    memory[count] = UInt8(ascii: "Z")
    count &+= 1
  }

  /// Appends `00:11:46.123456`, the time of day in UTC.
  package mutating func timeOfDay(_ time: Timestamp) {
    let second = time.seconds
    if second != cachedSecond { cacheSecond(second) }
    reserve(16)
    for i in 11..<20 { memory[count &+ i &- 11] = secondText[i] }
    count &+= 9
    let micros = Int(time.microseconds &- second &* 1_000_000)
    twoDigits(micros / 10_000)
    twoDigits(micros / 100 % 100)
    twoDigits(micros % 100)
  }

  /// Days to a date in the proleptic Gregorian calendar; all times that a `Timestamp` holds have a year of four digits.
  private mutating func cacheSecond(_ second: Int64) {
    cachedSecond = second
    var days = second / 86_400
    var rest = second % 86_400
    if rest < 0 {
      rest += 86_400
      days -= 1
    }
    // Shift the year's begin to March, so that the leap day is its last.
    let z = days + 719_468
    let era = (z >= 0 ? z : z - 146_096) / 146_097
    let dayOfEra = z - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let shifted = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * shifted + 2) / 5 + 1
    let month = shifted < 10 ? shifted + 3 : shifted - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    func put(_ value: Int64, _ at: Int, _ digits: Int) {
      var value = value
      for i in stride(from: at + digits - 1, through: at, by: -1) {
        secondText[i] = 48 + UInt8(truncatingIfNeeded: value % 10)
        value /= 10
      }
    }
    put(year, 0, 4)
    put(month, 5, 2)
    put(day, 8, 2)
    put(rest / 3_600, 11, 2)
    put(rest / 60 % 60, 14, 2)
    put(rest % 60, 17, 2)
    secondText[4] = UInt8(ascii: "-")
    secondText[7] = UInt8(ascii: "-")
    secondText[10] = UInt8(ascii: "T")
    secondText[13] = UInt8(ascii: ":")
    secondText[16] = UInt8(ascii: ":")
    secondText[19] = UInt8(ascii: ".")
  }

  /// Appends microseconds since the epoch. The digits of the second are kept for the next one.
  @inline(__always)
  package mutating func microseconds(_ time: Timestamp) {
    let value = time.microseconds
    let second = value / 1_000_000
    if second != epochSecond, !cacheEpoch(second) {
      number(value)
      return
    }
    reserve(16)
    let to = UnsafeMutableRawPointer(memory + count)
    to.storeBytes(of: epochDigits.0, as: UInt64.self)
    to.storeBytes(of: epochDigits.1, toByteOffset: 8, as: UInt16.self)
    count &+= 10
    let micros = Int(value &- second &* 1_000_000)
    twoDigits(micros / 10_000)
    twoDigits(micros / 100 % 100)
    twoDigits(micros % 100)
  }

  /// Keeps the digits of a second that has ten of them: of the years 2001 to 2286. False for any other.
  @inline(never)
  private mutating func cacheEpoch(_ second: Int64) -> Bool {
    guard (1_000_000_000..<10_000_000_000).contains(second) else { return false }
    epochSecond = second
    let start = count
    number(UInt64(second))
    let from = UnsafeRawPointer(memory + start)
    epochDigits = (from.loadUnaligned(as: UInt64.self), from.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
    count = start
    return true
  }

  // MARK: Addresses

  /// All octets of an IPv4 address with the dot behind them, four bytes each.
  private static var octets: StaticString {
    """
    0.  1.  2.  3.  4.  5.  6.  7.  8.  9.  10. 11. 12. 13. 14. 15. 16. 17. 18. 19. 20. 21. 22. 23. 24. \
    25. 26. 27. 28. 29. 30. 31. 32. 33. 34. 35. 36. 37. 38. 39. 40. 41. 42. 43. 44. 45. 46. 47. 48. 49. \
    50. 51. 52. 53. 54. 55. 56. 57. 58. 59. 60. 61. 62. 63. 64. 65. 66. 67. 68. 69. 70. 71. 72. 73. 74. \
    75. 76. 77. 78. 79. 80. 81. 82. 83. 84. 85. 86. 87. 88. 89. 90. 91. 92. 93. 94. 95. 96. 97. 98. 99. \
    100.101.102.103.104.105.106.107.108.109.110.111.112.113.114.115.116.117.118.119.120.121.122.123.124.\
    125.126.127.128.129.130.131.132.133.134.135.136.137.138.139.140.141.142.143.144.145.146.147.148.149.\
    150.151.152.153.154.155.156.157.158.159.160.161.162.163.164.165.166.167.168.169.170.171.172.173.174.\
    175.176.177.178.179.180.181.182.183.184.185.186.187.188.189.190.191.192.193.194.195.196.197.198.199.\
    200.201.202.203.204.205.206.207.208.209.210.211.212.213.214.215.216.217.218.219.220.221.222.223.224.\
    225.226.227.228.229.230.231.232.233.234.235.236.237.238.239.240.241.242.243.244.245.246.247.248.249.\
    250.251.252.253.254.255.
    """
  }

  /// Appends an address.
  package mutating func address(_ address: IPAddress) {
    if address.isIPv6 { return v6(address) }
    v4(UInt32(truncatingIfNeeded: address.low))
  }

  /// RFC 5952, as `IPAddress.description` does it.
  private mutating func v6(_ address: IPAddress) {
    if address.high == 0, address.low >> 32 == 0xffff {
      literal("::ffff:")
      return v4(UInt32(truncatingIfNeeded: address.low))
    }
    var groups = InlineArray<8, UInt16>(repeating: 0)
    for i in 0..<8 {
      groups[i] = UInt16(truncatingIfNeeded: (i < 4 ? address.high : address.low) >> UInt64((3 - i % 4) * 16))
    }
    // The first of the longest runs of zeros, of two or more.
    var (start, length) = (8, 1)
    var run = 0
    for i in 0..<8 {
      run = groups[i] == 0 ? run + 1 : 0
      if run > length { (start, length) = (i - run + 1, run) }
    }
    var i = 0
    while i < 8 {
      if i == start {
        literal("::")
        i += length
        continue
      }
      if i > 0, i != start + length { byte(UInt8(ascii: ":")) }
      hex(UInt64(groups[i]))
      i += 1
    }
  }

  private mutating func v4(_ v: UInt32) {
    // Four bytes are stored for every octet, and the last dot is taken back.
    reserve(16)
    var to = UnsafeMutableRawPointer(memory + count)
    var left = v
    for _ in 0..<4 {
      let octet = Int(truncatingIfNeeded: left >> 24)
      let text = UnsafeRawPointer(Self.octets.utf8Start + 4 &* octet).loadUnaligned(as: UInt32.self)
      to.storeBytes(of: text, as: UInt32.self)
      to += 2 &+ (octet >= 10 ? 1 : 0) &+ (octet >= 100 ? 1 : 0)
      left <<= 8
    }
    count = to - UnsafeMutableRawPointer(memory) &- 1
  }

  /// Appends `192.0.2.1:8080` or `[2001:db8::1]:8080`.
  package mutating func endpoint(_ endpoint: Endpoint) {
    if endpoint.address.isIPv6 { byte(UInt8(ascii: "[")) }
    address(endpoint.address)
    if endpoint.address.isIPv6 { byte(UInt8(ascii: "]")) }
    byte(UInt8(ascii: ":"))
    number(UInt64(endpoint.port))
  }
}
