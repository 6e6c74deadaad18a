/// How paths are written.
package enum ContentPath {
  /// The steps of `text`, which leads into a content of that kind; `nil` where it is no path.
  package static func steps(_ text: String, _ kind: ContentKind) -> [ContentStep]? {
    var steps: [ContentStep] = []
    for word in text.split(separator: ".", omittingEmptySubsequences: false) {
      guard !word.isEmpty, word.utf8.count <= 128 else { return nil }
      if kind == .words || kind == .headers, word == "last" && kind == .words {
        steps.append(.word(ContentWord.last))
      } else if kind == .words, word.last == "-", let number = UInt32(word.dropLast()), (1...16).contains(number) {
        steps.append(.word(number + ContentWord.rest))
      } else if word == "*" {
        steps.append(.any)
      } else if kind == .ber, word == "@tag" {
        steps.append(.attribute(Array("tag".utf8)))
      } else if kind == .xml {
        steps.append(word.first == "@" ? .attribute(Array(word.utf8.dropFirst())) : .name(Array(word.utf8)))
      } else if kind != .headers, let number = UInt32(word) {
        steps.append(.number(number))
      } else if [.protobuf, .resp, .words, .ber, .pairs].contains(kind) {
        return nil
      } else {
        steps.append(.name(Array(word.utf8)))
      }
    }
    // Words of a line are counted from 1.
    if kind == .words { steps = steps.map { if case .number(let number) = $0 { .word(number) } else { $0 } } }
    // Nothing is inside an attribute.
    for step in steps.dropLast() { if case .attribute = step { return nil } }
    if case .attribute(let name)? = steps.last, name.isEmpty { return nil }
    return (1...ContentPlan.maximumDepth).contains(steps.count) ? steps : nil
  }
}

/// Numbers of words that are none of a single word.
enum ContentWord {
  /// The last word of a line.
  static let last: UInt32 = 1_000
  /// What is added to a word's number to mean it and everything after it, without quotes around that.
  static let rest: UInt32 = 2_000
}
