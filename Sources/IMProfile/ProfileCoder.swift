import IMEngine

/// Writes values to bytes, or reads them back in the same order: one list of a value's parts serves both.
///
/// A number is seven bits a byte, least significant first; a text and a list have their count in front.
struct ProfileCoder {
  private(set) var bytes: [UInt8] = []
  private var position = 0
  /// Whether values are read.
  let isReading: Bool
  /// Whether what was read cannot have been written.
  private(set) var isBroken = false
  /// Whether everything was read.
  var isAtEnd: Bool { position == bytes.count }

  /// A coder that reads `bytes`, or writes.
  init(reading bytes: [UInt8]?) {
    isReading = bytes != nil
    self.bytes = bytes ?? []
  }

  mutating func number<T: FixedWidthInteger>(_ value: inout T) {
    guard isReading else {
      var rest = UInt64(truncatingIfNeeded: value)
      while rest >= 0x80 {
        bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
        rest >>= 7
      }
      bytes.append(UInt8(truncatingIfNeeded: rest))
      return
    }
    var result: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      guard position < bytes.count else {
        isBroken = true
        return
      }
      let byte = bytes[position]
      position += 1
      result |= UInt64(byte & 0x7f) << shift
      if byte & 0x80 == 0 { break }
    }
    value = T(truncatingIfNeeded: result)
  }

  mutating func flag(_ value: inout Bool) {
    var number: UInt8 = value ? 1 : 0
    self.number(&number)
    value = number == 1
  }

  mutating func raw<T: RawRepresentable>(_ value: inout T) where T.RawValue: FixedWidthInteger {
    var number = value.rawValue
    self.number(&number)
    if let known = T(rawValue: number) { value = known } else { isBroken = true }
  }

  /// A value that is one of `known`.
  mutating func word<T: Equatable>(_ value: inout T, _ known: [T]) {
    var index = known.firstIndex(of: value) ?? 0
    number(&index)
    if known.indices.contains(index) { value = known[index] } else { isBroken = true }
  }

  mutating func flags(_ value: inout FrameKind.Flags) {
    var number = value.rawValue
    self.number(&number)
    value = FrameKind.Flags(rawValue: number)
  }

  mutating func text(_ value: inout String) {
    var count = value.utf8.count
    number(&count)
    guard isReading else {
      bytes += value.utf8
      return
    }
    guard count >= 0, count <= bytes.count - position else {
      isBroken = true
      return
    }
    value = String(decoding: bytes[position..<position + count], as: UTF8.self)
    position += count
  }

  mutating func list<T>(_ values: inout [T], _ empty: T, _ body: (inout ProfileCoder, inout T) -> Void) {
    var count = values.count
    number(&count)
    if isReading {
      guard count >= 0, count <= bytes.count - position else {
        isBroken = true
        return
      }
      values = Array(repeating: empty, count: count)
    }
    for i in values.indices { body(&self, &values[i]) }
  }

  mutating func field(_ value: inout Field) {
    number(&value.mask)
    number(&value.offset)
    number(&value.shift)
    flag(&value.littleEndian)
  }
}
