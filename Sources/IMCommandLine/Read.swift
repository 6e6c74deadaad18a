/// Reads a command line, without the program's name: what it asks for, as a function of its words alone.
///
/// Words lead to a command; `--help` and `--version` count wherever they stand before `--`, whatever else is wrong.
package func read(_ words: [String], as root: Member) -> Reading {
  var place = CommandTree(root)
  var rest = words[...]
  do throws(Fault) {
    if rest.first == "help", !root.members.isEmpty { return .help(try helped(rest.dropFirst(), &place)) }
    while let word = rest.first, !isDashed(word), let member = place.member(named: word) {
      place = member
      rest.removeFirst()
    }
    for word in rest.prefix(while: { $0 != "--" }) {
      if word == "--help" || word == "-h" { return .help(place.help) }
      if word == "--version" { return .version(root.about.version) }
    }
    if let word = rest.first, !isDashed(word), let name = place.memberSuggested(for: word) {
      throw Fault(message: "there is no subcommand \(quoted(word)); did you mean '\(name)'?")
    }
    guard let command = place.command else {
      guard let word = rest.first else { return .help(place.help) }
      throw strange(word, in: place)
    }
    return try read(rest, command, place)
  } catch {
    return .refusal(
      Refusal(
        message: error.message, option: error.row.map { "\($0.spelling.text)  \($0.sentence)" },
        usage: place.command.map { place.usage(of: $0) } ?? place.usage, help: place.helpCommand))
  }
}

extension CommandTree {
  /// The usage that a mistake in `command`'s options is told with: its own, where another word would have led to it.
  fileprivate func usage(of command: any Command.Type) -> [String] {
    let own = command.about.usage
    return own.isEmpty ? usage : own
  }
}

/// Whether `word` begins with a dash and is more than one.
func isDashed(_ word: String) -> Bool { word.utf8.count > 1 && word.utf8.first == UInt8(ascii: "-") }

/// The help of the command that `words` lead to.
private func helped(_ words: ArraySlice<String>, _ place: inout CommandTree) throws(Fault) -> String {
  for word in words where word != "--help" && word != "-h" {
    guard let member = place.member(named: word) else {
      if isDashed(word) || place.members.isEmpty { throw strange(word, in: place) }
      throw noMember(word, in: place)
    }
    place = member
  }
  return place.help
}

/// A first word in a group that is nothing there.
private func strange(_ word: String, in place: CommandTree) -> Fault {
  if isDashed(word) {
    let names = CommandTree.common.flatMap(\.spelling.names)
    return Fault(message: "unknown option \(quoted(word))" + didYouMean(suggestion(for: word, among: names)))
  }
  return place.members.isEmpty ? Fault(message: "unexpected argument \(quoted(word))") : noMember(word, in: place)
}

private func noMember(_ word: String, in place: CommandTree) -> Fault {
  if let name = place.memberSuggested(for: word) {
    return Fault(message: "there is no subcommand \(quoted(word)); did you mean '\(name)'?")
  }
  let names = place.visibleMembers.map(\.about.name).joined(last: "and")
  return Fault(message: "there is no subcommand \(quoted(word)); there are \(names)")
}

/// The end of a message that has a better name to offer.
func didYouMean(_ name: String?) -> String { name.map { "; did you mean '\($0)'?" } ?? "" }

/// Reads the words behind the command's name.
private func read<C: Command>(
  _ words: ArraySlice<String>, _ type: C.Type, _ place: CommandTree
) throws(Fault) -> Reading {
  var reader = OptionReader<C>()
  if try reader.read(words) { return .help(place.help) }
  do throws(ValueError) { try reader.command.check() } catch { throw Fault(message: error.message) }
  return .run(reader.command)
}
