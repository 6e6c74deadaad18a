extension ProtocolPlan {
  /// Rewrites the checksum of `new`, a frame that was made from `old` by changing bytes: it is right if the old one was right,
  /// and otherwise differs from the right one in the same bits as the old one did. Both are whole frames without delimiters and
  /// escapes, in wire order; the first `headerCount` bytes are the header.
  package func recomputeChecksum(of new: inout [UInt8], from old: [UInt8], headerCount: Int) {
    guard hasChecksum, old.count == new.count, headerCount <= old.count else { return }
    let (before, after) = (checksum(old, headerCount), checksum(new, headerCount))
    guard let place = place(before, old.count) else { return }
    let value = recomputed(before, after)
    for i in 0..<before.width { new[place + i] = byte(i, of: value, before) }
  }

  /// The same for the frame `frame` of `bytes`, from which `new` was made: as many bytes, after which `checksumSlack` bytes are
  /// readable, as they are after the frame.
  package func recomputeChecksum(of new: UnsafeMutableRawBufferPointer, from bytes: RawSpan, _ frame: borrowing Frame) {
    let (header, count) = (frame.headerCount, frame.count)
    guard hasChecksum, header <= count, new.count == count, let base = new.baseAddress else { return }
    let before = pointer.checksum(Bytes(bytes), frame.start, header, count)
    // SAFETY: the caller has promised that so much of `new` can be read; the span ends with this function.
    let span = RawSpan(_unsafeStart: UnsafeRawPointer(base), byteCount: count + Self.checksumSlack)
    let after = pointer.checksum(Bytes(span), 0, header, count)
    let place = before.position - frame.start
    guard place >= 0, place + before.width <= count, (1...8).contains(before.width) else { return }
    let value = recomputed(before, after)
    for i in 0..<before.width { new[place + i] = byte(i, of: value, before) }
  }

  /// Bytes after a frame that `recomputeChecksum` may read.
  package static var checksumSlack: Int { RawBuffer.slack + 8 }

  /// The index of a checksum in a frame of `count` bytes; `nil` where it is not whole in it.
  private func place(_ checksum: FrameChecksum, _ count: Int) -> Int? {
    let (place, width) = (checksum.position, checksum.width)
    return place >= 0 && place + width <= count && (1...8).contains(width) ? place : nil
  }

  /// What the new checksum is, given both.
  private func recomputed(_ before: FrameChecksum, _ after: FrameChecksum) -> UInt64 {
    guard before.found != before.wanted else { return after.wanted }
    func swapped(_ value: UInt64) -> UInt64 { value.byteSwapped >> UInt64(64 - before.width * 8) }
    let isSwapped = pointer.pointee.checksumEitherOrder && before.found == swapped(before.wanted)
    return isSwapped ? swapped(after.wanted) : before.found ^ before.wanted ^ after.wanted
  }

  private func byte(_ i: Int, of value: UInt64, _ checksum: FrameChecksum) -> UInt8 {
    let shift = UInt64(8 * (checksum.field.littleEndian ? i : checksum.width - 1 - i))
    return UInt8(truncatingIfNeeded: value >> shift)
  }

  private func checksum(_ frame: [UInt8], _ headerCount: Int) -> FrameChecksum {
    let padded = frame + [UInt8](repeating: 0, count: RawBuffer.slack + 8)
    return pointer.checksum(Bytes(padded.span.bytes), 0, headerCount, frame.count)
  }
}
