import IMWire

extension UnsafePointer<Plan> {
  /// Opens a frame of a plan whose checksum, or whose numbers, want more than the quick way.
  @inline(never)
  func openGeneral(_ bytes: borrowing Bytes, _ frame: UnsafeMutablePointer<Frame>) {
    verify(bytes, at: frame.pointee.start, header: frame.pointee.headerCount, count: frame.pointee.count, frame)
    recode(frame)
  }

  /// Verifies the checksum of a frame whose `count` bytes stand at `start`, the first `header` of them its header.
  func verify(
    _ bytes: borrowing Bytes, at start: Int, header: Int, count: Int, _ frame: UnsafeMutablePointer<Frame>
  ) {
    // A frame that ends before its trailer would has no sum in it, and no body that a sum could cover.
    guard pointee.framing.checksum.isPresent, count &- header >= Int(pointee.framing.trailerCount) else {
      frame.pointee.checksumStatus = .unchecked
      return
    }
    let sum = checksum(bytes, start, header, count)
    frame.pointee.checksum = sum.found
    let swapped = sum.wanted.byteSwapped >> UInt64(64 - sum.width * 8)
    frame.pointee.checksumStatus =
      sum.found == sum.wanted ? .be : pointee.checksumEitherOrder && sum.found == swapped ? .le : .bad
  }

  /// The checksum of such a frame: the one that it has, and the one that is right.
  @inline(__always)
  func checksum(_ bytes: borrowing Bytes, _ start: Int, _ header: Int, _ count: Int) -> FrameChecksum {
    let framing = pointee.framing
    let plan = framing.checksum
    if pointee.checksumRule == .crc32 {
      let wanted = count > header ? UInt64(crc32(bytes, start + header, count - header)) : 0
      return FrameChecksum(
        found: pointee.checksum.read(bytes, start), wanted: wanted, field: pointee.checksum, place: start, width: 4)
    }
    let end = start + max(header, count - Int(framing.trailerCount))
    let from = plan.coversBody ? start + header : min(end, start + Int(plan.from))
    let width = plan.algorithm.byteCount
    var sum = RunningChecksum(plan.algorithm)
    var field = pointee.checksum
    var place = start
    if plan.isInTrailer {
      field = Field(offset: 0, byteCount: width, littleEndian: plan.littleEndian)
      place = end
    }
    let hole = place + Int(field.offset)
    if !plan.isInTrailer, hole < end, hole + width > from {
      // Where a sum covers itself, its own bytes count as zeros.
      let first = max(from, hole)
      sum.add(bytes, from, first - from)
      sum.addZeros(min(end, hole + width) - first)
      sum.add(bytes, min(end, hole + width), end - min(end, hole + width))
    } else {
      sum.add(bytes, from, end - from)
    }
    return FrameChecksum(
      found: field.read(bytes, place), wanted: UInt64(sum.value), field: field, place: place, width: width)
  }

  /// Turns numbers that are written otherwise into what they mean, and hides the session's where it has to be.
  func recode(_ frame: UnsafeMutablePointer<Frame>) {
    let framing = pointee.framing
    if framing.sequenceCoding == .bcd { frame.pointee.sequence = decimal(frame.pointee.sequence) }
    if framing.sessionCoding == .bcd { frame.pointee.session = decimal(frame.pointee.session) }
    if framing.hidesSession { frame.pointee.session = frame.pointee.numbers.hidden(frame.pointee.session) }
  }

  /// What opening a frame forgets of the one before.
  @inline(__always)
  func forgetSteps(_ frame: UnsafeMutablePointer<Frame>) {
    frame.pointee.identityCount = 0
    frame.pointee.subjectCount = 0
    frame.pointee.status = 0
    frame.pointee.keepAlive = 0
  }
}

/// A frame's checksum, and where it stands.
struct FrameChecksum {
  /// The one that the frame has, and the one that is right.
  var found: UInt64, wanted: UInt64
  /// Its field, whose offset counts from `place`.
  var field: Field, place: Int
  /// Its bytes.
  var width: Int

  /// Where its first byte stands.
  var position: Int { place + field.place.offset }
}

/// The number that binary-coded decimal digits write; a half byte that is no digit counts as 0.
func decimal(_ digits: UInt64) -> UInt64 {
  var number: UInt64 = 0
  for shift in stride(from: UInt64(60), through: 0, by: -4) {
    let digit = digits >> shift & 15
    number = number &* 10 &+ (digit > 9 ? 0 : digit)
  }
  return number
}
