@testable import IMYAML

/// The tree of `bytes` in one line: scalars in quotes, `[…]`, `{…: …}`; or the error, as `LINE:COLUMN: MESSAGE`.
func tree(_ bytes: [UInt8]) -> String {
  do throws(SourceError) {
    let root = try bytes.withUnsafeBufferPointer { bytes throws(SourceError) in
      try YAMLComposer.compose(bytes, source: "x", subject: "file")
    }
    return root.map(line) ?? "nothing"
  } catch {
    return String(error.description.dropFirst(error.line == nil ? 3 : 2))
  }
}

func tree(_ text: String) -> String { tree(Array(text.utf8)) }

private func line(_ node: YAMLNode) -> String {
  switch node.content {
  case .scalar(let text): "\"\(text)\""
  case .sequence(let elements): "[\(elements.map(line).joined(separator: ", "))]"
  case .mapping(let entries): "{\(entries.map { "\(line($0.key)): \(line($0.value))" }.joined(separator: ", "))}"
  }
}

/// The scalars of `text` with their places, in the order of the file: `TEXT@LINE:COLUMN`.
func places(_ text: String) throws(SourceError) -> [String] {
  let root = try Array(text.utf8).withUnsafeBufferPointer { bytes throws(SourceError) in
    try YAMLComposer.compose(bytes, source: "x", subject: "file")
  }
  func walk(_ node: YAMLNode) -> [String] {
    switch node.content {
    case .scalar(let text): ["\(text)@\(node.mark.line):\(node.mark.column)"]
    case .sequence(let elements): elements.flatMap(walk)
    case .mapping(let entries): entries.flatMap { walk($0.key) + walk($0.value) }
    }
  }
  return root.map(walk) ?? []
}
