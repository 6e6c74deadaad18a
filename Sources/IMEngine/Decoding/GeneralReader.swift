import IMWire

extension UnsafePointer<Plan> {
  /// Opens a frame of a plan whose checksum, or whose numbers, want more than the quick way.
  @inline(never)
  func openGeneral(_ bytes: borrowing Bytes, _ frame: UnsafeMutablePointer<Frame>) {
    verify(bytes, frame.pointee.start, frame.pointee.headerCount, frame.pointee.count, frame)
    recode(frame)
  }

  /// Verifies the checksum of a frame whose `count` bytes stand at `start`, the first `header` of them its header.
  func verify(
    _ bytes: borrowing Bytes, _ start: Int, _ header: Int, _ count: Int, _ frame: UnsafeMutablePointer<Frame>
  ) {
    let framing = pointee.framing
    let plan = framing.checksum
    guard plan.isPresent else {
      frame.pointee.checksumStatus = .unchecked
      return
    }
    let end = start + count - Int(framing.trailerCount)
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
    let found = field.read(bytes, place)
    let wanted = UInt64(sum.value)
    frame.pointee.checksum = found
    let swapped = wanted.byteSwapped >> UInt64(64 - width * 8)
    frame.pointee.checksumStatus =
      found == wanted ? .be : pointee.checksumEitherOrder && found == swapped ? .le : .bad
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

/// The number that binary-coded decimal digits write; a half byte that is no digit counts as 0.
func decimal(_ digits: UInt64) -> UInt64 {
  var number: UInt64 = 0
  for shift in stride(from: UInt64(60), through: 0, by: -4) {
    let digit = digits >> shift & 15
    number = number &* 10 &+ (digit > 9 ? 0 : digit)
  }
  return number
}
