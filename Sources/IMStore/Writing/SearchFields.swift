package import IMEngine
package import IMFields

/// The named fields of profiles whose texts a store keeps, to be searched.
///
/// Texts that anybody may see. What users write is kept only where that was asked for, and nowhere where the profile hides it.
/// Who somebody is and where somebody is, are not kept as text; credentials never are.
package final class SearchFields {
  private let plans: [ProtocolPlan]
  private let includesPayload: Bool
  /// By plan; `nil` where nobody has asked: to ask compiles the fields of a profile, and a capture speaks few of them.
  @exclusivity(unchecked) private var fields: [[Int]?]

  /// The fields of `plans`; with `includesPayload`, what users write as well.
  package init(_ plans: [ProtocolPlan], includesPayload: Bool) {
    self.plans = plans
    self.includesPayload = includesPayload
    fields = [[Int]?](repeating: nil, count: plans.count)
  }

  private func find(_ number: Int) -> [Int] {
    let plan = plans[number]
    let found = plan.fields.map { fields in
      fields.fields.indices.filter { id in
        let info = fields.fields[id]
        guard info.type == .text, info.isShown, !fields.hides(id) else { return false }
        return info.sensitivity == nil || info.sensitivity == .payload && includesPayload
      }
    }
    fields[number] = found ?? []
    return found ?? []
  }

  /// Whether messages of the plan with this index may have some.
  package func has(_ plan: Int) -> Bool {
    fields.indices.contains(plan) && !(fields[plan] ?? find(plan)).isEmpty
  }

  /// Those of `named`, the fields of a message of the plan with index `plan`, that are kept; in groups and lists as well.
  package func kept(of named: [NamedField], _ plan: Int) -> [NamedField] {
    (fields[plan] ?? find(plan)).flatMap { field in
      named.values(of: field).filter { if case .text = $0.value { true } else { false } }
    }
  }
}
