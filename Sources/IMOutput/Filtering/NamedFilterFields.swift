package import IMEngine
package import IMFields
package import IMFilter

/// The named fields of profiles as fields of a filter: `topic`, and `mqtt.topic` where only one profile is meant.
///
/// A field is asked for wherever it stands in a message, in groups and lists as well. What is not to be shown cannot be asked for.
package struct NamedFilterFields {
  /// Fields of frames, and those of the profiles behind them.
  package let schema: FilterSchema
  /// The fields that one of the schema stands for, by profile; those of frames have none.
  private let places: [[(plan: Int, field: Int)]]
  private let plans: [FieldPlan?]
  private let first: Int

  /// The fields of `plans` behind those of `base`, whose names stay theirs.
  package init(plans: [ProtocolPlan], behind base: FilterSchema) {
    var fields = base.fields
    var places: [[(plan: Int, field: Int)]] = []
    var indices: [String: Int] = [:]
    self.plans = plans.map(\.fields)
    for (index, plan) in self.plans.enumerated() {
      guard let plan else { continue }
      for (id, info) in plan.fields.enumerated() where info.isShown && !plan.hides(id) && !info.messages.isEmpty {
        guard let kind = Self.kind(info, plan) else { continue }
        let several = info.isRepeated || info.isNested || info.type == .list
        for name in [info.name, plans[index].name + "." + info.name] {
          if base.index(of: name) != nil { continue }
          if let known = indices[name] {
            places[known - base.fields.count].append((index, id))
            // Profiles that mean different things by a name: a number, or a text.
            if fields[known].kind != kind { fields[known].kind = .name(known: []) }
            if several { fields[known].isRepeated = true }
          } else {
            indices[name] = fields.count
            fields.append(
              FilterField(name, kind, "Field \(info.name) of \(plans[index].name)", isRepeated: several))
            places.append([(index, id)])
          }
        }
      }
    }
    schema = base.with(fields)
    self.places = places
    first = base.fields.count
  }

  private static func kind(_ info: FieldInfo, _ plan: FieldPlan) -> FilterKind? {
    switch info.type {
    case .integer where !info.tables.isEmpty:
      .name(known: Set(info.tables.flatMap { plan.enums[$0].values }).sorted())
    case .integer: .integer
    case .number: .real
    case .boolean: .flag
    case .text, .time, .address: .text
    case .bytes: .bytes
    case .list: .name(known: [])
    case .object: nil
    }
  }

  /// The values of a field of the schema in the fields of a frame, that of `plan`.
  private func values(_ field: Int, _ fields: [NamedField], _ plan: Int) -> [NamedField] {
    guard places.indices.contains(field - first) else { return [] }
    var found: [NamedField] = []
    for place in places[field - first] where place.plan == plan {
      found += fields.values(of: place.field)
    }
    return found
  }

  /// What of `fields`, those of a frame of profile `plan`, the fields `used` of the schema ask for.
  package func kept(of fields: [NamedField], _ plan: Int, for used: [Int]) -> [NamedField] {
    used.flatMap { $0 < first ? [] : values($0, fields, plan) }
  }

  /// The value of a field, the `index`th where it has several.
  func value(of field: Int, in fields: [NamedField], _ plan: Int, at index: Int) -> FilterValue? {
    let values = values(field, fields, plan)
    guard values.indices.contains(index) else { return nil }
    return switch values[index].value {
    case .unsigned(let number): .unsigned(number)
    case .signed(let number): .integer(number)
    case .decimal(let units, let places): .real(Double(units) / Self.scale(places))
    case .flag(let isTrue): .flag(isTrue)
    default: nil
    }
  }

  private static func scale(_ places: Int) -> Double { (0..<places).reduce(1.0) { scale, _ in scale * 10 } }

  /// Whether `test` takes one of the field's texts, or the name of one of its numbers.
  func anyText(of field: Int, in fields: [NamedField], _ plan: Int, where test: (RawSpan) -> Bool) -> Bool {
    for named in values(field, fields, plan) {
      switch named.value {
      case .text(let text): if lend(text, test) { return true }
      case .bytes(let bytes): if bytes.withUnsafeBytes({ test($0.bytes) }) { return true }
      default:
        if let name = plans[plan]?.name(of: named), lend(name, test) { return true }
      }
    }
    return false
  }
}
