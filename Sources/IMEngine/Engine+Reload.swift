/// What a profile that was read again has meant for the connections that were open.
package enum ReloadOutcome: Equatable, Sendable {
  /// Connections that go on with the new one: its frames are laid out as before.
  case moved(connections: Int)
  /// Connections that keep what they began with, because the new one lays its frames out in another way.
  case kept(connections: Int)
  /// Nothing has changed: connections of the two layouts before are still open, and a third cannot be kept beside them.
  case refused
}

extension Engine {
  /// Puts `fresh` in the place of the plan at `index`, while the capture goes on.
  ///
  /// Connections that are open go on with the new plan where it has the same header: what is in hand of their bytes was cut
  /// by the same rules, their numbers stand at the same place, and they live for hours, so the correction is for them as
  /// much as for those to come. With another header each keeps the plan that it began with until it is over: its ends agreed
  /// on that layout. Which indices types have must not change: `fresh` was made for that. Cold, and as dear as a look
  /// at every connection.
  package mutating func reload(_ index: Int, _ fresh: ProtocolPlan) -> ReloadOutcome {
    guard plans.indices.contains(index) else { return .refused }
    let plan = plans[index]
    var counts = [0, 0, 0, 0]
    forEachFlow(of: index) { counts[Int($0.pointee.profile.generation)] += 1 }
    let isSame = plan.pointer.hasHeader(of: fresh.pointer)
    let place = counts[1] == 0 ? 1 : 2
    if !isSame, counts[0] > 0, counts[place] > 0 { return .refused }
    // What a variant was has no place.
    if !isSame, counts[3] > 0 { return .refused }
    // What `fresh` was is the plan's now, and the other way round.
    plan.exchange(with: fresh)
    planPointers[index] = plan.pointer
    let variant = FlowProfile.variant(of: index)
    if let pointer = plan.variant?.pointer, index <= 60 {
      planPointers[Int(variant.rawValue)] = pointer
    } else if counts[3] > 0 {
      forEachFlow(of: index) {
        if $0.pointee.profile == variant { $0.pointee.profile = FlowProfile(rawValue: UInt8(index)) }
      }
    }
    if !isSame, counts[0] > 0 {
      let slot = index + place * FlowProfile.planCount
      forEachFlow(of: index) {
        if $0.pointee.profile.generation == 0 { $0.pointee.profile = FlowProfile(rawValue: UInt8(slot)) }
      }
      planPointers[slot] = fresh.pointer
      retired[slot] = fresh
    }
    // Nothing points into what may be freed now.
    currentPlanIndex = 0
    currentPlan = planPointers[0]
    frame.pointee.trailerCount = Int(currentPlan.pointee.framing.trailerCount)
    frame.pointee.kind = currentPlan.pointee.unknownKind
    for type in 0..<65 {
      let kind = plan.kind(at: type)
      tracker.planRoles[index * 65 + type] = kind?.role ?? .other
      tracker.planTimeouts[index * 65 + type] = kind?.timeout ?? Tracker.leastTimeout
    }
    sink.reloaded(plans)
    return isSame ? .moved(connections: counts[0] + counts[3]) : .kept(connections: counts[0])
  }

  private func forEachFlow(of index: Int, _ body: (UnsafeMutablePointer<Flow>) -> Void) {
    for place in 0..<UInt32(truncatingIfNeeded: reassembler.flows.pool.count) {
      let flow = reassembler.flows.pointer(place)
      if flow.pointee.serial != 0, flow.pointee.profile.isPlan, Int(flow.pointee.profile.plan) == index { body(flow) }
    }
  }
}

extension UnsafePointer<Plan> {
  /// Whether frames are cut, and their numbers found, as `other` does it. How long a body may be, what types there are and what
  /// stands in bodies may differ.
  func hasHeader(of other: UnsafePointer<Plan>) -> Bool {
    let (a, b) = (self, other)
    let fields: [KeyPath<Plan, Field>] = [
      \.length, \.type, \.sequence, \.session, \.checksum, \.time, \.compression, \.encryption, \.duplicate, \.status,
    ]
    return a.pointee.magicMask == b.pointee.magicMask && a.pointee.magic == b.pointee.magic
      && a.pointee.lengthRule == b.pointee.lengthRule && a.pointee.checksumRule == b.pointee.checksumRule
      && a.pointee.headerCount == b.pointee.headerCount && a.pointee.lengthOffset == b.pointee.lengthOffset
      && a.pointee.lengthAdd == b.pointee.lengthAdd && a.pointee.sequenceCounts == b.pointee.sequenceCounts
      && a.pointee.counterBits == b.pointee.counterBits && a.pointee.counterWrap == b.pointee.counterWrap
      && fields.allSatisfy { a.pointee[keyPath: $0].isSame(b.pointee[keyPath: $0]) }
      && a.pointee.framing.isSame(b.pointee.framing)
  }
}
