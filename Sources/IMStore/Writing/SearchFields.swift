package import IMEngine
package import IMFields

/// The named fields of profiles whose texts a store keeps, to be searched.
///
/// Texts that anybody may see. What users write is kept only where that was asked for, and nowhere where the profile hides it.
/// Who somebody is and where somebody is, are not kept as text; credentials never are.
package struct SearchFields: Sendable {
  private let fields: [Set<Int>]

  /// The fields of `plans`; with `includesPayload`, what users write as well.
  package init(_ plans: [ProtocolPlan], includesPayload: Bool) {
    fields = plans.map { plan in
      guard let plan = plan.fields else { return [] }
      return Set(
        plan.fields.indices.filter { id in
          let info = plan.fields[id]
          guard info.type == .text, info.isShown, !plan.hides(id) else { return false }
          return info.sensitivity == nil || info.sensitivity == .payload && includesPayload
        })
    }
  }

  /// Whether messages of the plan with this index may have some.
  package func has(_ plan: Int) -> Bool { fields.indices.contains(plan) && !fields[plan].isEmpty }

  /// Those of `named`, the fields of a message of the plan with index `plan`, that are kept; in groups and lists as well.
  package func kept(of named: [NamedField], _ plan: Int) -> [NamedField] {
    fields[plan].sorted().flatMap { field in
      named.values(of: field).filter { if case .text = $0.value { true } else { false } }
    }
  }
}
