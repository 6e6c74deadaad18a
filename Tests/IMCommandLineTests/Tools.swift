import IMCommandLine

/// A tree of commands to read command lines with: a root that fetches when no subcommand is named, one command with a member,
/// and a group.
enum Tool: CommandGroup {
  static var about: About {
    About(
      "tool", "Fetch things.", usage: ["tool [<options>] [<word> ...]", "tool <subcommand>"], version: "tool 1.2")
  }
  static var members: [Member] {
    [.command(Fetch.self), .command(Count.self), .group(Lists.self), .command(Paint.self)]
  }
  static var fallback: (any Command.Type)? { Fetch.self }
}

enum Colour: String, CaseIterable, OptionValue { case red, green, blue }

/// Options that two commands share.
struct Common: OptionGroup {
  var files: [String] = []
  var limit: UInt64?
  var verbosity = 0
  var isQuiet = false
  var verifies = true

  static var table: [Option<Self>] {
    [
      .list("-r <file>", \.files, "Read this file."),
      .value("-c <count>", \.limit, "End after so many."),
      .tally("-v", \.verbosity, "Say more."),
      .flag("-q", \.isQuiet, "Say less."),
      .flag("-K, --no-checks", \.verifies, is: false, "Verify nothing."),
    ]
  }
}

struct Fetch: Command {
  static var about: About {
    About("fetch", "Fetch.", usage: ["tool [<options>] [<word> ...]"], isHidden: true)
  }

  var common = Common()
  var colour = Colour.red
  var jobs = 1
  var port: UInt16?
  var ports: [UInt16] = []
  var size = 0
  var folder: String?
  var secret = false
  var words: [String] = []

  static var table: [Option<Self>] {
    [
      .group(\.common),
      .value(
        "--colour <colour>", \.colour, "In which colour, of which there are three, if one counts them one by one."),
      .value("-j, --jobs <count>", \.jobs, in: 1...8, "How many at once."),
      .value("--home-port <port>", \.port, in: 1...65_535, "From where."),
      .list("--port <port>", \.ports, "Where to."),
      .custom("--size <size>", "How much.") { fetch, word throws(ValueError) in
        guard word.utf8.last == UInt8(ascii: "K"), let size = Int(word.dropLast()) else {
          throw ValueError("expected a number with K behind it")
        }
        fetch.size = size << 10
      },
      .value("--folder <folder>", \.folder, "Into this folder."),
      .flag("--secret", \.secret, "Not for everybody.", isHidden: true),
      .list("<word> ...", \.words, "What to fetch."),
    ]
  }

  func run() -> Int32 { 0 }
}

struct Count: Command {
  static var about: About { About("count", "Count.") }
  static var members: [Member] { [.command(Twice.self)] }
  var common = Common()
  var name = ""
  var files: [String] = []
  static var table: [Option<Self>] {
    [
      .value("<name>", \.name, "Under this name."), .group(\.common), .list("<file> ...", \.files, "These files."),
    ]
  }
  func check() throws(ValueError) {
    guard !common.isQuiet || common.verbosity == 0 else { throw ValueError("-q and -v contradict each other") }
  }
  func run() -> Int32 { 0 }

  struct Twice: Command {
    static var about: About { About("twice", "Count twice.") }
    static var table: [Option<Self>] { [] }
    func run() -> Int32 { 2 }
  }
}

enum Lists: CommandGroup {
  static var about: About { About("lists", "Lists of things.") }
  static var members: [Member] { [.command(Show.self)] }

  struct Show: Command {
    static var about: About { About("show", "Show a list.", discussion: "Status 0:\n  it was shown.") }
    static var table: [Option<Self>] { [] }
    func run() -> Int32 { 0 }
  }
}

struct Paint: Command {
  static var about: About { About("paint", "Paint.") }
  var colour = Colour.blue
  static var table: [Option<Self>] { [.value("<colour>", \.colour, "In this colour.")] }
  func run() -> Int32 { 0 }
}

/// What `tool` makes of `words`.
func tool(_ words: [String]) -> Reading { read(words, as: .group(Tool.self)) }

/// The refusal of `words`.
func refusal(_ words: String...) -> Refusal? {
  guard case .refusal(let refusal) = tool(words) else { return nil }
  return refusal
}

/// The command of the type that `words` ask for.
func command<C: Command>(_ type: C.Type = C.self, _ words: String...) -> C? {
  guard case .run(let command) = tool(words) else { return nil }
  return command as? C
}
