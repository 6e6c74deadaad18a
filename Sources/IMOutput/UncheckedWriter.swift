public import IMWire

/// Appends to a `ByteWriter` where room was made before, so that nothing asks whether there is any: a line's bytes are counted
/// once, and its place stays in a register.
///
/// `ByteWriter.pen(room:)` gives one, with room for so many bytes and `slack` more; `ByteWriter.take(_:)` ends it. Between the
/// two nothing else may be appended.
public struct UncheckedWriter {
  /// So many bytes behind what they append some appends touch.
  @inlinable public static var slack: Int { 64 }

  /// Where the next byte goes.
  public var to: UnsafeMutableRawPointer

  /// A pen that writes to `to`.
  @inlinable
  init(to: UnsafeMutableRawPointer) { self.to = to }

  /// Text that stands in the program.
  @inlinable @inline(__always)
  public mutating func literal(_ text: StaticString) {
    let n = text.utf8CodeUnitCount
    to.copyMemory(from: text.utf8Start, byteCount: n)
    to += n
  }

  /// One byte.
  @inlinable @inline(__always)
  public mutating func byte(_ value: UInt8) {
    to.storeBytes(of: value, as: UInt8.self)
    to += 1
  }

  /// Bytes behind which 31 more may be read.
  @inlinable @inline(__always)
  public mutating func padded(_ from: UnsafeRawPointer, _ count: Int) {
    var i = 0
    repeat {
      let part = from.loadUnaligned(fromByteOffset: i, as: SIMD32<UInt8>.self)
      to.storeBytes(of: part, toByteOffset: i, as: SIMD32<UInt8>.self)
      i &+= 32
    } while i < count
    to += count
  }

  /// A text that was made once.
  @inlinable @inline(__always)
  public mutating func piece(_ piece: Piece) {
    if let start = piece.bytes.baseAddress { padded(start, piece.bytes.count) }
  }

  /// Any bytes.
  @inlinable @inline(__always)
  public mutating func raw(_ bytes: UnsafeRawBufferPointer) {
    if let base = bytes.baseAddress { to.copyMemory(from: base, byteCount: bytes.count) }
    to += bytes.count
  }

  /// An IPv4 address and a port: at most 21 bytes.
  @inlinable @inline(__always)
  public mutating func v4(_ endpoint: Endpoint) {
    to = Digits.v4(UInt32(truncatingIfNeeded: endpoint.address.low), to)
    to.storeBytes(of: UInt8(ascii: ":"), as: UInt8.self)
    to = Digits.number(UInt64(endpoint.port), to + 1)
  }

  /// A number in decimal: at most 20 bytes.
  @inlinable @inline(__always)
  public mutating func number(_ value: UInt64) { to = Digits.number(value, to) }

  /// Thousandths as `ByteWriter.thousandths` writes them: at most 24 bytes.
  @inlinable @inline(__always)
  public mutating func thousandths(_ value: Int64) { to = Digits.thousandths(value, to) }
}
