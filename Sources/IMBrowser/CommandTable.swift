import IMWire

/// A command that is typed behind `:`.
struct TypedCommand: Equatable, Sendable {
  /// What it does.
  enum Action: Equatable, Sendable {
    case sessions, connections, messages, types, problems, ladder, filter, sort, time, goto, next, previous, graph,
      wrap, pin, help, command
    case redraw, quit
  }

  /// Its name, and others that it has.
  let name: String
  var others: [String] = []
  /// What is typed behind it, for help; empty for nothing.
  var argument = ""
  /// Words that may be typed behind it; empty where any text may, or none.
  var words: [String] = []
  /// What it does.
  let action: Action
  /// What help says of it.
  let help: String

  /// What help calls it.
  var label: String { ":" + name + (argument.isEmpty ? "" : " " + argument) }
}

/// The commands, and what is made of a line that somebody typed.
enum CommandTable {
  /// Why a line is no command.
  struct Mistake: Error, Equatable { let text: String }

  /// The commands, in the order of help.
  static let all: [TypedCommand] = [
    TypedCommand(name: "sessions", action: .sessions, help: "the list of sessions"),
    TypedCommand(name: "connections", action: .connections, help: "the list of TCP connections"),
    TypedCommand(name: "messages", action: .messages, help: "messages of all sessions"),
    TypedCommand(name: "types", action: .types, help: "types of messages"),
    TypedCommand(name: "problems", action: .problems, help: "problems by kind and cause"),
    TypedCommand(
      name: "ladder", argument: "[CONN]", action: .ladder, help: "the ladder of the selection, or of a connection"),
    TypedCommand(
      name: "filter", argument: "[FILTER]", action: .filter,
      help: "filter the list, as / does; without FILTER, clear it"
    ),
    TypedCommand(
      name: "time", argument: "[FROM TO]", action: .time, help: "show only this time range; without one, all times"),
    TypedCommand(
      name: "sort", argument: "COLUMN [reverse]", words: SessionSort.allCases.map(\.word) + ["reverse"], action: .sort,
      help: "sort the sessions"),
    TypedCommand(
      name: "goto", others: ["g"], argument: "N | TIME", action: .goto,
      help: "go to a session or message by number, or to the first message from TIME"),
    TypedCommand(
      name: "next", argument: "[PROBLEM]", words: ProblemNames.all, action: .next,
      help: "the next message with a problem"),
    TypedCommand(
      name: "previous", argument: "[PROBLEM]", words: ProblemNames.all, action: .previous,
      help: "the previous message with a problem"),
    TypedCommand(
      name: "graph", argument: "STYLE", words: GraphStyle.allCases.map(\.rawValue), action: .graph,
      help: "set how metrics over time are drawn"),
    TypedCommand(name: "wrap", action: .wrap, help: "wrap or cut the text of messages"),
    TypedCommand(name: "pin", action: .pin, help: "pin or unpin the session"),
    TypedCommand(name: "command", action: .command, help: "show the equivalent command line"),
    TypedCommand(name: "redraw", action: .redraw, help: "redraw the screen"),
    TypedCommand(name: "help", action: .help, help: "keys and commands"),
    TypedCommand(name: "quit", others: ["q"], action: .quit, help: "quit"),
  ]

  private static var names: [String] { all.flatMap { [$0.name] + $0.others } }

  /// The command of a line, and what stands behind it. The beginning of a name is enough where it is that of one command.
  static func parse(_ line: String) throws(Mistake) -> (command: TypedCommand, rest: String) {
    let text = line.drop { $0 == " " || $0 == ":" }
    let word = String(text.prefix { $0 != " " })
    let rest = trimmed(text.dropFirst(word.count))
    guard !word.isEmpty else { throw Mistake(text: "which command? Tab lists them") }
    if let found = all.first(where: { $0.name == word || $0.others.contains(word) }) {
      return (try checked(found, rest), rest)
    }
    let begun = all.filter { $0.name.hasPrefix(word) }
    if begun.count == 1 { return (try checked(begun[0], rest), rest) }
    if begun.count > 1 { throw Mistake(text: "'\(word)' is ambiguous: " + listed(begun.map(\.name))) }
    throw Mistake(text: "no command '\(word)'" + meant(word, among: all.map(\.name)))
  }

  private static func checked(_ command: TypedCommand, _ rest: String) throws(Mistake) -> TypedCommand {
    guard command.argument.isEmpty, !rest.isEmpty else { return command }
    throw Mistake(text: ":\(command.name) takes no argument")
  }

  /// One of the words of a command, which may be begun only.
  static func word(_ text: String, of words: [String], _ what: String) throws(Mistake) -> String {
    if words.contains(text) { return text }
    let begun = words.filter { $0.hasPrefix(text) }
    if begun.count == 1, !text.isEmpty { return begun[0] }
    guard !text.isEmpty else { throw Mistake(text: "which \(what)? " + listed(words)) }
    let near = Self.near(text, words)
    throw Mistake(
      text: "no \(what) '\(text)'; " + (near.isEmpty ? "expected \(listed(words))" : "did you mean \(listed(near))?"))
  }

  private static func meant(_ word: String, among names: [String]) -> String {
    let near = near(word, names)
    return near.isEmpty ? "; Tab lists them" : "; did you mean \(listed(near))?"
  }

  /// The names that a misspelt one may have meant, nearest first.
  private static func near(_ word: String, _ names: [String]) -> [String] {
    Array(nearMisses(word, among: names).prefix(3))
  }

  private static func listed(_ words: [String]) -> String {
    words.count < 2 ? words.joined() : words.dropLast().joined(separator: ", ") + " or " + (words.last ?? "")
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text.drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return String(text)
  }

  // MARK: Completion

  /// What a line may go on with: lines as they would be, and the words that they end with.
  static func completions(_ line: String, fields: [String]) -> [(line: String, word: String)] {
    let text = String(line.drop { $0 == " " || $0 == ":" })
    guard let blank = text.firstIndex(of: " ") else {
      return all.filter { $0.name.hasPrefix(text) }.map { ($0.name + ($0.argument.isEmpty ? "" : " "), $0.name) }
    }
    guard let command = all.first(where: { $0.name == text[..<blank] || $0.others.contains(String(text[..<blank])) })
    else { return [] }
    let words = command.action == .filter ? fields : command.words
    let last = text.split(separator: " ", omittingEmptySubsequences: false).last.map(String.init) ?? ""
    return words.filter { $0.hasPrefix(last) && $0 != last }.map { (String(text.dropLast(last.count)) + $0, $0) }
  }

  /// What all lines begin with.
  static func common(_ lines: [String]) -> String {
    guard var common = lines.first else { return "" }
    for line in lines { while !line.hasPrefix(common) { common.removeLast() } }
    return common
  }
}

extension SessionSort {
  /// A word for it, without blanks.
  var word: String { rawValue.split(separator: " ").joined(separator: "-") }
}
