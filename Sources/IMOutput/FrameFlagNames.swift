package import IMEngine

/// The remarks on a frame that outputs print and filters test, by one name each.
package enum FrameFlagNames {
  /// The names, by bit of `mask`.
  package static let all: [StaticString] = [
    "retry", "duplicate", "dup_ack", "orphan_ack", "compressed", "compress_label_only", "encrypted", "inflate_limit",
    "malformed", "duplicate_tag", "nested_too_deep", "incomplete_tag", "incomplete_length", "incomplete_value",
    "tlv_limit", "marked_duplicate", "timestamp_window", "after_gap", "oversized",
  ]

  /// Which of them hold for a frame.
  @inline(__always)
  package static func mask(_ frame: Frame, _ note: FrameNote) -> UInt32 {
    var mask: UInt32 = 0
    if note.isRetry { mask |= 1 }
    if note.isDuplicate { mask |= 2 }
    if note.isDupAck { mask |= 4 }
    if note.isOrphan { mask |= 8 }
    // The frame's own remarks, by their bits: this runs for every frame.
    let own = frame.flags.rawValue & remarks
    if own != 0 { mask |= ownMask(own) }
    return mask
  }

  /// The frame's flags that are remarks, in the order of `all` from its fifth name on; the others are the decoder's marks.
  private static let order: [Frame.Flags] = [
    .inflated, .compressLabelOnly, .encrypted, .inflateLimit, .malformed, .duplicateTag, .nestedTooDeep,
    .incompleteTag, .incompleteLength, .incompleteValue, .tlvLimit, .markedDuplicate, .timestampWindow, .afterGap,
    .oversized,
  ]
  /// All of them, as a number that stands in the program.
  private static var remarks: UInt32 { 0x20_7ffe }
  /// Whether that is what `order` says.
  static var isInOrder: Bool { order.reduce(0) { $0 | $1.rawValue } == remarks }

  @inline(never)
  private static func ownMask(_ flags: UInt32) -> UInt32 {
    var mask: UInt32 = 0
    for (i, flag) in order.enumerated() where flags & flag.rawValue != 0 { mask |= 1 << UInt32(i + 4) }
    return mask
  }

  /// The bit of `after_gap`.
  package static let afterGap: UInt32 = ownMask(Frame.Flags.afterGap.rawValue)

  /// Whether `mask` says that one of the frame's own `flags` holds.
  package static func contains(_ mask: UInt32, _ flags: Frame.Flags) -> Bool {
    mask & ownMask(flags.rawValue & remarks) != 0
  }

  /// The place in `all` of the name that is number `index`, from 0, among those of `mask`; `nil` where there are fewer.
  package static func place(of index: Int, in mask: UInt32) -> Int? {
    var rest = mask
    for _ in 0..<index { rest &= rest &- 1 }
    return rest == 0 ? nil : rest.trailingZeroBitCount
  }

  /// Appends the names in quotes, with commas between.
  package static func write(_ mask: UInt32, to out: inout ByteWriter) {
    var isFirst = true
    for (i, name) in all.enumerated() where mask >> UInt32(i) & 1 == 1 {
      if !isFirst { out.literal(",") }
      isFirst = false
      out.literal("\"")
      out.literal(name)
      out.literal("\"")
    }
  }
}
