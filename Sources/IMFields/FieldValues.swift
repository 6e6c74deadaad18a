extension [NamedField] {
  /// The values of a field, wherever it stands among these, in groups and lists as well; a list's values one by one.
  package func values(of field: Int) -> [NamedField] {
    var found: [NamedField] = []
    for named in self { Self.collect(named, field, &found) }
    return found
  }

  private static func collect(_ named: NamedField, _ wanted: Int, _ found: inout [NamedField]) {
    if named.field == wanted { spread(named, named.value, &found) }
    switch named.value {
    case .object(let fields): for inner in fields { collect(inner, wanted, &found) }
    case .list(let values):
      for case .object(let fields) in values { for inner in fields { collect(inner, wanted, &found) } }
    default: break
    }
  }

  private static func spread(_ named: NamedField, _ value: FieldValue, _ found: inout [NamedField]) {
    if case .list(let values) = value {
      for value in values { spread(named, value, &found) }
    } else {
      found.append(NamedField(named.field, value, names: named.names))
    }
  }
}
