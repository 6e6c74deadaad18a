import CZlib

/// Deflates into just as many bytes as somebody has room for (RFC 1951).
///
/// Deflate has blocks that hold nothing: ten bits of one with the fixed code, or five bytes of a stored one. With some of those a
/// stream gets as long as it has to be, if what it says needs less. They stand in front: what is said is known no sooner than the
/// last byte.
package enum FittingDeflater {
  /// The window that compressed bytes may refer to.
  package static let window = 32 << 10
  /// What a stored block without bytes ends with; WebSocket leaves it out at the end of a message (RFC 7692, section 7.2.1).
  private static let tail: [UInt8] = [0, 0, 0xff, 0xff]

  /// A raw stream of `count` bytes, to which `tail` is to be added, that says `content`; it may refer to `history`. `nil` where
  /// `content` needs more.
  package static func message(_ content: [UInt8], count: Int, history: ArraySlice<UInt8> = []) -> [UInt8]? {
    guard count > 0 else { return nil }
    return content.isEmpty ? empty(count) : fitting(content, count, isLast: false, history)
  }

  private static func fitting(
    _ content: [UInt8], _ count: Int, isLast: Bool, _ history: ArraySlice<UInt8>
  ) -> [UInt8]? {
    let ways = [(9, Z_DEFAULT_STRATEGY), (9, Z_FIXED), (1, Z_FIXED), (6, Z_HUFFMAN_ONLY), (9, Z_RLE)]
    // Of much content there is so much in a few bits that one way fits.
    for (level, strategy) in ways.prefix(content.count > 256 << 10 ? 1 : ways.count) {
      for blocks in 0..<8 {
        guard let made = deflated(content, level: Int32(level), strategy, blocks: blocks, isLast: isLast, history)
        else {
          return nil
        }
        guard made.count <= count else { break }
        if let padding = padding(count - made.count) { return padding + made }
      }
    }
    return nil
  }

  /// A zlib stream (RFC 1950) of `count` bytes that says `content` and begins with `header`, its first two bytes.
  package static func zlib(_ content: [UInt8], count: Int, header: ArraySlice<UInt8>) -> [UInt8]? {
    guard header.count == 2, let raw = fitting(content, count - 6, isLast: true, []) else { return nil }
    let sum = UInt32(truncatingIfNeeded: ChecksumAlgorithm.adler32.sum(of: content.span.bytes))
    return header + raw + withUnsafeBytes(of: sum.bigEndian) { Array($0) }
  }

  /// Says nothing in `count` bytes.
  private static func empty(_ count: Int) -> [UInt8]? {
    for blocks in 0..<8 {
      let made = fixedBlocks(blocks)
      if let padding = padding(count - made.count) { return padding + made }
    }
    return nil
  }

  /// Blocks that say nothing, of `count` bytes in all; `nil` where there are no such.
  private static func padding(_ count: Int) -> [UInt8]? {
    if count == 0 { return [] }
    for blocks in 0..<4 {
      let piece = fixedBlocks(blocks) + tail
      guard count >= piece.count, (count - piece.count) % 5 == 0 else { continue }
      return piece + Array([[UInt8]](repeating: [0] + tail, count: (count - piece.count) / 5).joined())
    }
    return nil
  }

  /// So many empty blocks with the fixed code, and the beginning of a stored one up to the end of its byte.
  private static func fixedBlocks(_ count: Int) -> [UInt8] {
    var bits = [Bool](repeating: false, count: count * 10 + 3)
    for i in 0..<count { bits[i * 10 + 1] = true }
    return stride(from: 0, to: bits.count, by: 8).map { from in
      bits[from..<min(from + 8, bits.count)].reversed().reduce(0) { $0 << 1 | ($1 ? 1 : 0) }
    }
  }

  /// The stream of `content` behind so many empty blocks; without its `tail`, unless it is one that ends.
  private static func deflated(
    _ content: [UInt8], level: Int32, _ strategy: Int32, blocks: Int, isLast: Bool, _ history: ArraySlice<UInt8>
  ) -> [UInt8]? {
    var stream = z_stream()
    guard imdump_deflateInit2(&stream, level, strategy) == Z_OK else { return nil }
    defer { deflateEnd(&stream) }
    let window = Array(history.suffix(window))
    if !window.isEmpty {
      guard deflateSetDictionary(&stream, window, UInt32(window.count)) == Z_OK else { return nil }
    }
    for _ in 0..<blocks { guard deflatePrime(&stream, 10, 2) == Z_OK else { return nil } }
    var output = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(content.count))) + 64)
    var input = content
    let made = input.withUnsafeMutableBufferPointer { input in
      output.withUnsafeMutableBufferPointer { output -> Int? in
        stream.next_in = input.baseAddress
        stream.avail_in = UInt32(input.count)
        stream.next_out = output.baseAddress
        stream.avail_out = UInt32(output.count)
        let result = deflate(&stream, isLast ? Z_FINISH : Z_SYNC_FLUSH)
        guard result == (isLast ? Z_STREAM_END : Z_OK), stream.avail_in == 0, stream.avail_out > 0 else { return nil }
        return output.count - Int(stream.avail_out)
      }
    }
    if isLast { return made.map { Array(output[..<$0]) } }
    guard let made, made > tail.count, Array(output[made - 4..<made]) == tail else { return nil }
    return Array(output[..<(made - 4)])
  }
}
