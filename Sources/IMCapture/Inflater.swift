import CZlib

/// zlib's state for unpacking gzip data piece by piece.
///
/// The state stands in memory of its own because zlib keeps its address.
struct Inflater: ~Copyable {
  /// How far one call came.
  struct Progress {
    /// Packed bytes taken.
    var taken: Int
    /// Unpacked bytes made.
    var made: Int
    /// Whether a member ended here; `restart()` before the next.
    var memberEnded: Bool
    /// Whether the data is damaged behind the bytes that were made.
    var isDamaged: Bool
  }

  private let stream: UnsafeMutablePointer<z_stream>

  /// A state for the gzip format, or nil when there is no memory.
  init?() {
    let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    stream.initialize(to: z_stream())
    // 15 bits of window, +16 for the gzip wrapper.
    guard imdump_inflateInit2(stream, 15 + 16) == Z_OK else {
      stream.deallocate()
      return nil
    }
    self.stream = stream
  }

  deinit {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Unpacks from `packed` into `target` as far as either reaches.
  mutating func inflate(_ packed: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) -> Progress {
    let input = packed.bindMemory(to: UInt8.self), output = target.bindMemory(to: UInt8.self)
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    stream.pointee.avail_in = UInt32(clamping: input.count)
    stream.pointee.next_out = output.baseAddress
    stream.pointee.avail_out = UInt32(clamping: output.count)
    let offered = (Int(stream.pointee.avail_in), Int(stream.pointee.avail_out))
    let result = CZlib.inflate(stream, Z_NO_FLUSH)
    return Progress(
      taken: offered.0 - Int(stream.pointee.avail_in), made: offered.1 - Int(stream.pointee.avail_out),
      memberEnded: result == Z_STREAM_END,
      // Z_BUF_ERROR only says that there was nothing to do.
      isDamaged: result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
  }

  /// Makes ready for the next member.
  mutating func restart() { inflateReset(stream) }
}
