/// What a profile that was read again has meant for the connections that were open.
package enum ReloadOutcome: Equatable, Sendable {
  /// Connections that go on with the new one: its frames are laid out as before.
  case moved(connections: Int)
  /// Connections that keep what they began with, because the new one lays its frames out in another way.
  case kept(connections: Int)
  /// Nothing has changed: connections of the two layouts before are still open, and a third cannot be kept beside them.
  case refused
}

/// The plans by which connections are decoded, and the one in use.
struct PlanTable: ~Copyable {
  /// The plans, in the order of preference.
  let plans: [ProtocolPlan]
  /// What plans were before they were read again, by their place in `pointers`, for connections that keep them.
  private var retired: [Int: ProtocolPlan] = [:]
  /// The plans' pointers, by `FlowProfile.rawValue`.
  private let pointers: UnsafeMutablePointer<UnsafePointer<Plan>>
  /// The last one used is kept, so that decoding does not wait for the flow's cache line.
  private(set) var current: UnsafePointer<Plan>
  /// Its place.
  private(set) var currentIndex: UInt8 = 0

  /// A table of 1 to 64 plans; the first is in use.
  init(_ plans: [ProtocolPlan]) {
    precondition(!plans.isEmpty && plans.count <= FlowProfile.planCount, "an engine decodes 1 to 64 protocols")
    self.plans = plans
    pointers = .allocate(capacity: 4 * FlowProfile.planCount)
    pointers.initialize(repeating: plans[0].pointer, count: 4 * FlowProfile.planCount)
    for (i, plan) in plans.enumerated() {
      pointers[i] = plan.pointer
      if let variant = plan.variant, i < FlowProfile.variantCount {
        pointers[Int(FlowProfile.variant(of: i).rawValue)] = variant.pointer
      }
    }
    current = pointers[0]
  }

  deinit { pointers.deallocate() }

  /// What decodes the flows that have `profile`, which is a plan.
  @inline(__always)
  subscript(profile: FlowProfile) -> UnsafePointer<Plan> { pointers[Int(profile.rawValue)] }

  /// Makes `profile` the plan in use; true when it was another one.
  @inline(__always)
  mutating func select(_ profile: FlowProfile) -> Bool {
    // A branch that is predicted, so that decoding does not wait for the flow.
    guard profile.rawValue != currentIndex else { return false }
    currentIndex = profile.rawValue
    current = pointers[Int(profile.rawValue)]
    return true
  }

  /// Makes the first plan the one in use: nothing points into one that may be freed.
  private mutating func selectFirst() {
    currentIndex = 0
    current = pointers[0]
  }

  /// Puts `fresh` in the place of the plan at `index`; `flows` calls its argument with each flow that the plan decodes. See
  /// `Engine.reload`.
  mutating func reload(
    _ index: Int, _ fresh: ProtocolPlan, flows: ((Ref<Flow>) -> Void) -> Void
  ) -> ReloadOutcome {
    guard plans.indices.contains(index) else { return .refused }
    let plan = plans[index]
    var counts = [0, 0, 0, 0]
    flows { counts[Int($0.pointee.profile.generation)] += 1 }
    let isSame = plan.pointer.hasHeader(of: fresh.pointer)
    let place = counts[1] == 0 ? 1 : 2
    if !isSame, counts[0] > 0, counts[place] > 0 { return .refused }
    // What a variant was has no place.
    if !isSame, counts[3] > 0 { return .refused }
    // What `fresh` was is the plan's now, and the other way round.
    plan.exchange(with: fresh)
    pointers[index] = plan.pointer
    let variant = FlowProfile.variant(of: index)
    if let pointer = plan.variant?.pointer, index < FlowProfile.variantCount {
      pointers[Int(variant.rawValue)] = pointer
    } else if counts[3] > 0 {
      flows { if $0.pointee.profile == variant { $0.pointee.profile = FlowProfile(rawValue: UInt8(index)) } }
    }
    if !isSame, counts[0] > 0 {
      let slot = index + place * FlowProfile.planCount
      flows { if $0.pointee.profile.generation == 0 { $0.pointee.profile = FlowProfile(rawValue: UInt8(slot)) } }
      pointers[slot] = fresh.pointer
      retired[slot] = fresh
    }
    selectFirst()
    return isSame ? .moved(connections: counts[0] + counts[3]) : .kept(connections: counts[0])
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
