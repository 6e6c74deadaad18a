extension ProtocolPlan {
  /// Rewrites the checksum of `new`, a frame that was made from `old` by changing bytes: it is right if the old one was right,
  /// and otherwise differs from the right one in the same bits as the old one did. Both are whole frames without delimiters and
  /// escapes, in wire order; the first `headerCount` bytes are the header.
  package func mendChecksum(of new: inout [UInt8], from old: [UInt8], headerCount: Int) {
    guard hasChecksum, old.count == new.count, headerCount <= old.count else { return }
    let (before, after) = (checksum(old, headerCount), checksum(new, headerCount))
    let (place, width) = (before.position, before.width)
    guard place >= 0, place + width <= old.count, (1...8).contains(width) else { return }
    var value = after.wanted
    if before.found != before.wanted {
      func swapped(_ value: UInt64) -> UInt64 { value.byteSwapped >> UInt64(64 - width * 8) }
      let isSwapped = pointer.pointee.checksumEitherOrder && before.found == swapped(before.wanted)
      value = isSwapped ? swapped(after.wanted) : before.found ^ before.wanted ^ after.wanted
    }
    for i in 0..<width {
      let shift = UInt64(8 * (before.field.littleEndian ? i : width - 1 - i))
      new[place + i] = UInt8(truncatingIfNeeded: value >> shift)
    }
  }

  private func checksum(_ frame: [UInt8], _ headerCount: Int) -> FrameChecksum {
    let padded = frame + [UInt8](repeating: 0, count: RawBuffer.slack + 8)
    return pointer.checksum(Bytes(padded.span.bytes), 0, headerCount, frame.count)
  }
}
