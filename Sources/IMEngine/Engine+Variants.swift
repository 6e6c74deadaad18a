import IMWire

/// Protocols of which there are variants: a message tells which one its connection speaks, as MQTT's CONNECT its level. Each
/// variant is a plan of its own, so that nothing is asked for per message. Where that message was not seen, what fits
/// decides, and decides anew when it does not fit any more.
extension Engine {
  /// A table of plans and behind them the variants of them all, which owners keep alive.
  static func table(of plans: [ProtocolPlan]) -> UnsafeMutablePointer<Plan> {
    let table = UnsafeMutablePointer<Plan>.allocate(capacity: plans.count + plans.reduce(0) { $0 + $1.variants.count })
    var next = plans.count
    for (i, plan) in plans.enumerated() {
      let first = next
      for (j, member) in ([plan] + plan.variants).enumerated() {
        var entry = member.pointer.pointee
        entry.index = UInt8(truncatingIfNeeded: i)
        entry.firstVariant = UInt8(truncatingIfNeeded: first)
        entry.variantCount = UInt8(truncatingIfNeeded: plan.variants.count)
        (table + (j == 0 ? i : next)).initialize(to: entry)
        if j > 0 { next += 1 }
      }
    }
    return table
  }

  /// The place in the table of the plan at `index`, with `n` 0, or of its `n`th variant.
  func place(_ index: Int, _ n: Int) -> UInt8 {
    UInt8(truncatingIfNeeded: n == 0 ? index : Int(planTable[index].firstVariant) &+ n &- 1)
  }

  /// Bits of proof beyond the usual that a variant which nobody told needs: each more that is tried finds more by chance.
  static var variantEvidence: Int { 16 }

  /// Whether the plan in use is a variant beside its protocol's first.
  var isVariant: Bool { Int(currentPlanIndex) >= plans.count }

  /// The plan's place in `plans`, for what decodes a flow; or why nothing does.
  func planIndex(_ profile: FlowProfile) -> UInt8 {
    profile.isPlan ? planTable[Int(profile.rawValue)].index : profile.rawValue
  }

  /// Whether the bytes at `position`, which are no frame of the variant in use, are one of another, or the beginning of one:
  /// then that is the one in use from now on. A variant that a message told is left only for one that a message tells.
  @inline(never)
  mutating func speaksVariant(
    _ flow: UnsafeMutablePointer<Flow>, _ bytes: borrowing Bytes, _ position: Int, _ end: Int
  ) -> Bool {
    guard currentPlan.pointee.variantCount > 0 else { return false }
    for n in 0...Int(currentPlan.pointee.variantCount) {
      let place = place(Int(currentPlan.pointee.index), n)
      guard place != currentPlanIndex else { continue }
      let plan = UnsafePointer(planTable + Int(place))
      var probe = frame.pointee
      switch plan.read(bytes, position, end, &probe) {
      case .notAFrame: continue
      case .frame:
        guard plan.open(bytes, &probe), probe.kind.pointee.index != FrameKind.unknownIndex else { continue }
        guard !flow.pointee.variantIsCertain || probe.kind.pointee.flags.contains(.tellsVariant) else { continue }
      case .needMore:
        // A header alone proves little; a long frame is not waited for on its word.
        guard !flow.pointee.variantIsCertain, end - position >= probe.headerCount, probe.count <= 4_096,
          probe.kind.pointee.index != FrameKind.unknownIndex
        else { continue }
      }
      speak(flow, place)
      return true
    }
    return false
  }

  /// Makes another variant that of a connection.
  mutating func speak(_ flow: UnsafeMutablePointer<Flow>, _ place: UInt8) {
    flow.pointee.profile = FlowProfile(rawValue: place)
    select(flow.pointee.profile)
  }

  /// Opens the frame in hand, which the variant in use refuses, by another one, if it is whole there.
  @inline(never)
  mutating func reopens(_ flow: UnsafeMutablePointer<Flow>, _ bytes: borrowing Bytes, _ end: Int) -> Bool {
    let before = frame.pointee
    let own = flow.pointee.profile
    guard speaksVariant(flow, bytes, before.start, end) else { return false }
    if currentPlan.read(bytes, before.start, end, frame) == .frame {
      frame.pointee.timestamp = before.timestamp
      frame.pointee.number = before.number
      frame.pointee.streamOffset = before.streamOffset
      if currentPlan.open(bytes, frame) { return true }
    }
    frame.pointee = before
    speak(flow, own.rawValue)
    return false
  }

  /// Looks for the first frame in what `rest` holds by the variant in use, and, as far as no message told which one it is,
  /// by the others: for one that stands where a delivery begins, in front of what that one finds.
  mutating func findAny(
    _ flow: UnsafeMutablePointer<Flow>, _ bytes: borrowing Bytes, _ rest: UnsafeMutablePointer<StreamRest>,
    isEnd: Bool, countsParts: Bool = false
  ) -> SearchResult {
    let result = find(bytes, rest, isEnd: isEnd, countsParts: countsParts)
    guard currentPlan.pointee.variantCount > 0, !flow.pointee.variantIsCertain else { return result }
    // Little is searched by all with every delivery; much at the end of the search, and each time twice as much has come.
    let (held, before) = (rest.pointee.count, rest.pointee.searchedByOthers)
    let isLittle = held <= 4_096
    var isDue = isEnd || isLittle || held >= 2 * before || held < before / 2
    var limit = rest.pointee.end
    switch result {
    case .at(let position):
      limit = position
      isDue = true
    case .open(let position): limit = position
    case .none: break
    }
    guard isDue, limit > rest.pointee.start else { return result }
    rest.pointee.searchedByOthers = held
    let own = currentPlanIndex
    let search = (rest.pointee.candidates, rest.pointee.searchedTo, rest.pointee.credit)
    rest.pointee.credit = rest.pointee.creditOfOthers
    doubt = Self.variantEvidence
    defer {
      rest.pointee.creditOfOthers = rest.pointee.credit
      (rest.pointee.candidates, rest.pointee.searchedTo, rest.pointee.credit) = search
      doubt = 0
    }
    var waiting = limit
    for n in 0...Int(currentPlan.pointee.variantCount) {
      let place = place(Int(currentPlan.pointee.index), n)
      guard place != own else { continue }
      (rest.pointee.candidates, rest.pointee.searchedTo) = ([], 0)
      select(FlowProfile(rawValue: place))
      switch find(bytes, rest, isEnd: isEnd, countsParts: countsParts) {
      case .at(let position)
      where position < limit && (limit == rest.pointee.end || rest.pointee.startsDelivery(at: position)):
        speak(flow, place)
        return .at(position)
      case .open(let position)
      where isLittle && (limit == rest.pointee.end || rest.pointee.startsDelivery(at: position)):
        waiting = min(waiting, position)
      default: break
      }
    }
    select(FlowProfile(rawValue: own))
    // What is found is not kept waiting for what others may find.
    if case .at = result { return result }
    return waiting < limit ? .open(waiting) : result
  }
}
