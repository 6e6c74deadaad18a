import CDeflate
import IMTestSupport
import Testing

@testable import IMEndpointCore

/// The core's own CRC-32 and zlib format, against libdeflate.
@Suite struct CodecTests {
  /// Bytes of several kinds: noise, text that repeats itself, runs.
  private static func bytes(_ seed: UInt64) -> [UInt8] {
    var random = SeededRandom(seed)
    let count = [0, 1, 2, 7, 8, 9, 31, 95, 96, 300, 5_000, 70_000][Int(seed % 12)]
    switch seed / 12 % 4 {
    case 0: return (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    case 1: return (0..<count).map { _ in UInt8.random(in: 97...104, using: &random) }
    case 2: return [UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: count)
    default:
      var text: [UInt8] = []
      while text.count < count {
        let words = ["hello ", "on my way ", "到地铁站了吗？", "\"from\":\"ann\",", "0123456789"]
        text += words[Int.random(in: 0..<5, using: &random)].utf8
      }
      return Array(text.prefix(count))
    }
  }

  @Test(arguments: 0..<96 as Range<UInt64>) func checksums(_ seed: UInt64) {
    let bytes = Self.bytes(seed)
    bytes.withUnsafeBytes { all in
      guard let base = all.baseAddress else { return }
      #expect(PortableChecksum.continued(0, base, all.count) == UInt32(libdeflate_crc32(0, base, all.count)))
      // In two parts.
      let first = PortableChecksum.continued(0, base, all.count / 3)
      #expect(
        PortableChecksum.continued(first, base + all.count / 3, all.count - all.count / 3)
          == UInt32(libdeflate_crc32(0, base, all.count)))
    }
  }

  private static func libdeflate(_ bytes: [UInt8], level: Int32) -> [UInt8] {
    let compressor = libdeflate_alloc_compressor(level)
    defer { libdeflate_free_compressor(compressor) }
    let most = libdeflate_zlib_compress_bound(compressor, bytes.count)
    return [UInt8](unsafeUninitializedCapacity: most) { output, count in
      count = libdeflate_zlib_compress(compressor, bytes, bytes.count, output.baseAddress, most)
    }
  }

  /// What libdeflate makes of bytes that were compressed, in memory of this size.
  private static func libdeflate(inflating bytes: [UInt8], capacity: Int) -> (Codec.Outcome, [UInt8]) {
    let decompressor = libdeflate_alloc_decompressor()
    defer { libdeflate_free_decompressor(decompressor) }
    var status = LIBDEFLATE_BAD_DATA
    let output = [UInt8](unsafeUninitializedCapacity: max(1, capacity)) { output, count in
      var (read, produced) = (0, 0)
      status = libdeflate_zlib_decompress_ex(
        decompressor, bytes, bytes.count, output.baseAddress, capacity, &read, &produced)
      if status == LIBDEFLATE_SUCCESS, read != bytes.count { status = LIBDEFLATE_BAD_DATA }
      count = status == LIBDEFLATE_SUCCESS ? produced : 0
    }
    return (status == LIBDEFLATE_SUCCESS ? .done : status == LIBDEFLATE_INSUFFICIENT_SPACE ? .full : .broken, output)
  }

  private static func portable(inflating bytes: [UInt8], capacity: Int) -> (Codec.Outcome, [UInt8]) {
    var outcome = Codec.Outcome.broken
    let output = [UInt8](unsafeUninitializedCapacity: max(1, capacity)) { output, count in
      bytes.withUnsafeBytes { input in
        guard let base = input.baseAddress, let memory = output.baseAddress else { return }
        var inflater = PortableInflater(base, input.count, memory, capacity)
        outcome = inflater.inflate()
        count = outcome == .done ? inflater.produced : 0
      }
    }
    return (outcome, output)
  }

  /// All levels of compression: stored blocks, fixed codes, codes of their own.
  @Test(arguments: 0..<96 as Range<UInt64>) func inflating(_ seed: UInt64) {
    let bytes = Self.bytes(seed)
    for level in [0, 1, 6, 12] as [Int32] {
      let compressed = Self.libdeflate(bytes, level: level)
      let (outcome, found) = Self.portable(inflating: compressed, capacity: bytes.count)
      #expect(outcome == .done && found == bytes, "level \(level)")
      if bytes.count > 0 { #expect(Self.portable(inflating: compressed, capacity: bytes.count - 1).0 == .full) }
    }
  }

  /// Every cut of what was compressed is broken, and so is one byte more.
  @Test func cuts() {
    let compressed = Self.libdeflate(Self.bytes(45), level: 6)
    for count in 0..<compressed.count {
      #expect(Self.portable(inflating: Array(compressed.prefix(count)), capacity: 10_000).0 == .broken)
    }
    #expect(Self.portable(inflating: compressed + [0], capacity: 10_000).0 == .broken)
  }

  /// Bytes that were damaged: where both take them, they take them for the same.
  @Test(arguments: 0..<200 as Range<UInt64>) func damaged(_ seed: UInt64) {
    var random = SeededRandom(seed)
    var bytes = Self.libdeflate(Self.bytes(seed % 48), level: [0, 1, 6, 12][Int(seed % 4)])
    for _ in 0..<20 {
      guard !bytes.isEmpty else { return }
      bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
      let (expected, wanted) = Self.libdeflate(inflating: bytes, capacity: 80_000)
      let (outcome, found) = Self.portable(inflating: bytes, capacity: 80_000)
      #expect((outcome == .done) == (expected == .done))
      if outcome == .done { #expect(found == wanted) }
    }
  }

  /// What the core compresses, libdeflate reads.
  @Test(arguments: 0..<96 as Range<UInt64>) func compressing(_ seed: UInt64) {
    let bytes = Self.bytes(seed)
    let most = bytes.count * 9 / 8 + 64
    let compressed = [UInt8](unsafeUninitializedCapacity: most) { output, count in
      bytes.withUnsafeBytes { input in
        guard let base = output.baseAddress, let bytes = input.baseAddress else { return }
        count = PortableDeflater.compress(bytes, input.count, base, most)
      }
    }
    guard !bytes.isEmpty else { return }
    #expect(!compressed.isEmpty)
    let (outcome, found) = Self.libdeflate(inflating: compressed, capacity: bytes.count)
    #expect(outcome == .done && found == bytes)
    #expect(compressed.count <= most)
    // One byte less has no room for it.
    let less = [UInt8](unsafeUninitializedCapacity: most) { output, count in
      bytes.withUnsafeBytes { input in
        guard let base = output.baseAddress, let bytes = input.baseAddress else { return }
        count = PortableDeflater.compress(bytes, input.count, base, compressed.count - 1)
      }
    }
    #expect(less.isEmpty)
  }
}
