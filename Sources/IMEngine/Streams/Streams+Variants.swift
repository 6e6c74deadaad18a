import IMWire

/// Protocols of which there are two variants: a message tells which one its connection speaks, as MQTT's CONNECT its level. Each
/// is a plan of its own, so that nothing is asked for per message. Where that message was not seen, what fits
/// decides, and decides anew when it does not fit any more.
extension Streams {
  /// The other of a protocol's two variants, where it has one and neither was replaced.
  var otherVariant: FlowProfile? {
    @inline(__always) get {
      currentPlan.pointee.hasVariant ? FlowProfile(rawValue: protocols.currentIndex).otherVariant : nil
    }
  }

  /// Bits of proof beyond the usual that a variant which nobody told needs: each more that is tried finds more by chance.
  static var variantEvidence: Int { 16 }

  /// Whether the plan in use is a variant beside its protocol's first.
  var isVariant: Bool { protocols.currentIndex >= 192 }

  /// Whether the bytes at `position`, which are no frame of the variant in use, are one of another, or the beginning of one:
  /// then that is the one in use from now on. A variant that a message told is left only for one that a message tells.
  @inline(never)
  mutating func speaksVariant(
    _ flow: Ref<Flow>, _ bytes: borrowing Bytes, _ position: Int, _ end: Int
  ) -> Bool {
    guard let other = otherVariant else { return false }
    let plan = protocols[other]
    var probe = frame.pointee
    switch plan.read(bytes, position, end, &probe) {
    case .notAFrame: return false
    case .frame:
      // What tells the variant counts, even if what follows it is wrong.
      let isOpen = plan.open(bytes, &probe)
      guard isOpen || probe.flags.contains(.settlesVariant), probe.kind.pointee.index != FrameKind.unknownIndex else {
        return false
      }
      guard !flow.pointee.variantIsCertain || probe.kind.pointee.flags.contains(.tellsVariant) else { return false }
    case .needMore:
      // A header alone proves little; a long frame is not waited for on its word.
      guard !flow.pointee.variantIsCertain, end - position >= probe.headerCount, probe.count <= 4_096,
        probe.kind.pointee.index != FrameKind.unknownIndex
      else { return false }
    }
    speak(flow, other)
    return true
  }

  /// Makes another variant that of a connection.
  mutating func speak(_ flow: Ref<Flow>, _ profile: FlowProfile) {
    flow.pointee.profile = profile
    select(profile)
  }

  /// Opens the frame in hand, which the variant in use refuses, by another one, if it is whole there.
  @inline(never)
  mutating func reopens(_ flow: Ref<Flow>, _ bytes: borrowing Bytes, _ end: Int) -> Bool {
    let before = frame.pointee
    let own = flow.pointee.profile
    guard speaksVariant(flow, bytes, before.start, end) else { return false }
    if currentPlan.read(bytes, before.start, end, frame) == .frame {
      frame.pointee.timestamp = before.timestamp
      frame.pointee.number = before.number
      frame.pointee.streamOffset = before.streamOffset
      if currentPlan.open(bytes, frame) { return true }
      if frame.pointee.flags.contains(.settlesVariant), follows(bytes, end) {
        frame.pointee.flags.insert(.malformed)
        return true
      }
    }
    frame.pointee = before
    speak(flow, own)
    return false
  }

  /// Looks for the first frame in what `partial` holds by the variant in use, and, as far as no message told which one it is,
  /// by the other: for one that stands where a delivery begins, in front of what that one finds.
  mutating func findAny(
    _ flow: Ref<Flow>, _ bytes: borrowing Bytes, _ partial: Ref<PartialFrame>,
    isEnd: Bool, countsParts: Bool = false
  ) -> SearchResult {
    let result = self.search.find(bytes, partial, isEnd: isEnd, countsParts: countsParts)
    guard let other = otherVariant, !flow.pointee.variantIsCertain else { return result }
    // Little is searched by both with every delivery; much at the end of the search, and each time twice as much has come.
    let (held, before) = (partial.pointee.count, partial.pointee.search.othersHeld)
    let isLittle = held <= 4_096
    var isDue = isEnd || isLittle || held >= 2 * before || held < before / 2
    var limit = partial.pointee.end
    switch result {
    case .at(let position):
      limit = position
      isDue = true
    case .open(let position): limit = position
    case .none: break
    }
    guard isDue, limit > partial.pointee.start else { return result }
    partial.pointee.search.othersHeld = held
    let own = flow.pointee.profile
    let search = partial.pointee.search
    partial.pointee.search = PartialFrame.Search(credit: search.othersCredit)
    extraEvidence = Self.variantEvidence
    defer {
      let left = partial.pointee.search.credit
      partial.pointee.search = search
      partial.pointee.search.othersCredit = left
      extraEvidence = 0
    }
    select(other)
    var waiting = limit
    switch self.search.find(bytes, partial, isEnd: isEnd, countsParts: countsParts) {
    case .at(let position)
    where position < limit && (limit == partial.pointee.end || partial.pointee.startsDelivery(at: position)):
      speak(flow, other)
      return .at(position)
    case .open(let position)
    where isLittle && (limit == partial.pointee.end || partial.pointee.startsDelivery(at: position)):
      waiting = position
    default: break
    }
    select(own)
    // What is found is not kept waiting for what others may find.
    if case .at = result { return result }
    return waiting < limit ? .open(waiting) : result
  }
}
