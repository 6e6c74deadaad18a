/// A command as data, with its place among the others: what help, completions and the manual's test are made of.
package struct CommandTree {
  /// The words that lead here, the program's name first.
  package let path: [String]
  private let member: Member

  /// The root of a tree.
  package init(_ root: Member) { self.init(path: [root.about.name], member: root) }

  private init(path: [String], member: Member) {
    self.path = path
    self.member = member
  }

  /// What help says of it.
  package var about: About { member.about }

  /// What it does without a further word.
  var command: (any Command.Type)? { member.command }

  /// Whether it is the first word's place, where `help` is a word too.
  var isRoot: Bool { path.count == 1 }

  /// The commands that the next word may name, hidden ones too.
  package var members: [CommandTree] {
    member.members.map { CommandTree(path: path + [$0.about.name], member: $0) }
  }

  /// The member of that name.
  func member(named name: String) -> CommandTree? {
    for member in member.members where member.about.name == name {
      return CommandTree(path: path + [name], member: member)
    }
    return nil
  }

  /// The member that `word` was probably meant to be; hidden ones never.
  func memberSuggested(for word: String) -> String? {
    suggestion(for: word, among: visibleMembers.map(\.about.name) + (isRoot ? ["help"] : []))
  }

  /// The members that help names.
  package var visibleMembers: [CommandTree] { members.filter { !$0.about.isHidden } }

  /// The tree from here on, every command before its members.
  package var all: [CommandTree] { [self] + members.flatMap(\.all) }

  /// The rows of the command's table, those that every command has at the end.
  package var rows: [Row] { (command.map { Self.rows($0) } ?? []) + Self.common }

  /// The rows that help shows.
  package var visibleRows: [Row] { rows.filter { !$0.isHidden } }

  private static func rows<C: Command>(_ type: C.Type) -> [Row] {
    let initial = C()
    return flatten(C.table).map { $0.row(initial) }
  }

  /// What every command understands.
  static var common: [Row] {
    [
      Row(spelling: OptionSyntax("--version"), help: "Show the version."),
      Row(spelling: OptionSyntax("-h, --help"), help: "Show help information."),
    ]
  }

  /// The lines of usage: its own, or those that are made of the table. They stand behind "USAGE: ", within 80 columns.
  package var usage: [String] {
    guard about.usage.isEmpty else { return about.usage }
    let name = path.joined(separator: " ")
    if command == nil { return [name + " <subcommand>"] }
    var lines = [name]
    for row in visibleRows.dropLast(Self.common.count) {
      let part = row.usage
      if lines[lines.count - 1].count + 1 + part.count > 73 {
        lines.append(String(repeating: " ", count: name.count))
      }
      lines[lines.count - 1] += " " + part
    }
    return lines
  }

  /// The command that prints the help.
  var helpCommand: String { path.joined(separator: " ") + " --help" }
}
