/// Sets a command's options by the words of a command line, one after the other.
///
/// - `-c3`, `-c 3`, `--name=value`, `--name value`: options with a value. A next word that begins with a dash is none,
///   but `-` alone is one.
/// - `-nnvvr FILE`: letters in one word, of which the last may have a value, joined or not.
/// - `--` ends the options. Options may stand behind operands. Long names are never abbreviated.
///
/// Bytes are compared, not characters: an accent behind a dash would make another character of both.
struct OptionReader<C: Command> {
  /// The command, as far as it has been read.
  private(set) var command = C()
  /// The rows with a name, and what each of the others takes.
  private var options: [(row: Option<C>, spelling: OptionSyntax)] = []
  private var operands: [(row: Option<C>, spelling: OptionSyntax)] = []
  /// Operands that have been read.
  private var operandCount = 0

  init() {
    for row in flatten(C.table) {
      let spelling = OptionSyntax(row.text)
      if spelling.isOperand { operands.append((row, spelling)) } else { options.append((row, spelling)) }
    }
  }

  /// Reads `words`; whether help is asked for instead, by a letter among others.
  mutating func read(_ words: ArraySlice<String>) throws(Fault) -> Bool {
    var words = words
    while let word = words.popFirst() {
      if word == "--" {
        for word in words { try readOperand(word) }
        break
      } else if !isDashed(word) {
        try readOperand(word)
      } else if word.utf8.dropFirst().first == UInt8(ascii: "-") {
        try readLong(word, &words)
      } else if try readLetters(word, &words) {
        return true
      }
    }
    if operandCount < operands.count, !operands[operandCount].spelling.repeats {
      let (row, spelling) = operands[operandCount]
      throw Fault(message: "missing argument '\(spelling.text)'", row: row.row(C()))
    }
    return false
  }

  private mutating func readOperand(_ word: String) throws(Fault) {
    guard operandCount < operands.count else { throw Fault(message: "unexpected argument \(quoted(word))") }
    let (row, spelling) = operands[operandCount]
    try set(row, spelling, word)
    if !spelling.repeats { operandCount += 1 }
  }

  /// `--name`, `--name value` or `--name=value`.
  private mutating func readLong(_ word: String, _ words: inout ArraySlice<String>) throws(Fault) {
    let name = Substring(word.utf8.prefix { $0 != UInt8(ascii: "=") })
    let behind = Substring(word).utf8.dropFirst(name.utf8.count)
    // What stands behind the equals sign; `nil` where there is none.
    let joined = behind.isEmpty ? nil : behind.dropFirst()
    guard let (row, spelling) = option(String(name)) else { throw unknown(word, String(name), joined) }
    if spelling.value == nil {
      if let joined { throw takesNoValue(String(name), joined, row.row(C())) }
      try set(row, spelling, "")
    } else if let joined {
      guard !joined.isEmpty else { throw missing(row, spelling) }
      try set(row, spelling, String(Substring(joined)))
    } else {
      try readNext(row, spelling, &words)
    }
  }

  /// Letters of which the last may have a value; whether one of them asks for help.
  private mutating func readLetters(_ word: String, _ words: inout ArraySlice<String>) throws(Fault) -> Bool {
    var rest = Substring(word).utf8.dropFirst()
    while let letter = rest.popFirst() {
      let name = "-" + String(UnicodeScalar(letter))
      guard letter < 128, let (row, spelling) = option(name) else {
        if letter == UInt8(ascii: "h") { return true }
        throw unknownLetter(letter, rest, word)
      }
      if spelling.value != nil {
        if rest.isEmpty { try readNext(row, spelling, &words) } else { try set(row, spelling, String(Substring(rest))) }
        break
      }
      if rest.first == UInt8(ascii: "=") { throw takesNoValue(name, rest.dropFirst(), row.row(C())) }
      try set(row, spelling, "")
    }
    return false
  }

  /// The value is the next word.
  private mutating func readNext(
    _ row: Option<C>, _ spelling: OptionSyntax, _ words: inout ArraySlice<String>
  ) throws(Fault) {
    guard let word = words.first else { throw missing(row, spelling) }
    guard !isDashed(word) else { throw missing(row, spelling, before: word) }
    words.removeFirst()
    try set(row, spelling, word)
  }

  private mutating func set(_ row: Option<C>, _ spelling: OptionSyntax, _ word: String) throws(Fault) {
    do throws(ValueError) {
      try row.set(&command, word)
    } catch {
      let message = "the value \(quoted(word)) is invalid for '\(spelling.label)': \(error.message)"
      throw Fault(message: message, row: row.row(C()))
    }
  }

  private func option(_ name: String) -> (row: Option<C>, spelling: OptionSyntax)? {
    options.first { $0.spelling.names.contains(name) }
  }

  private func missing(_ row: Option<C>, _ spelling: OptionSyntax, before word: String? = nil) -> Fault {
    var message = "missing value for '\(spelling.label)'"
    if let word {
      let name = spelling.names.last ?? ""
      let joined = quoted(name + (name.utf8.count > 2 ? "=" : "") + word)
      message += ": \(quoted(word)) begins with a dash; if it is the value, write \(joined)"
    }
    return Fault(message: message, row: row.row(C()))
  }

  private func unknown(_ word: String, _ name: String, _ joined: Substring.UTF8View?) -> Fault {
    if let joined, CommandTree.common.contains(where: { $0.spelling.names.contains(name) }) {
      return takesNoValue(name, joined)
    }
    // Dashes alone are no name: the whole word is what is strange.
    guard name.utf8.count > 2 else { return Fault(message: "unknown option \(quoted(word))") }
    return Fault(message: "unknown option \(quoted(name))\(didYouMean(suggested(name)))")
  }

  private func unknownLetter(_ letter: UInt8, _ rest: Substring.UTF8View, _ word: String) -> Fault {
    // The rest of a character that is no letter of ASCII belongs to it.
    let character =
      letter < 128 ? String(UnicodeScalar(letter)) : String(word.unicodeScalars.first { !$0.isASCII } ?? "?")
    let name = quoted("-" + character)
    let isFirst = rest.count == word.utf8.count - 2
    // A long name with one dash, such as `-format`.
    if isFirst, word.utf8.count > 3, let name = suggested("-" + word) {
      return Fault(message: "unknown option \(quoted(word))\(didYouMean(name))")
    }
    return Fault(message: "unknown option \(name)" + (word.utf8.count > 2 && letter < 128 ? " in \(quoted(word))" : ""))
  }

  /// The long name that `name` was probably meant to be; hidden ones never.
  private func suggested(_ name: String) -> String? {
    let rows = options.filter { !$0.row.isHidden }.map(\.spelling) + CommandTree.common.map(\.spelling)
    let names = rows.flatMap(\.names).filter { $0.utf8.count > 2 }
    let word = name.utf8.prefix { $0 != UInt8(ascii: "=") }
    return suggestion(for: String(Substring(word)), among: names)
  }
}
