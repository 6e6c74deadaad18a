/// Why the bytes of a connection are not a frame.
public enum FrameError: Error, Hashable, Sendable {
  /// The bytes do not begin with the magic: where the next frame begins is not known.
  case notAFrame
  /// Another major version: what follows the first five bytes may mean anything.
  case version(UInt8)
  /// The body is said to be longer than any may be.
  case bodyTooLong(UInt32)
}

/// What stands at the beginning of unread bytes.
enum FrameReading: Equatable {
  /// A whole frame: its header, and whether the checksum is that of the body. The body follows the header.
  case frame(FrameHeader, isIntact: Bool)
  /// Not all of a frame is there: this many bytes are wanted from its beginning.
  case needs(Int)
  /// The stream cannot be read on.
  case broken(FrameError)
}

/// Reads frames from the bytes of a connection, one after the other.
enum FrameReader {
  /// Looks at the bytes from `offset`. A few bytes are enough to see that a stream is broken.
  static func read(_ bytes: RawSpan, at offset: Int, accepting major: UInt8) -> FrameReading {
    let available = bytes.byteCount - offset
    guard available >= FrameHeader.byteCount else {
      for index in 0..<min(4, max(0, available)) {
        let wanted = UInt8(truncatingIfNeeded: FrameHeader.magic >> UInt32(24 - index * 8))
        guard bytes.unsafeLoad(fromByteOffset: offset + index, as: UInt8.self) == wanted else {
          return .broken(.notAFrame)
        }
      }
      if available > 4 {
        let found = bytes.unsafeLoad(fromByteOffset: offset + 4, as: UInt8.self)
        guard found == major else { return .broken(.version(found)) }
      }
      return .needs(FrameHeader.byteCount)
    }
    let magic = UInt32(bigEndian: bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt32.self))
    guard magic == FrameHeader.magic else { return .broken(.notAFrame) }
    let header = FrameHeader(bytes, at: offset)
    guard header.version.major == major else { return .broken(.version(header.version.major)) }
    guard header.bodyCount <= FrameHeader.maximumBodyCount else { return .broken(.bodyTooLong(header.bodyCount)) }
    let count = FrameHeader.byteCount + Int(header.bodyCount)
    guard available >= count else { return .needs(count) }
    let body = bytes.extracting(offset + FrameHeader.byteCount..<offset + count)
    return .frame(header, isIntact: Checksum.matches(header.checksum, of: body))
  }
}
