/// Dotted names as the objects that they stand for.
struct FieldTree {
  /// The field of this name, where it is one.
  var field: ECSField?
  /// What is below it, by name.
  private(set) var members: [(name: String, tree: FieldTree)] = []

  /// The tree of no field.
  init() {}

  /// The tree of `fields`.
  init(_ fields: [ECSField]) {
    for field in fields { add(field, field.name.split(separator: ".").map(String.init)[...]) }
  }

  private mutating func add(_ field: ECSField, _ path: ArraySlice<String>) {
    guard let first = path.first else {
      self.field = field
      return
    }
    if let place = members.firstIndex(where: { $0.name == first }) {
      members[place].tree.add(field, path.dropFirst())
    } else {
      var tree = FieldTree()
      tree.add(field, path.dropFirst())
      members.append((first, tree))
    }
  }

  /// The tree as a JSON object with one member each, `leaf` for fields and `wrap` around the members of an object.
  func json(_ indentation: Int, leaf: (ECSField) -> String, wrap: (String) -> String) -> String {
    let space = String(repeating: " ", count: indentation)
    let texts = members.map { member in
      let value =
        member.tree.field.map(leaf) ?? wrap(member.tree.json(indentation + 1, leaf: leaf, wrap: wrap))
      return "\(space) \(SchemaList.quoted(member.name)): \(value)"
    }
    return "{\n" + texts.joined(separator: ",\n") + "\n\(space)}"
  }
}
