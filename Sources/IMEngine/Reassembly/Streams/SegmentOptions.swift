/// What the analysis wants of a segment's TCP options.
struct SegmentOptions: Equatable {
  /// The power of two that later windows are multiplied by; at most 14 (RFC 7323). Only a SYN's counts.
  var windowScale: UInt8?
  /// Whether a selective acknowledgment names what came behind a hole.
  var hasSelectiveAck = false

  /// No options.
  init() {}

  /// Walks the options of `segment`, whose packet or datagram is `bytes`; stops where they make no sense.
  init(_ segment: Segment, _ bytes: borrowing Bytes) {
    var position = segment.options.lowerBound
    let end = segment.options.upperBound
    while position < end {
      let kind = bytes.u8(position)
      if kind == 0 { return }
      if kind == 1 {
        position += 1
        continue
      }
      guard position + 2 <= end else { return }
      let length = Int(bytes.u8(position + 1))
      guard length >= 2, position + length <= end else { return }
      switch (kind, length) {
      case (3, 3): windowScale = min(bytes.u8(position + 2), 14)
      case (5, 10...): hasSelectiveAck = true
      default: break
      }
      position += length
    }
  }
}
