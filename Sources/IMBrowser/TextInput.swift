import IMTerminal

/// A line of text that is being typed. While it is, letters are text and no keys.
package struct TextInput: Equatable, Sendable {
  /// Scalars that it takes, at most.
  private static let limit = 500

  /// What stands there.
  package private(set) var text: String
  /// Characters in front of the cursor.
  private var cursor: Int

  /// A line that begins as `text`, with the cursor behind it.
  init(_ text: String = "") {
    self.text = text
    cursor = text.count
  }

  /// What stands in front of the cursor, and behind it.
  var parts: (before: Substring, behind: Substring) { (text.prefix(cursor), text.dropFirst(cursor)) }

  /// Adds text at the cursor. Control characters are left out.
  mutating func insert(_ more: String) {
    var plain = String.UnicodeScalarView()
    for scalar in more.unicodeScalars where scalar.value >= 0x20 && !(0x7f..<0xa0).contains(scalar.value) {
      plain.append(scalar)
    }
    let (before, behind) = parts
    let head = String(String.UnicodeScalarView((String(before) + String(plain)).unicodeScalars.prefix(Self.limit)))
    text = head + String(behind.prefix(max(0, Self.limit - head.count)))
    cursor = head.count
  }

  /// Takes a key; false for one that does nothing to a line.
  mutating func take(_ key: Key) -> Bool {
    switch (key.code, key.modifiers) {
    case (.character(let scalar), []), (.character(let scalar), .shift): insert(String(Character(scalar)))
    case (.backspace, []):
      guard cursor > 0 else { return true }
      let (before, behind) = parts
      text = String(before.dropLast()) + String(behind)
      cursor -= 1
    case (.delete, []):
      let (before, behind) = parts
      text = String(before) + String(behind.dropFirst())
    case (.left, _): cursor = max(0, cursor - 1)
    case (.right, _): cursor = min(text.count, cursor + 1)
    case (.home, _), (.character("a"), .control): cursor = 0
    case (.end, _), (.character("e"), .control): cursor = text.count
    case (.character("u"), .control):
      text = String(parts.behind)
      cursor = 0
    case (.character("w"), .control):
      let before = parts.before
      let kept = before.reversed().drop { $0 == " " }.drop { $0 != " " }.reversed()
      text = String(kept) + String(parts.behind)
      cursor = kept.count
    default: return false
    }
    return true
  }
}
