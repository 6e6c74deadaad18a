import Glibc
import IMCommandLine
import IMEndpoint
import IMWire

/// `impeer chat`.
struct Chat: Command {
  static var about: About {
    About(
      "chat", "Talk to another user of a server.",
      usage: [
        "impeer chat --name <me> --to <user> [--host <host>] [<options>]",
        "impeer chat --name <me> --group <name> [--host <host>] [<options>]",
      ],
      discussion: """
        Each of two people runs it in a terminal of their own, with an `impeer serve` between them. Lines are sent with \
        Enter. A message has a dot while it waits, one tick when the server is responsible for it, two when the other's \
        app has it, bright ones when it was read, and a cross with the reason when it will not arrive. Ctrl-D ends, after \
        what waits has been accepted. Without a terminal, lines are read from standard input and events are printed one a \
        line: [accepted], [delivered], [read] or [failed: reason], and the message.

        A line "/send FILE" sends a file, "/group" says who is in the group, and "/leave" leaves it.

        Exit status: 0 when everything was accepted, 1 when something was refused, 69 when there was no server.
        """)
  }

  var connection = ConnectionOptions()
  var client = ClientOptions()
  var name = ""
  var to = ""
  var group: String?
  var state: String?
  var save: String?
  var ledger: String?

  static var table: [Option<Self>] {
    [
      .value("--name <me>", \.name, "Your name, by which others write to you."),
      .value("--to <user>", \.to, "Who you talk to."),
      .value("--group <name>", \.group, "Join this group and talk to it, instead of --to."),
      .value("--save <folder>", \.save, "Keep files that come in this folder."),
      .value("--state <folder>", \.state, "Keep who you are, what waits and what has come in this folder."),
      .group(\.connection),
      .group(\.client),
      .value("--ledger <file>", \.ledger, "Write every connection and every frame to this file, as JSON lines."),
    ]
  }

  func check() throws(ValueError) {
    guard !name.isEmpty, name.utf8.count <= 256 else { throw ValueError("expected --name, of at most 256 bytes") }
    if let group {
      guard !group.isEmpty, group.utf8.count <= 256 else { throw ValueError("expected --group, of at most 256 bytes") }
      guard to.isEmpty else { throw ValueError("--to and --group exclude each other") }
    } else {
      guard !to.isEmpty, to.utf8.count <= 256 else { throw ValueError("expected --to, of at most 256 bytes") }
    }
  }

  func run() -> Int32 {
    handleSignals()
    do throws(Complaint) {
      let session = try ChatSession(self)
      do throws(TransportError) { return try session.run() } catch { throw Complaint(error.description, .system) }
    } catch {
      logError(error.message)
      return error.status.rawValue
    }
  }
}
