import IMWire

/// Why a kept state cannot be read: what is wrong, and at which byte of the file.
package struct AlertStateError: Error, Equatable {
  /// The position in the file, in bytes.
  package var offset: Int
  /// What is wrong there.
  package var message: String
}

/// Appends the parts of a state to bytes: numbers as LEB128, signed ones in zigzag order, texts behind their lengths.
struct AlertStateWriter {
  private(set) var bytes: [UInt8] = []

  mutating func byte(_ value: UInt8) { bytes.append(value) }

  mutating func number(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(rest))
  }

  mutating func signed(_ value: Int64) { number(UInt64(bitPattern: value << 1 ^ value >> 63)) }

  mutating func time(_ value: Timestamp) { signed(value.nanoseconds) }

  /// A time that may be missing.
  mutating func time(_ value: Timestamp?) {
    byte(value == nil ? 0 : 1)
    if let value { time(value) }
  }

  /// A count, up to the greatest that is read.
  mutating func count(_ value: UInt64) { number(min(value, AlertStateReader.maximumCount)) }

  /// A measured value, up to the greatest that is read.
  mutating func real(_ value: Double) {
    word((value >= 0 ? min(value, Double(AlertStateReader.maximumCount)) : 0).bitPattern)
  }

  /// Eight bytes, little endian.
  mutating func word(_ value: UInt64) {
    for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: value >> UInt64(shift))) }
  }

  mutating func text(_ value: String) {
    let utf8 = Array(value.utf8)
    number(UInt64(utf8.count))
    bytes += utf8
  }

  mutating func address(_ value: IPAddress) {
    byte(value.isIPv6 ? 6 : 4)
    if value.isIPv6 { word(value.high) }
    number(value.isIPv6 ? value.low : value.low & 0xffff_ffff)
  }

  mutating func endpoint(_ value: Endpoint) {
    address(value.address)
    number(UInt64(value.port))
  }
}

/// Reads what `AlertStateWriter` has written. The bytes are not trusted: nothing is read beyond their end, and all that is counted has limits.
struct AlertStateReader {
  private let bytes: ArraySlice<UInt8>
  private(set) var position: Int

  /// A reader of `bytes`, whose indices are positions in the file.
  init(_ bytes: ArraySlice<UInt8>) {
    self.bytes = bytes
    position = bytes.startIndex
  }

  /// Counts have less than this: sums of all that a window may hold are numbers, too.
  static let maximumCount: UInt64 = 1 << 48

  var isAtEnd: Bool { position >= bytes.endIndex }

  func error(_ message: String, at offset: Int? = nil) -> AlertStateError {
    AlertStateError(offset: offset ?? position, message: message)
  }

  mutating func byte() throws(AlertStateError) -> UInt8 {
    guard position < bytes.endIndex else { throw error("unexpected end of the state") }
    defer { position += 1 }
    return bytes[position]
  }

  mutating func number() throws(AlertStateError) -> UInt64 {
    let start = position
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), through: 63, by: 7) {
      let byte = try byte()
      guard shift < 63 || byte < 2 else { break }
      value |= UInt64(byte & 0x7f) << shift
      if byte < 0x80 { return value }
    }
    throw error("a number has too many bytes", at: start)
  }

  /// A number of at most `most`; `name` is what it counts.
  mutating func count(_ name: String, most: UInt64 = maximumCount) throws(AlertStateError) -> UInt64 {
    let start = position
    let value = try number()
    guard value <= most else { throw error("\(name): \(value) is more than \(most)", at: start) }
    return value
  }

  mutating func signed() throws(AlertStateError) -> Int64 {
    let value = try number()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  mutating func time() throws(AlertStateError) -> Timestamp { Timestamp(nanoseconds: try signed()) }

  mutating func optionalTime() throws(AlertStateError) -> Timestamp? {
    try byte() == 0 ? nil : try time()
  }

  /// A measured value: from 0 to 2⁴⁸.
  mutating func real() throws(AlertStateError) -> Double {
    let start = position
    let value = Double(bitPattern: try word())
    guard value >= 0, value <= Double(Self.maximumCount) else {
      throw error("a measured value is out of range", at: start)
    }
    return value
  }

  mutating func word() throws(AlertStateError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 64, by: 8) { value |= UInt64(try byte()) << shift }
    return value
  }

  /// A text of at most `most` bytes; `name` is what it is.
  mutating func text(_ name: String, most: Int) throws(AlertStateError) -> String {
    let start = position
    let count = Int(try count(name, most: UInt64(most)))
    guard count <= bytes.endIndex - position else { throw error("\(name): the state ends in it", at: start) }
    defer { position += count }
    guard let text = String(validating: bytes[position..<position + count], as: UTF8.self) else {
      throw error("\(name): not UTF-8", at: start)
    }
    return text
  }

  mutating func address() throws(AlertStateError) -> IPAddress {
    let start = position
    switch try byte() {
    case 4: return IPAddress(v4: UInt32(try count("address", most: UInt64(UInt32.max))))
    case 6:
      let high = try word()
      return IPAddress(v6High: high, v6Low: try number())
    case let family: throw error("family of addresses \(family)", at: start)
    }
  }

  mutating func endpoint() throws(AlertStateError) -> Endpoint {
    let address = try address()
    return Endpoint(address: address, port: UInt16(try count("port", most: 65_535)))
  }
}
