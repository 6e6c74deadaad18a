import CDeflate

/// Compresses bodies of requests by gzip (RFC 1952), at the fastest level.
package struct Gzip: ~Copyable {
  private let compressor: OpaquePointer?

  /// A compressor, whose memory is kept for the next body.
  package init() { compressor = libdeflate_alloc_compressor(1) }

  deinit { if let compressor { libdeflate_free_compressor(compressor) } }

  /// `bytes` compressed; `nil` where there is no memory for that.
  package func compressed(_ bytes: [UInt8]) -> [UInt8]? {
    guard let compressor else { return nil }
    let room = libdeflate_gzip_compress_bound(compressor, bytes.count)
    let result = [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
      // SAFETY: libdeflate reads bytes.count bytes and writes at most `room`, the capacity of the buffer.
      count = bytes.withUnsafeBytes {
        libdeflate_gzip_compress(compressor, $0.baseAddress, $0.count, buffer.baseAddress, room)
      }
    }
    return result.isEmpty ? nil : result
  }
}
