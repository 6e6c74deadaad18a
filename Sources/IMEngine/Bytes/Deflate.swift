import CDeflate

/// CRC-32 as zlib, Ethernet and PNG have it (polynomial 0x04C11DB7, reflected), by libdeflate.
@inline(__always)
func crc32(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) -> UInt32 {
  bytes.span.withUnsafeBytes { raw in
    guard let base = raw.baseAddress else { return 0 }
    return libdeflate_crc32(0, base + offset, count)
  }
}

/// Inflates whole zlib bodies into one reused buffer, within limits.
///
/// The buffer grows as output asks for it, up to the limit, and never from a length that the wire declares.
struct Inflater: ~Copyable {
  /// Why a body was not inflated.
  enum Failure {
    /// The bytes are not a whole zlib stream.
    case notZlib
    /// The output would pass the limit.
    case limit
  }

  private let decompressor: OpaquePointer?
  private(set) var output = RawBuffer()
  /// Bytes of `output` that hold the last body.
  private(set) var count = 0
  /// The most a body may inflate to, and the most it may grow by.
  let maximumCount: Int, maximumRatio: Int

  init(maximumCount: Int = 4 << 20, maximumRatio: Int = 100) {
    decompressor = libdeflate_alloc_decompressor()
    self.maximumCount = maximumCount
    self.maximumRatio = maximumRatio
  }

  deinit { libdeflate_free_decompressor(decompressor) }

  /// Inflates `length` bytes at `offset`; the caller has proved that they are there. `nil` is success.
  mutating func inflate(_ bytes: borrowing Bytes, _ offset: Int, _ length: Int) -> Failure? {
    guard let decompressor else { return .notZlib }
    let limit = min(maximumCount, length.multipliedReportingOverflow(by: maximumRatio).partialValue)
    var capacity = min(limit, max(1024, length * 4))
    while true {
      output.reserve(capacity + 16)
      var written = 0
      let result = bytes.span.withUnsafeBytes { raw -> libdeflate_result in
        guard let base = raw.baseAddress else { return LIBDEFLATE_BAD_DATA }
        var consumed = 0
        let r = libdeflate_zlib_decompress_ex(
          decompressor, base + offset, length, output.pointer, capacity, &consumed, &written)
        return r == LIBDEFLATE_SUCCESS && consumed != length ? LIBDEFLATE_BAD_DATA : r
      }
      switch result {
      case LIBDEFLATE_SUCCESS:
        count = written
        return nil
      case LIBDEFLATE_INSUFFICIENT_SPACE:
        if capacity >= limit { return .limit }
        capacity = min(limit, capacity * 4)
      default: return .notZlib
      }
    }
  }
}
