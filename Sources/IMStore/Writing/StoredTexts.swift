package import IMEngine
package import IMFields
package import IMOutput

/// Which texts of messages a store keeps: topics, what messages say, and the other texts of their named fields.
///
/// It keeps texts that anybody may see. It keeps what users write only where that was asked for, and never where the profile hides it. It
/// keeps neither who somebody is, nor where somebody is, nor credentials.
package final class StoredTexts {
  private let plans: [ProtocolPlan]
  private let includesPayload: Bool
  /// The fields that are kept, by plan; `nil` before the first message of a plan: finding them compiles the fields of its profile, and a
  /// capture has few protocols.
  @exclusivity(unchecked) private var fields: [[Int]?]

  /// The texts of messages of `plans`; with `includesPayload`, what users write as well.
  package init(_ plans: [ProtocolPlan], includesPayload: Bool) {
    self.plans = plans
    self.includesPayload = includesPayload
    fields = [[Int]?](repeating: nil, count: plans.count)
  }

  private func kept(_ plan: UInt8) -> [Int] {
    if let known = fields[Int(plan)] { return known }
    let found = plans[Int(plan)].fields.map { fields in
      fields.fields.indices.filter { id in
        let info = fields.fields[id]
        guard info.isShown, !fields.hides(id) else { return false }
        switch info.sensitivity {
        case nil: return info.type == .text
        case .payload: return includesPayload && (info.type == .text || info.type == .bytes)
        default: return false
        }
      }
    }
    fields[Int(plan)] = found ?? []
    return found ?? []
  }

  /// Whether messages of the plan with this index may have some.
  package func has(_ plan: UInt8) -> Bool { includesPayload || !kept(plan).isEmpty }

  /// The texts of a message of the plan with index `plan` that are kept, each cut to `SearchText.maximumText` bytes; `nil` where there
  /// are none. `named` are its named fields, in groups and lists as well. `plain` is its body where it is text as a whole.
  package func details(
    of named: [NamedField], _ plan: UInt8, isMessage: Bool, plain: @autoclosure () -> String?
  ) -> MessageDetails? {
    let names = plans[Int(plan)]
    let fields = kept(plan).flatMap { named.values(of: $0) }
    let topic = MessageText.topic(of: fields, names).map(JSONLines.cut)
    var text = isMessage ? MessageText.text(of: fields, names) : nil
    // Of a body with such fields the whole may tell more than those that are kept.
    if text == nil, isMessage, includesPayload, names.fields?.fields.contains(where: { $0.sensitivity != nil }) != true
    {
      text = plain()
    }
    text = text.map(JSONLines.cut)
    let other = Self.joined(fields) { id in
      let info = names.fields?.fields[id]
      return info.map { MessageText.isTopic($0) || isMessage && MessageText.isText($0) } ?? false
    }
    guard topic != nil || text != nil || other != nil else { return nil }
    return MessageDetails(text: text, destination: topic, otherText: other)
  }

  /// The texts of fields but those that `isKnown` names; `nil` without one.
  private static func joined(_ fields: [NamedField], without isKnown: (Int) -> Bool) -> String? {
    var joined = ""
    for field in fields {
      guard case .text(let text) = field.value, !text.isEmpty, !isKnown(field.field) else { continue }
      joined += joined.isEmpty ? text : " " + text
      if joined.utf8.count >= SearchText.maximumText { break }
    }
    return joined.isEmpty ? nil : JSONLines.cut(joined)
  }
}
