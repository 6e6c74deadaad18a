@testable import IMCommandLine

/// Command lines: words that NUL ends, as the kernel hands them over.
let commandLineTargets = [Target(name: "words", run: words)]

/// Writes down what is set, in the order in which it is.
private struct Log: Command {
  static var about: About { About("log", "Write down.") }
  static var members: [Member] { [.command(Other.self)] }
  var events: [String] = []
  var operands: [String] = []
  var number: UInt16 = 0
  var count = 0

  static var table: [Option<Self>] {
    [
      .custom("-a, --all", "All.") { log, _ in log.events.append("-a") },
      .custom("-r, --read <file>", "Read.") { log, word in log.events.append("-r" + word) },
      .custom("--no-checks", "Trust.") { log, _ in log.events.append("--no-checks") },
      .tally("-v", \.count, "More."),
      .value("-n, --number <number>", \.number, in: 1...999, "A number."),
      .list("<word> ...", \.operands, "Words."),
    ]
  }
  // The room's own empty ones are not seen from another package.
  func check() throws(ValueError) {}
  func run() -> Int32 { 0 }

  struct Other: Command {
    static var about: About { About("other", "Another.") }
    static var members: [Member] { [] }
    func check() throws(ValueError) {}
    var word = ""
    static var table: [Option<Self>] { [.value("<word>", \.word, "A word.")] }
    func run() -> Int32 { 0 }
  }

  /// Words that say the same, all options before the operands.
  var canonical: [String] {
    let values = events.map { $0 == "-r" ? ["-r", ""] : [$0] }.flatMap(\.self)
    return values + Array(repeating: "-v", count: count) + (number > 0 ? ["--number=\(number)"] : []) + ["--"]
      + operands
  }
}

private enum Root: CommandGroup {
  static var about: About { About("root", "Root.", version: "1") }
  static var members: [Member] { [.command(Log.self), .command(Log.Other.self)] }
  static var fallback: (any Command.Type)? { Log.self }
}

/// Reads the words twice: what they set, written in another way, sets the same. What is refused is told in one line that
/// does nothing to a terminal.
@Sendable private func words(_ input: UnsafeRawBufferPointer) {
  let words = input.split(separator: 0, omittingEmptySubsequences: false).map { String(decoding: $0, as: UTF8.self) }
  switch read(words, as: .group(Root.self)) {
  case .run(let command as Log):
    guard case .run(let again as Log) = read(command.canonical, as: .group(Root.self)) else {
      fail("\(command.canonical) is refused")
    }
    if again.events != command.events || again.operands != command.operands || again.number != command.number
      || again.count != command.count
    {
      fail("\(command.canonical) is something else")
    }
  case .run(let command): if !(command is Log.Other) { fail("\(command)") }
  case .help(let text):
    if text.split(separator: "\n").contains(where: { $0.count > 80 }) { fail("a long line of help") }
  case .version(let text): if text != "1" { fail("version \(text)") }
  case .refusal(let refusal):
    let bad = { (scalar: Unicode.Scalar) in scalar.value < 32 || (0x7f..<0xa0).contains(scalar.value) }
    if refusal.message.unicodeScalars.contains(where: bad) { fail("a control character in \(refusal.message)") }
    if refusal.message.utf8.count > 4_096 { fail("a message of \(refusal.message.utf8.count) bytes") }
  }
}
