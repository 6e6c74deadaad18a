import IMWire

/// Frames that are not as their type has to be, in directions that are in step.
///
/// A broker that sends one byte too many is what is looked for: where everything in front was a frame, and the length leads to the
/// next one or to the end of what was sent, it is a frame, malformed. It answers what it names, and is marked.
extension Streams {
  /// The longest of them that is waited for: a length that cannot be believed must not cost many frames.
  private static var longestMisfit: Int { 64 << 10 }
  /// Frames after one that are looked at to believe its length.
  private static var longestChain: Int { 64 }

  /// Reads the frame at `position` that the plan in use refuses; it is the frame in hand then, opened and marked. `needMore` tells as
  /// `read` does.
  @inline(never)
  mutating func readMisfit(_ side: FlowSide, _ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> ReadResult {
    var misfit: UnsafePointer<Plan>.Misfit = []
    let result = currentPlan.readMisfit(bytes, position, end, frame, &misfit)
    // In front of a direction's first frame there may be something else, such as text, whose letters look like types with other flags.
    let isFirst = tracker.figures.pointer(side.flow.pointee.figures).pointee.frames[Int(side.direction.rawValue)] == 0
    guard !isFirst || misfit == .length else { return .notAFrame }
    switch result {
    case .notAFrame: return .notAFrame
    case .needMore: return frame.pointee.count <= Self.longestMisfit ? .needMore : .notAFrame
    case .frame:
      guard leadsOn(bytes, position + frame.pointee.count, end) else { return .notAFrame }
      // A length below that of the trailer leaves no body.
      frame.pointee.trailerCount = min(
        Int(currentPlan.pointee.framing.trailerCount), frame.pointee.count - frame.pointee.headerCount)
      _ = currentPlan.open(bytes, frame)
      frame.pointee.flags.insert(.malformed)
      return .frame
    }
  }

  /// Whether there are frames from `next` on: up to `end`, or up to one that is sound; those in front of it may have a wrong length each.
  private mutating func leadsOn(_ bytes: borrowing Bytes, _ next: Int, _ end: Int) -> Bool {
    let plan = currentPlan
    var probe = frame.pointee
    var at = next
    for _ in 0..<Self.longestChain where at < end {
      switch plan.read(bytes, at, end, &probe) {
      case .needMore:
        return end - at < Int(plan.pointee.headerCount)
          ? search.mayBegin(bytes, at, end) : probe.kind.pointee.index != FrameKind.unknownIndex
      case .frame:
        guard probe.kind.pointee.index != FrameKind.unknownIndex else { return false }
        if plan.open(bytes, &probe), probe.checksumStatus != .bad { return true }
      case .notAFrame:
        var misfit: UnsafePointer<Plan>.Misfit = []
        guard plan.readMisfit(bytes, at, end, &probe, &misfit) != .notAFrame, misfit == .length else { return false }
      }
      at += probe.count
    }
    return at >= end
  }

  /// One whole frame that is not as its type has to be, at `offset` of the stream.
  @inline(never)
  mutating func completeMisfit(
    _ side: FlowSide, _ bytes: borrowing Bytes, at timestamp: Timestamp, number: UInt64, streamOffset: UInt64
  ) {
    frame.pointee.timestamp = timestamp
    frame.pointee.number = number
    frame.pointee.streamOffset = streamOffset
    complete(side, bytes)
    frame.pointee.trailerCount = Int(currentPlan.pointee.framing.trailerCount)
  }

  /// The same for a frame at the start of what a direction holds, which it takes from there.
  @inline(never)
  mutating func completeHeldMisfit(_ side: FlowSide, _ partial: Ref<PartialFrame>, _ bytes: borrowing Bytes) {
    let last = partial.pointee.mark(at: partial.pointee.start + frame.pointee.count - 1)
    let isCarried = side.state.pointee.flags.contains(.carried)
    let place = isCarried ? wireOffset(side, partial.pointee.streamOffset) : partial.pointee.streamOffset
    if isCarried, needs.contains(.undecoded) {
      tell(
        .frame(isCarried: true), side, at: partial.pointee.streamOffset, bytes, from: partial.pointee.start,
        count: frame.pointee.count)
    }
    completeMisfit(side, bytes, at: last.timestamp, number: last.number, streamOffset: place)
    if isCarried { countOnWire(side, partial) }
    partial.pointee.needed = 0
    partial.pointee.consume(frame.pointee.count)
  }
}
