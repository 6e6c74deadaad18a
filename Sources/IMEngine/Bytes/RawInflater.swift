import CZlib

/// Inflates a raw deflate stream (RFC 1951) piece by piece, keeping the window between pieces.
///
/// Distances that reach in front of what it has seen are refused by zlib, so that what comes out is what was compressed,
/// never a guess.
struct RawInflater {
  /// What a piece came to.
  enum Progress {
    /// All of it was used.
    case more
    /// There is no room for output; the rest of the piece is to be handed in again.
    case full
    /// The last block has ended.
    case end
    /// The bytes are not what they should be.
    case broken
  }

  /// Bytes that one holds, window included.
  static var cost: Int { 48 << 10 }

  private let stream: UnsafeMutablePointer<z_stream>

  /// One with an empty window; `nil` where there is no memory.
  init?() {
    stream = .allocate(capacity: 1)
    stream.initialize(to: z_stream())
    guard imdump_inflateInit2(stream, -15) == Z_OK else {
      stream.deallocate()
      return nil
    }
  }

  /// Frees what it holds; it is not used again.
  func destroy() {
    inflateEnd(stream)
    stream.deallocate()
  }

  /// Forgets the window.
  func reset() { inflateReset(stream) }

  /// Begins a new stream behind one that has ended, with the window that there is.
  func restart() {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32 << 10) { window in
      var count: UInt32 = 0
      inflateGetDictionary(stream, window.baseAddress, &count)
      inflateReset(stream)
      inflateSetDictionary(stream, window.baseAddress, count)
    }
  }

  /// Inflates `input` into `output`; answers how much of each was used.
  func inflate(_ input: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) -> (
    used: Int, made: Int, progress: Progress
  ) {
    stream.pointee.next_in = UnsafeMutablePointer(mutating: input.bindMemory(to: UInt8.self).baseAddress)
    stream.pointee.avail_in = UInt32(truncatingIfNeeded: input.count)
    stream.pointee.next_out = output.bindMemory(to: UInt8.self).baseAddress
    stream.pointee.avail_out = UInt32(truncatingIfNeeded: output.count)
    let result = CZlib.inflate(stream, Z_SYNC_FLUSH)
    let used = input.count - Int(stream.pointee.avail_in)
    let made = output.count - Int(stream.pointee.avail_out)
    switch result {
    case Z_STREAM_END: return (used, made, .end)
    case Z_OK, Z_BUF_ERROR: return (used, made, stream.pointee.avail_out == 0 ? .full : .more)
    default: return (used, made, .broken)
    }
  }
}
