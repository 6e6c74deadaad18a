/// The TCP options that the analysis wants.
enum SegmentOptions {
  /// The power of two, at most 14 (RFC 7323), that a SYN asks later windows to be multiplied by; `nil` when it does not,
  /// or when its options make no sense before that. `bytes` is the segment's packet or datagram.
  static func windowScale(_ segment: Segment, _ bytes: borrowing Bytes) -> UInt8? {
    guard let option = find(3, segment.options, bytes), option.count == 3 else { return nil }
    return min(bytes.u8(option.lowerBound + 2), 14)
  }

  /// Where the option `wanted` stands in `options`, its kind and length included; `nil` when it is not there, or when the
  /// options make no sense before it.
  static func find(_ wanted: UInt8, _ options: Range<Int>, _ bytes: borrowing Bytes) -> Range<Int>? {
    var position = options.lowerBound
    let end = options.upperBound
    while position < end {
      let kind = bytes.u8(position)
      if kind == 0 { return nil }
      if kind == 1 {
        position += 1
        continue
      }
      guard position + 2 <= end else { return nil }
      let length = Int(bytes.u8(position + 1))
      guard length >= 2, position + length <= end else { return nil }
      if kind == wanted { return position..<position + length }
      position += length
    }
    return nil
  }

  /// The clock of the sender, and the last one of the peer's that it saw, by RFC 7323; `nil` where they are not told.
  static func clocks(_ options: Range<Int>, _ bytes: borrowing Bytes) -> (own: UInt32, echoed: UInt32)? {
    guard let option = find(8, options, bytes), option.count == 10 else { return nil }
    return (bytes.u32(option.lowerBound + 2), bytes.u32(option.lowerBound + 6))
  }
}
