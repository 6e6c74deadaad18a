/// One value as it stands in a file. Every scalar is text: what it means, its reader knows.
struct YAMLNode {
  struct Entry {
    var key: YAMLNode
    var value: YAMLNode
  }

  enum Content {
    case scalar(String)
    case sequence([YAMLNode])
    case mapping([Entry])
  }

  var content: Content
  var mark: YAMLMark

  /// The text of a scalar; `nil` of a collection.
  var text: String? {
    if case .scalar(let text) = content { text } else { nil }
  }
}

/// A place in a file: line and column, from 1; a column is a Unicode scalar.
struct YAMLMark: Equatable {
  var line: Int
  var column: Int
}
