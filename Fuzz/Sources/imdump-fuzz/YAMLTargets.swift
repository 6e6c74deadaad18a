@testable import IMYAML

/// Files that a person wrote, or somebody else.
let yamlTargets = [Target(name: "yaml", run: yaml)]

/// Bytes as YAML. A comment before them moves every place by a line and changes nothing else; what was read, written again in
/// the plainest form, is read as the same.
@Sendable private func yaml(_ input: UnsafeRawBufferPointer) {
  let bytes = [UInt8](input)
  let (root, error) = read(bytes)
  if let error {
    if error.description.contains("\n") { fail("an error of two lines") }
    if let line = error.line, line < 1 || line > bytes.count + 1 { fail("line \(line)") }
    if let column = error.column, column < 1 || column > bytes.count + 1 { fail("column \(column)") }
  }
  if let root { check(root, bytes.count, depth: 1) }

  // A byte order mark is none behind a comment. libyaml reads 16 KiB at once, and by these it can matter what comes first.
  if bytes.first != 0xEF, bytes.count < 16_000 {
    let (moved, otherError) = read(Array("#\n".utf8) + bytes)
    let shifted = error.map { error in
      SourceError(source: "F", line: error.line.map { $0 + 1 }, column: error.column, message: error.message)
    }
    if otherError != shifted { fail("\(String(describing: otherError)), not \(String(describing: shifted))") }
    if let root, !isSame(moved, root, lines: 1) { fail("another tree behind a comment") }
  }
  guard let root else { return }
  var text: [UInt8] = []
  write(root, &text)
  let (again, otherError) = read(text)
  if !isSame(again, root, lines: nil) {
    fail("\(String(decoding: text, as: UTF8.self)) is another tree, or \(String(describing: otherError))")
  }
}

private func read(_ bytes: [UInt8]) -> (YAMLNode?, SourceError?) {
  do throws(SourceError) {
    let root = try bytes.withUnsafeBufferPointer { bytes throws(SourceError) in
      try YAMLComposer.compose(bytes, source: "F", subject: "file")
    }
    return (root, nil)
  } catch {
    return (nil, error)
  }
}

private func check(_ node: YAMLNode, _ count: Int, depth: Int) {
  if !(1...count + 1).contains(node.mark.line) || !(1...count + 1).contains(node.mark.column) { fail("\(node.mark)") }
  switch node.content {
  case .scalar(let text):
    // The escape \L is two bytes, and what it means three.
    if text.utf8.count > count * 3 / 2 { fail("a text of \(text.utf8.count) bytes") }
  case .sequence(let elements):
    if depth > YAMLComposer.maximumDepth { fail("a list at depth \(depth)") }
    for element in elements { check(element, count, depth: depth + 1) }
  case .mapping(let entries):
    if depth > YAMLComposer.maximumDepth { fail("a mapping at depth \(depth)") }
    for entry in entries {
      check(entry.key, count, depth: depth + 1)
      check(entry.value, count, depth: depth + 1)
    }
    let names = entries.compactMap(\.key.text)
    if Set(names).count < names.count { fail("a key that stands twice") }
  }
}

/// Whether `node` is `other`, `lines` lower; without `lines`, wherever it stands.
private func isSame(_ node: YAMLNode?, _ other: YAMLNode, lines: Int?) -> Bool {
  guard let node else { return false }
  if let lines, node.mark != YAMLMark(line: other.mark.line + lines, column: other.mark.column) { return false }
  return switch (node.content, other.content) {
  case (.scalar(let text), .scalar(let otherText)): text.unicodeScalars.elementsEqual(otherText.unicodeScalars)
  case (.sequence(let elements), .sequence(let others)):
    elements.count == others.count && zip(elements, others).allSatisfy { isSame($0, $1, lines: lines) }
  case (.mapping(let entries), .mapping(let others)):
    entries.count == others.count
      && zip(entries, others).allSatisfy {
        isSame($0.key, $1.key, lines: lines) && isSame($0.value, $1.value, lines: lines)
      }
  default: false
  }
}

/// Writes `node` with brackets and quotes; each scalar as escapes, so that no rule about plain text matters.
private func write(_ node: YAMLNode, _ out: inout [UInt8]) {
  switch node.content {
  case .scalar(let text):
    out += "\"".utf8
    for scalar in text.unicodeScalars {
      let digits = String(scalar.value, radix: 16)
      out += "\\U\(String(repeating: "0", count: 8 - digits.count))\(digits)".utf8
    }
    out += "\"".utf8
  case .sequence(let elements):
    out += "[".utf8
    for element in elements {
      write(element, &out)
      out += ",\n".utf8
    }
    out += "]".utf8
  case .mapping(let entries):
    out += "{".utf8
    for entry in entries {
      out += "? ".utf8
      write(entry.key, &out)
      out += "\n: ".utf8
      write(entry.value, &out)
      out += ",\n".utf8
    }
    out += "}".utf8
  }
}

let yamlSeeds = [
  "- Mark McGwire\n- 'Ken ''x'''\n", "? - a\n  - b\n:\n  - [c, {d: e}]\n",
  "%YAML 1.1\n%TAG !e! tag:e,2000:\n---\na: !e!x b\n...\n",
  "a: |+2\n   b\n\nc: >-\n  d\n  e\n\n   f\n", "\"\\x41\\u00e9\\U0001F600\\L\\\n  b\": \u{E9}\u{2028}c: d\n",
  "\u{FEFF}a: 1\r\nb:\t2\r",
  "a1:\t&a1 [\t*a0,\t*a0]\n", "{a: 1, 'a': 2}", "a\n---\nb\n", "[[[[{? {a: } : ~}]]]] # x\n",
]
