package import IMEngine

/// What the types of every plan are for, in one array: a load for each exchange.
package struct RoleTable: Sendable {
  private var roles: [FrameRole] = []

  /// The roles of `plans`' types; a place more for types that a profile does not know.
  package init(plans: [ProtocolPlan]) {
    for plan in plans {
      for index in 0..<65 { roles.append(plan.typeRoles.indices.contains(index) ? plan.typeRoles[index] : .other) }
    }
  }

  /// What the type `kind` of the plan `plan` is for.
  package subscript(plan: UInt8, kind: UInt8) -> FrameRole {
    let place = Int(plan) * 65 + min(64, Int(kind))
    return place < roles.count ? roles[place] : .other
  }
}
