import Glibc
import IMCommandLine
import IMEndpoint
import IMWire

/// `impeer chat`.
struct Chat: Command {
  static var about: About {
    About(
      "chat", "Talk to another user of a server.",
      usage: ["impeer chat --name <me> --to <user> [--host <host>] [<options>]"],
      discussion: """
        Each of two people runs it in a terminal of their own, with an `impeer serve` between them. Lines are sent with \
        Enter. A message has no mark while it waits, one tick when the server has it, two when the other has read it. \
        Ctrl-D ends, after what waits has been sent. Without a terminal, lines are read from standard input and events are \
        printed one a line.
        """)
  }

  var connection = ConnectionOptions()
  var client = ClientOptions()
  var name = ""
  var to = ""
  var ledger: String?

  static var table: [Option<Self>] {
    [
      .value("--name <me>", \.name, "Your name, by which others write to you."),
      .value("--to <user>", \.to, "Who you talk to."),
      .group(\.connection),
      .group(\.client),
      .value("--ledger <file>", \.ledger, "Write every connection and every frame to this file, as JSON lines."),
    ]
  }

  func check() throws(ValueError) {
    guard !name.isEmpty, name.utf8.count <= 256 else { throw ValueError("--name is wanted, of at most 256 bytes") }
    guard !to.isEmpty, to.utf8.count <= 256 else { throw ValueError("--to is wanted, of at most 256 bytes") }
  }

  func run() -> Int32 {
    handleSignals()
    do throws(Complaint) {
      let session = try ChatSession(self)
      do throws(TransportError) { try session.run() } catch { throw Complaint(error.description, .system) }
      return 0
    } catch {
      complain(error.message)
      return error.status.rawValue
    }
  }
}
