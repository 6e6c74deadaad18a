/// Text as a terminal shows it: what is safe to print, how many columns it takes, and where its lines break.
enum TerminalText {
  /// Text of others commands no terminal: controls become a sign. What joins signs into one, or chooses how they look, is left
  /// out, because terminals differ in the columns that they then take.
  static func plain(_ text: String) -> String {
    var plain = ""
    for scalar in text.unicodeScalars {
      switch scalar.value {
      case 0x200c, 0x200d, 0xfe00...0xfe0f, 0xe0020...0xe007f: continue
      default: break
      }
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned:
        plain.unicodeScalars.append("\u{fffd}")
      default: plain.unicodeScalars.append(scalar)
      }
    }
    return plain
  }

  /// The columns that a character takes: 2 for those of East Asia and for pictures, 0 for marks alone.
  static func width(_ character: Character) -> Int {
    guard let first = character.unicodeScalars.first else { return 0 }
    switch first.properties.generalCategory {
    case .nonspacingMark, .enclosingMark: return 0
    default: break
    }
    return character.unicodeScalars.contains(where: isWide) ? 2 : 1
  }

  /// The columns that a text takes.
  static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

  /// Whether a scalar is wide or full-width in Unicode's EastAsianWidth, or a picture.
  private static func isWide(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case ..<0x1100: false
    case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0x9fff, 0xa000...0xa4cf,
      0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff00...0xff60, 0xffe0...0xffe6,
      0x1b000...0x1b2ff, 0x1f200...0x1f2ff, 0x20000...0x3fffd:
      true
    default: scalar.properties.isEmojiPresentation
    }
  }

  /// `text` in lines of at most `columns`, broken at blanks where there are any, those behind the first indented.
  static func wrapped(_ text: String, _ columns: Int, indent: Int = 2) -> [String] {
    var lines: [String] = []
    var line: [Character] = []
    var (used, blank) = (0, 0)
    func begin(_ rest: ArraySlice<Character>) {
      line = Array(repeating: " ", count: indent) + rest
      used = line.reduce(0) { $0 + width($1) }
      blank = 0
    }
    for character in text {
      let next = width(character)
      if used + next > columns, !line.isEmpty {
        if character == " " {
          lines.append(String(line))
          begin([])
          continue
        }
        // A word goes to the next line as a whole, if it is short and began behind some others.
        let end = blank > indent && (line.count - blank) * 3 <= columns ? blank : line.count
        lines.append(String(line[..<end]))
        begin(line[end...].drop { $0 == " " })
      }
      line.append(character)
      used += next
      if character == " " { blank = line.count - 1 }
    }
    if !line.isEmpty || lines.isEmpty { lines.append(String(line)) }
    return lines
  }

  /// The end of `text` that fits into `columns`.
  static func end(_ text: String, _ columns: Int) -> String {
    var used = 0
    let kept = text.reversed().prefix { character in
      used += width(character)
      return used <= columns
    }
    return String(kept.reversed())
  }

  /// The beginning of `text` that fits into `columns`, with a sign that there is more.
  static func beginning(_ text: String, _ columns: Int) -> String {
    guard width(text) > columns else { return text }
    var used = 0
    return String(
      text.prefix { character in
        used += width(character)
        return used < columns
      }) + "…"
  }
}
