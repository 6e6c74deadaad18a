/// Bytes in the wire form of Protocol Buffers, with messages in messages.
///
/// The length of a message is known when it ends: one byte is kept free for it, and where that is not enough what follows
/// moves up.
package struct ProtobufWriter: Sendable {
  /// What was written.
  package private(set) var bytes: [UInt8] = []

  /// Nothing.
  package init() {}

  private mutating func varint(_ value: UInt64) {
    var rest = value
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// The tag of a field: its number and its wire type.
  private mutating func tag(_ number: Int, _ type: UInt64) { varint(UInt64(number) << 3 | type) }

  /// A field that is a variable-length number: `uint`, `bool`, an enumeration, or a negative number as two's complement.
  package mutating func number(_ field: Int, _ value: UInt64) {
    tag(field, 0)
    varint(value)
  }

  /// A field of eight bytes: `fixed64`, `sfixed64`, or the bits of a `double`.
  package mutating func fixed(_ field: Int, _ value: UInt64) {
    tag(field, 1)
    word(value)
  }

  /// A field of four bytes: `fixed32`.
  package mutating func fixed32(_ field: Int, _ value: UInt32) {
    tag(field, 5)
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// Eight bytes without a tag, as packed fields have them.
  package mutating func word(_ value: UInt64) {
    withUnsafeBytes(of: value.littleEndian) { bytes.append(contentsOf: $0) }
  }

  /// A variable-length number without a tag, as packed fields have it.
  package mutating func packed(_ value: UInt64) { varint(value) }

  /// A field of bytes or of text.
  package mutating func bytes(_ field: Int, _ value: some Collection<UInt8>) {
    tag(field, 2)
    varint(UInt64(value.count))
    bytes.append(contentsOf: value)
  }

  /// Begins a message, or packed numbers, and gives what `end` needs.
  package mutating func begin(_ field: Int) -> Int {
    tag(field, 2)
    bytes.append(0)
    return bytes.count
  }

  /// Ends what began at `start`.
  package mutating func end(_ start: Int) {
    let count = bytes.count - start
    guard count >= 0x80 else {
      bytes[start - 1] = UInt8(truncatingIfNeeded: count)
      return
    }
    var length: [UInt8] = [], rest = count
    while rest >= 0x80 {
      length.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    length.append(UInt8(truncatingIfNeeded: rest))
    bytes.replaceSubrange(start - 1..<start, with: length)
  }
}
