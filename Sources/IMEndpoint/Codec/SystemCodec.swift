internal import CDeflate
internal import IMEndpointCore

/// libdeflate, which does several times faster what the core does by itself.
package enum SystemCodec {
  /// Has the core use it. A loop does so when it is made.
  package static let install: Void = Codec.install(
    checksum: { checksum, bytes, count in UInt32(truncatingIfNeeded: libdeflate_crc32(checksum, bytes, count)) },
    compress: { bytes, count, output, capacity in
      guard let compressor = libdeflate_alloc_compressor(6) else { return 0 }
      defer { libdeflate_free_compressor(compressor) }
      return libdeflate_zlib_compress(compressor, bytes, count, output, capacity)
    },
    inflate: { bytes, count, output, capacity, produced in
      guard let decompressor = libdeflate_alloc_decompressor() else { return Codec.Outcome.broken.rawValue }
      defer { libdeflate_free_decompressor(decompressor) }
      switch libdeflate_zlib_decompress(decompressor, bytes, count, output, capacity, produced) {
      case LIBDEFLATE_SUCCESS: return Codec.Outcome.done.rawValue
      case LIBDEFLATE_INSUFFICIENT_SPACE: return Codec.Outcome.full.rawValue
      default: return Codec.Outcome.broken.rawValue
      }
    })
}
