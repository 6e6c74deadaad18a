import IMWire

/// What both sides say of a plan that was found on one of them. Numbers of CMPP, SGIP or Kafka look like SMPP's on the side that
/// answers, and like nothing of it on the side that asks.
extension Streams {
  /// What the beginning of a direction says of the plan in use.
  private enum Beginning {
    /// A frame begins there, as far as it has come.
    case fits
    /// None does.
    case contradicts
    /// It did not come, or not enough of it.
    case unknown
  }

  /// Whether what both directions hold says that the connection speaks another protocol than the plan in use, whose frames were found
  /// in what `side` holds.
  ///
  /// Something may precede a protocol, such as SOCKS, and then it precedes both directions. A plan whose frames prove
  /// themselves by small numbers alone has to open its connection after that.
  mutating func isContradicted(_ side: FlowSide, isEnd: Bool) -> Bool {
    let plan = currentPlan
    guard plan.pointee.magicEvidence < 32, !plan.pointee.framing.isDelimited else { return false }
    let isWeak = plan.weighsBodies && !isHinted(side.flow, Int(protocols.currentIndex & 63))
    switch (beginning(side, isWeak: isWeak, isEnd: isEnd), beginning(side.peer, isWeak: isWeak, isEnd: isEnd)) {
    case (.contradicts, .contradicts): return isWeak && !opensBehind(side) && !opensBehind(side.peer)
    case (.contradicts, _): return isWeak
    case (_, .contradicts): return true
    case (_, _): return false
    }
  }

  private mutating func beginning(_ side: FlowSide, isWeak: Bool, isEnd: Bool) -> Beginning {
    guard let partial = side.state.pointee.partial, partial.pointee.count >= Int(currentPlan.pointee.headerCount) else {
      return .unknown
    }
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    let (start, end) = (partial.pointee.start, partial.pointee.end)
    if side.state.pointee.flags.contains(.fromStart) {
      return fits(bytes, start, end, isWeak: isWeak) ? .fits : .contradicts
    }
    // Without its beginning, a packet begins in the midst of a frame as well; but hardly all of them.
    guard isWeak else { return .unknown }
    let deliveries = partial.pointee.deliveries(end - start).prefix(16)
    var (known, fitting) = (0, 0)
    for delivery in deliveries where isKnown(bytes, delivery.position, end) {
      known += 1
      if fits(bytes, delivery.position, end, isWeak: true) { fitting += 1 }
    }
    if known == 0 { return isEnd || deliveries.count < 4 ? .unknown : .contradicts }
    return 2 * fitting >= known ? .fits : .contradicts
  }

  /// Whether the header of a type that the plan in use knows is at `position`.
  private mutating func isKnown(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Bool {
    var probe = frame.pointee
    return end - position >= Int(currentPlan.pointee.headerCount)
      && currentPlan.read(bytes, position, end, &probe) != .notAFrame
      && probe.kind.pointee.index != FrameKind.unknownIndex
  }

  /// Whether a frame of the plan in use may begin at `position`; with `isWeak`, by what its body holds, too.
  private mutating func fits(_ bytes: borrowing Bytes, _ position: Int, _ end: Int, isWeak: Bool) -> Bool {
    let plan = currentPlan
    var probe = frame.pointee
    guard end - position >= Int(plan.pointee.headerCount) else { return true }
    if plan.read(bytes, position, end, &probe) == .notAFrame {
      var misfit: UnsafePointer<Plan>.Misfit = []
      return !isWeak && plan.readMisfit(bytes, position, end, &probe, &misfit) != .notAFrame && misfit == .length
        || plan.readOversized(bytes, position, end, &probe)
    }
    guard plan.weighsBodies else { return true }
    if isWeak { return plan.weighFrame(bytes, &probe, position, end) != nil && !hasBrokenList(bytes, probe, end) }
    // Only answers have a status.
    return probe.kind.pointee.role == .acknowledgment || !plan.pointee.status.isPresent
      || plan.pointee.status.read(bytes, position) == 0
  }

  /// Whether the elements of a whole frame do not fill its body, or none of them says anything.
  private mutating func hasBrokenList(_ bytes: borrowing Bytes, _ found: Frame, _ end: Int) -> Bool {
    var probe = found
    let kind = probe.kind.pointee
    guard !kind.flags.contains(.noTLV), probe.start + probe.count <= end else { return false }
    guard currentPlan.open(bytes, &probe) else { return true }
    let first = probe.start + probe.headerCount + (kind.stepCount > 0 ? probe.listOffset : 0)
    let last = probe.start + probe.count - probe.trailerCount
    return first < last && currentPlan.weighList(bytes, first, last, end) == 0
  }

  /// Whether a frame that opens a connection of the plan in use follows something else in what a direction holds.
  private mutating func opensBehind(_ side: FlowSide) -> Bool {
    guard let partial = side.state.pointee.partial else { return false }
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    let end = partial.pointee.end
    for (position, _, _) in partial.pointee.deliveries(partial.pointee.count).prefix(32)
    where position > partial.pointee.start {
      var probe = frame.pointee
      if currentPlan.read(bytes, position, end, &probe) == .frame, probe.kind.pointee.flags.contains(.handshake),
        fits(bytes, position, end, isWeak: true)
      {
        return true
      }
    }
    return false
  }
}
