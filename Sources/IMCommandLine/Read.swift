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
      throw Fault(message: "unknown subcommand \(quoted(word)); did you mean '\(name)'?")
    }
    guard place.command != nil || rest.isEmpty else { throw strange(rest[rest.startIndex], in: place) }
  } catch {
    return .refusal(Refusal(error, in: place, usage: place.usage))
  }
  guard let command = place.command else { return .help(place.help) }
  do throws(Fault) {
    return try read(rest, command, place)
  } catch {
    // The usage of the command itself, where another word could have led to it.
    let own = command.about.usage
    return .refusal(Refusal(error, in: place, usage: own.isEmpty ? place.usage : own))
  }
}

extension Refusal {
  fileprivate init(_ fault: Fault, in place: CommandTree, usage: [String]) {
    message = fault.message
    option = fault.row.map { "\($0.spelling.text)  \($0.sentence)" }
    self.usage = usage
    help = place.helpCommand
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

/// A first word that is nothing there: no option that every command has, no member, no operand.
private func strange(_ word: String, in place: CommandTree) -> Fault {
  guard isDashed(word) else {
    return place.members.isEmpty ? Fault(message: "unexpected argument \(quoted(word))") : noMember(word, in: place)
  }
  let names = CommandTree.common.flatMap(\.spelling.names)
  if let name = names.first(where: { word.utf8.starts(with: "\($0)=".utf8) }) {
    return takesNoValue(name, Substring(word).utf8.dropFirst(name.utf8.count + 1))
  }
  return Fault(message: "unknown option \(quoted(word))" + didYouMean(suggestion(for: word, among: names)))
}

/// A value behind the equals sign of an option that has none.
func takesNoValue(_ name: String, _ value: Substring.UTF8View, _ row: Row? = nil) -> Fault {
  Fault(message: "'\(name)' takes no value, but \(quoted(String(Substring(value)))) was given", row: row)
}

private func noMember(_ word: String, in place: CommandTree) -> Fault {
  if let name = place.memberSuggested(for: word) {
    return Fault(message: "unknown subcommand \(quoted(word)); did you mean '\(name)'?")
  }
  let names = place.visibleMembers.map(\.about.name).joined(last: "or")
  return Fault(message: "unknown subcommand \(quoted(word)); expected \(names)")
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
