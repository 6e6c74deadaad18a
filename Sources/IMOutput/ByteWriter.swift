public import IMWire

/// Bytes on their way out: numbers, times, addresses and JSON strings appended to one buffer without a `String` a line.
///
/// Whoever owns it empties it: `count` tells when, `withBytes` hands the bytes out, `removeAll` begins anew.
public struct ByteWriter: ~Copyable {
  @usableFromInline var memory: UnsafeMutablePointer<UInt8>
  @usableFromInline var capacity: Int
  /// Bytes written.
  @usableFromInline package internal(set) var count = 0
  /// Two seconds, an even and an odd one, whose texts are kept: answers come in the next one often. `.min` is neither.
  @usableFromInline var seconds: InlineArray<2, Int64> = [.min, .min]
  /// 32 bytes each.
  @usableFromInline var secondTexts = InlineArray<64, UInt8>(repeating: 0)
  /// The second whose ten digits `epochDigits` holds.
  private var epochSecond = Int64.min
  private var epochDigits: (UInt64, UInt16) = (0, 0)

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

  @inlinable @inline(__always)
  mutating func reserve(_ more: Int) {
    if count &+ more > capacity { grow(more) }
  }

  @usableFromInline @inline(never)
  mutating func grow(_ more: Int) {
    let wanted = max(capacity * 2, count + more)
    let bigger = UnsafeMutablePointer<UInt8>.allocate(capacity: wanted)
    bigger.update(from: memory, count: count)
    memory.deallocate()
    memory = bigger
    capacity = wanted
  }

  /// A pen with room for `room` bytes, and `UncheckedWriter.slack` more.
  @inlinable @inline(__always)
  public mutating func pen(room: Int) -> UncheckedWriter {
    reserve(room &+ UncheckedWriter.slack)
    return UncheckedWriter(to: UnsafeMutableRawPointer(memory + count))
  }

  /// What was written, with `UncheckedWriter.slack` bytes behind it that may be read, until the next append.
  package mutating func paddedBytes() -> UnsafeMutableRawPointer {
    reserve(UncheckedWriter.slack)
    return UnsafeMutableRawPointer(memory)
  }

  /// Ends what `pen` began.
  @inlinable @inline(__always)
  public mutating func take(_ pen: UncheckedWriter) { count = pen.to - UnsafeMutableRawPointer(memory) }

  // MARK: Text

  /// Appends a literal.
  @inlinable @inline(__always)
  public mutating func literal(_ text: StaticString) {
    let n = text.utf8CodeUnitCount
    reserve(n)
    (memory + count).update(from: text.utf8Start, count: n)
    count &+= n
  }

  /// Appends one byte.
  @inlinable @inline(__always)
  public mutating func byte(_ value: UInt8) {
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
  @inlinable @inline(__always)
  public mutating func bytes<let byteCount: Int>(_ bytes: InlineArray<byteCount, UInt8>) {
    reserve(byteCount)
    for i in 0..<byteCount { memory[count &+ i] = bytes[i] }
    count &+= byteCount
  }

  /// Appends the name of a member, in quotes and with a colon, after a comma or not. Inlined, so that a name that stands in the
  /// program is a few stores.
  @inlinable @inline(__always)
  mutating func key(_ name: StaticString, isFirst: Bool) {
    reserve(name.utf8CodeUnitCount &+ 4)
    count = Self.key(name, isFirst: isFirst, UnsafeMutableRawPointer(memory + count)) - UnsafeMutableRawPointer(memory)
  }

  @inlinable @inline(__always)
  static func key(
    _ name: StaticString, isFirst: Bool, _ to: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let n = name.utf8CodeUnitCount
    to.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
    let to = isFirst ? to : to + 1
    to.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
    (to + 1).copyMemory(from: name.utf8Start, byteCount: n)
    to.storeBytes(
      of: UInt16(UInt8(ascii: "\"")) | UInt16(UInt8(ascii: ":")) &<< 8, toByteOffset: n &+ 1, as: UInt16.self)
    return to + (n &+ 3)
  }

  /// Appends a member that is a number.
  @inlinable @inline(__always)
  mutating func member(_ name: StaticString, isFirst: Bool, _ value: UInt64) {
    reserve(name.utf8CodeUnitCount &+ 24)
    let value = Digits.number(value, Self.key(name, isFirst: isFirst, UnsafeMutableRawPointer(memory + count)))
    count = value - UnsafeMutableRawPointer(memory)
  }

  /// Appends bytes as they are.
  @inlinable @inline(__always)
  public mutating func raw(_ bytes: UnsafeRawBufferPointer) {
    reserve(bytes.count)
    if let base = bytes.baseAddress {
      UnsafeMutableRawPointer(memory + count).copyMemory(from: base, byteCount: bytes.count)
    }
    count &+= bytes.count
  }

  /// Appends a text that was made once.
  @inline(__always)
  mutating func piece(_ piece: Piece) {
    var pen = pen(room: piece.bytes.count)
    pen.piece(piece)
    take(pen)
  }

  // MARK: Numbers

  /// Appends a number in decimal.
  @inlinable @inline(__always)
  public mutating func number(_ value: UInt64) {
    reserve(20)
    count = Digits.number(value, UnsafeMutableRawPointer(memory + count)) - UnsafeMutableRawPointer(memory)
  }

  /// Appends a signed number in decimal.
  package mutating func number(_ value: Int64) {
    if value < 0 { byte(UInt8(ascii: "-")) }
    number(value.magnitude)
  }

  /// Appends a whole number of any width.
  @inlinable @inline(__always)
  public mutating func number(_ value: some FixedWidthInteger & UnsignedInteger) {
    number(UInt64(truncatingIfNeeded: value))
  }

  /// Appends `value` thousandths with three decimals, without trailing zeros but one: microseconds as milliseconds.
  public mutating func thousandths(_ value: Int64) {
    reserve(24)
    count = Digits.thousandths(value, UnsafeMutableRawPointer(memory + count)) - UnsafeMutableRawPointer(memory)
  }

  /// Appends `value` thousandths with three decimals, trailing zeros included, so that columns of them stand below one another:
  /// microseconds as milliseconds for people.
  package mutating func milliseconds(_ value: Int64) {
    if value < 0 { byte(UInt8(ascii: "-")) }
    number(value.magnitude / 1_000)
    let part = value.magnitude % 1_000
    byte(UInt8(ascii: "."))
    for divisor: UInt64 in [100, 10, 1] { byte(48 + UInt8(truncatingIfNeeded: part / divisor % 10)) }
  }

  /// Appends `value` rounded to `decimals` (at most 9) places, without trailing zeros but one. Only finite numbers that fit.
  package mutating func decimal(_ value: Double, _ decimals: Int) {
    let scaled = (value.magnitude * Double(Self.scale(decimals))).rounded()
    guard scaled.isFinite, scaled < 1e18 else {
      number(UInt64(0))
      return
    }
    let whole = UInt64(scaled)
    if decimals == 3 { return thousandths(value < 0 ? -Int64(whole) : Int64(whole)) }
    if value < 0, whole > 0 { byte(UInt8(ascii: "-")) }
    var (integer, part): (UInt64, UInt64)
    var digits = max(1, decimals)
    if decimals == 6 {
      // By constants, and three digits at once where there are no more.
      (integer, part) = (whole / 1_000_000, whole % 1_000_000)
      if part % 1_000 == 0 { (part, digits) = (part / 1_000, 3) }
    } else {
      (integer, part) = whole.quotientAndRemainder(dividingBy: Self.scale(decimals))
    }
    number(integer)
    byte(UInt8(ascii: "."))
    while digits > 1, part % 10 == 0 { (part, digits) = (part / 10, digits - 1) }
    reserve(10)
    for i in stride(from: digits &- 1, through: 0, by: -1) {
      memory[count &+ i] = 48 &+ UInt8(truncatingIfNeeded: part % 10)
      part /= 10
    }
    count &+= digits
  }

  /// Ten to the power of `decimals`, at most 9.
  private static func scale(_ decimals: Int) -> UInt64 {
    switch decimals {
    case 2: 100
    case 3: 1_000
    case 6: 1_000_000
    default: (0..<decimals).reduce(1) { scale, _ in scale * 10 }
    }
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
  package mutating func upperHex(_ value: UInt32, width: Int) {
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

  // MARK: Times

  /// Appends `2026-11-21T00:11:46.123456Z`. The text of the second is kept for the next one.
  public mutating func instant(_ time: Timestamp) {
    reserve(32)
    let to = UnsafeMutableRawPointer(memory + count)
    instant(time, to)
    count &+= 27
  }

  /// Puts those 27 bytes at `to`; five more are touched.
  @inlinable @inline(__always)
  public mutating func instant(_ time: Timestamp, _ to: UnsafeMutableRawPointer) {
    let second = time.seconds
    let place = Int(second & 1)
    if second != seconds[place] { cacheSecond(second) }
    withUnsafeBytes(of: &secondTexts) { texts in
      guard let base = texts.baseAddress else { return }
      to.storeBytes(
        of: base.loadUnaligned(fromByteOffset: 32 &* place, as: SIMD32<UInt8>.self), as: SIMD32<UInt8>.self)
    }
    Digits.six(UInt32(truncatingIfNeeded: time.microseconds &- second &* 1_000_000), to + 20)
    to.storeBytes(of: UInt8(ascii: "Z"), toByteOffset: 26, as: UInt8.self)
  }

  /// Appends `00:11:46.123456`, the time of day in UTC.
  package mutating func timeOfDay(_ time: Timestamp) {
    let second = time.seconds
    let place = Int(second & 1)
    if second != seconds[place] { cacheSecond(second) }
    reserve(16)
    for i in 0..<9 { memory[count &+ i] = secondTexts[32 &* place &+ 11 &+ i] }
    Digits.six(
      UInt32(truncatingIfNeeded: time.microseconds &- second &* 1_000_000),
      UnsafeMutableRawPointer(memory + (count &+ 9)))
    count &+= 15
  }

  /// Days to a date in the proleptic Gregorian calendar; all times that a `Timestamp` holds have a year of four digits.
  @usableFromInline
  mutating func cacheSecond(_ second: Int64) {
    let start = 32 * Int(second & 1)
    seconds[Int(second & 1)] = second
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
        secondTexts[start + i] = 48 + UInt8(truncatingIfNeeded: value % 10)
        value /= 10
      }
    }
    put(year, 0, 4)
    put(month, 5, 2)
    put(day, 8, 2)
    put(rest / 3_600, 11, 2)
    put(rest / 60 % 60, 14, 2)
    put(rest % 60, 17, 2)
    secondTexts[start + 4] = UInt8(ascii: "-")
    secondTexts[start + 7] = UInt8(ascii: "-")
    secondTexts[start + 10] = UInt8(ascii: "T")
    secondTexts[start + 13] = UInt8(ascii: ":")
    secondTexts[start + 16] = UInt8(ascii: ":")
    secondTexts[start + 19] = UInt8(ascii: ".")
  }

  /// Puts microseconds since the epoch at `to`, 20 bytes at most, and gives their end. The digits of the second are kept for
  /// the next one.
  @inline(__always)
  mutating func microseconds(_ time: Timestamp, _ to: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    let value = time.microseconds
    let second = value / 1_000_000
    if second != epochSecond, !cacheEpoch(second) { return Digits.signed(value, to) }
    to.storeBytes(of: epochDigits.0, as: UInt64.self)
    to.storeBytes(of: epochDigits.1, toByteOffset: 8, as: UInt16.self)
    Digits.six(UInt32(truncatingIfNeeded: value &- second &* 1_000_000), to + 10)
    return to + 16
  }

  /// Keeps the digits of a second that has ten of them: of the years 2001 to 2286. False for any other.
  @inline(never)
  private mutating func cacheEpoch(_ second: Int64) -> Bool {
    guard (1_000_000_000..<10_000_000_000).contains(second) else { return false }
    epochSecond = second
    withUnsafeMutableBytes(of: &epochDigits) { digits in
      if let base = digits.baseAddress { _ = Digits.number(UInt64(second), base) }
    }
    return true
  }

  // MARK: Addresses

  /// Appends an address.
  public mutating func address(_ address: IPAddress) {
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
    reserve(16)
    count = Digits.v4(v, UnsafeMutableRawPointer(memory + count)) - UnsafeMutableRawPointer(memory)
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
