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
        Two people each run it in their own terminal, with an `impeer serve` between them. Enter sends a line. A message \
        shows a dot while it waits, one tick once the server has accepted it, two once the other app has received it, \
        bright ticks once it has been read, and a cross with the reason if it will not arrive. Ctrl-D quits once all \
        waiting messages have been accepted. Without a terminal, lines are read from standard input and events are printed \
        one per line: [accepted], [delivered], [read] or [failed: reason], and the message.

        A line "/send FILE" sends a file, "/group" lists the members of the group, and "/leave" leaves it.

        Exit status: 0 if everything was accepted, 1 if something was refused, 69 if no server was reached.
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
      .value("--name <me>", \.name, "Your name; others send to it."),
      .value("--to <user>", \.to, "The user to talk to."),
      .value("--group <name>", \.group, "Join this group and talk to it, instead of --to."),
      .value("--save <folder>", \.save, "Save received files in this folder."),
      .value("--state <folder>", \.state, "Keep your identity, waiting messages and received messages in this folder."),
      .group(\.connection),
      .group(\.client),
      .value("--ledger <file>", \.ledger, "Write every connection and every frame to this file, as JSON lines."),
    ]
  }

  func check() throws(ValueError) {
    guard !name.isEmpty, name.utf8.count <= 256 else { throw ValueError("expected --name, of at most 256 bytes") }
    if let group {
      guard !group.isEmpty, group.utf8.count <= 256 else { throw ValueError("expected --group, of at most 256 bytes") }
      guard to.isEmpty else { throw ValueError("give --to or --group, not both") }
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
