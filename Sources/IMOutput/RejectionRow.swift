package import IMEngine
package import IMMetrics

/// What was refused, in words.
package struct RejectionRow {
  /// The profile's name, and the type's.
  package let profile: String, type: String
  /// The status's number on the wire, and the profile's name of it; `nil` where there is none.
  package let status: UInt64?, name: String?
  /// How often.
  package let count: UInt64

  /// The rows of `counts`, the most frequent first; of equals, the one that was seen first. With `role`, only of types that are for it.
  package static func rows(
    _ counts: RejectionCounts, _ plans: [ProtocolPlan], _ statuses: StatusRegistry, role: FrameRole? = nil
  ) -> [RejectionRow] {
    let entries = counts.entries.filter { entry in
      guard let role else { return true }
      let roles = Int(entry.plan) < plans.count ? plans[Int(entry.plan)].typeRoles : []
      return Int(entry.kind) < roles.count && roles[Int(entry.kind)] == role
    }
    return entries.enumerated().sorted { ($1.element.count, $0.offset) < ($0.element.count, $1.offset) }.map {
      let entry = $0.element
      let plan = Int(entry.plan) < plans.count ? plans[Int(entry.plan)] : nil
      let code = statuses[entry.status]
      let type = plan.flatMap { Int(entry.kind) < $0.typeNames.count ? $0.typeNames[Int(entry.kind)] : nil }
      return RejectionRow(
        profile: plan?.name ?? "other", type: type ?? "other", status: code?.number,
        name: code.flatMap { plan?.name(of: $0) }, count: entry.count)
    }
  }
}
