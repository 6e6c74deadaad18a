/// What help says of a command.
package struct About {
  /// The word that names it.
  package var name: String
  /// One sentence.
  package var abstract: String
  /// Lines of usage; without any, one is made of the table.
  package var usage: [String]
  /// What else there is to say, in lines of at most 80 columns or paragraphs that are wrapped.
  package var discussion: String
  /// What `--version` prints; the root's counts.
  package var version: String
  /// Whether help, completions and suggestions leave it out.
  package var isHidden: Bool

  /// A description of its parts.
  package init(
    _ name: String, _ abstract: String, usage: [String] = [], discussion: String = "", version: String = "",
    isHidden: Bool = false
  ) {
    self.name = name
    self.abstract = abstract
    self.usage = usage
    self.discussion = discussion
    self.version = version
    self.isHidden = isHidden
  }
}

/// Options that belong together, as stored properties and the rows that set them.
///
/// The table is a computed property: it holds closures, and is made only when a command line asks for it.
package protocol OptionGroup {
  /// Every option at its default.
  init()
  /// The rows, in the order in which help shows them.
  static var table: [Option<Self>] { get }
}

/// A word on the command line that names a command or a group of commands.
package protocol CommandNode {
  /// What help says of it.
  static var about: About { get }
  /// The words that may follow it.
  static var members: [Member] { get }
}

extension CommandNode {
  /// No words follow.
  package static var members: [Member] { [] }
}

/// A command: its options, and what it does when they are set.
///
///     struct Streams: Command {
///       static var about: About { About("streams", "TCP streams: ranges and gaps.") }
///       var isJSON = false, files: [String] = []
///       static var table: [Option<Self>] {
///         [
///           .flag("--json", \.isJSON, "Print one JSON object a line."),
///           .list("<file> ...", \.files, "Capture files; - is standard input."),
///         ]
///       }
///       func run() -> Int32 { ... }
///     }
package protocol Command: CommandNode, OptionGroup {
  /// Refuses options that do not go together.
  func check() throws(ValueError)
  /// Does what the options say; gives the exit status.
  func run() -> Int32
}

extension Command {
  /// All options go together.
  package func check() throws(ValueError) {}
}

/// A word that only leads to others: alone, it prints its help.
package protocol CommandGroup: CommandNode {
  /// The command that is meant where the first word is none of the members.
  static var fallback: (any Command.Type)? { get }
}

extension CommandGroup {
  /// A member has to be named.
  package static var fallback: (any Command.Type)? { nil }
}

/// One word of a tree of commands.
package enum Member {
  /// A command.
  case command(any Command.Type)
  /// Words that lead to commands.
  case group(any CommandGroup.Type)

  /// What help says of it.
  var about: About {
    switch self {
    case .command(let type): type.about
    case .group(let type): type.about
    }
  }

  /// The words that may follow.
  var members: [Member] {
    switch self {
    case .command(let type): type.members
    case .group(let type): type.members
    }
  }

  /// The command that is meant without one of these words.
  var command: (any Command.Type)? {
    switch self {
    case .command(let type): type
    case .group(let type): type.fallback
    }
  }
}
