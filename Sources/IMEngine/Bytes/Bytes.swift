/// Borrowed bytes of one packet or one chunk of a stream, read at offsets whose room has been proved.
///
/// Room is proved once per header or frame; the loads behind the proof are unchecked. A `-DCHECKED` build, as debug builds and
/// the fuzz targets are, proves every load again.
@frozen
public struct Bytes: ~Escapable {
  /// The bytes.
  public let span: RawSpan

  /// Borrows `span`.
  @_lifetime(copy span)
  @inlinable @inline(__always)
  public init(_ span: RawSpan) { self.span = span }

  /// How many bytes may be read.
  @inlinable @inline(__always)
  public var count: Int { span.byteCount }

  @inlinable @inline(__always)
  func load<T: BitwiseCopyable>(_ offset: Int, as type: T.Type) -> T {
    #if CHECKED
      return span.unsafeLoadUnaligned(fromByteOffset: offset, as: type)
    #else
      return span.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: type)
    #endif
  }

  /// Reads the byte at `offset`. The caller has proved `offset < count`.
  @inlinable @inline(__always)
  public func u8(_ offset: Int) -> UInt8 { load(offset, as: UInt8.self) }

  /// Reads two bytes at `offset`, big endian. The caller has proved `offset + 2 <= count`.
  @inlinable @inline(__always)
  public func u16(_ offset: Int) -> UInt16 { UInt16(bigEndian: load(offset, as: UInt16.self)) }

  /// Reads four bytes at `offset`, big endian. The caller has proved `offset + 4 <= count`.
  @inlinable @inline(__always)
  public func u32(_ offset: Int) -> UInt32 { UInt32(bigEndian: load(offset, as: UInt32.self)) }

  /// Reads eight bytes at `offset`, big endian. The caller has proved `offset + 8 <= count`.
  @inlinable @inline(__always)
  public func u64(_ offset: Int) -> UInt64 { UInt64(bigEndian: load(offset, as: UInt64.self)) }

  /// The `length` bytes at `offset`. The caller has proved that they are there.
  @_lifetime(copy self)
  @inlinable @inline(__always)
  public func slice(_ offset: Int, _ length: Int) -> RawSpan {
    #if CHECKED
      return span.extracting(offset..<offset + length)
    #else
      return span.extracting(unchecked: offset..<offset &+ length)
    #endif
  }

  /// The bytes from `offset` on, at most 2³². The caller has proved that some are there.
  @_lifetime(copy self)
  @inline(__always)
  func from(_ offset: UInt32) -> Bytes {
    #if CHECKED
      return Bytes(span.extracting(Int(offset)...))
    #else
      return Bytes(
        span.extracting(unchecked: Range(uncheckedBounds: (Int(offset), span.byteCount))))
    #endif
  }

  /// Calls `body` with the place of the `length` bytes at `offset`. The caller has proved that they are there.
  @inline(__always)
  func sum(_ offset: Int, _ length: Int, _ body: (UnsafeRawPointer) -> UInt64) -> UInt64 {
    #if CHECKED
      _ = span.extracting(offset..<offset + length)
    #endif
    return span.withUnsafeBytes { raw in raw.baseAddress.map { body($0 + offset) } ?? 0 }
  }
}
