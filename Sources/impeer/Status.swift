import Glibc
import IMCommandLine
import IMEndpoint
import IMOutput

/// `impeer status`.
struct Status: Command {
  static var about: About {
    About(
      "status", "Show the state of a running server.",
      usage: ["impeer status [<port>] [--json]"],
      discussion: """
        The server must run on this host, as the same user; root may query any. The port is the one that it listens on.
        """)
  }

  var port: UInt16 = 8_080
  var isJSON = false

  static var table: [Option<Self>] {
    [
      .value("<port>", \.port, "The server's port."),
      .flag("--json", \.isJSON, "Print one JSON object."),
    ]
  }

  func run() -> Int32 {
    do throws(Complaint) {
      let text = try ask()
      say(isJSON ? Self.json(text) + "\n" : Self.table(text))
      return 0
    } catch {
      logError(error.message)
      return error.status.rawValue
    }
  }

  /// What the server says.
  private func ask() throws(Complaint) -> String {
    let file = StatusAddress.open(waits: true)
    guard file >= 0 else { throw Complaint("cannot open a socket: \(Self.reason)", .system) }
    defer { close(file) }
    var patience = timeval(tv_sec: 5, tv_usec: 0)
    let size = socklen_t(MemoryLayout<timeval>.size)
    for option in [SO_RCVTIMEO, SO_SNDTIMEO] { _ = setsockopt(file, SOL_SOCKET, option, &patience, size) }
    guard StatusAddress.with(port, { connect(file, $0, $1) }) == 0 else {
      throw Complaint("no server on port \(port) of this host: \(Self.reason)", .unavailable)
    }
    // Any program can take the name: what another user's says is not believed.
    guard let user = StatusAddress.user(of: file), user == geteuid() || user == 0 || geteuid() == 0 else {
      throw Complaint("the server on port \(port) belongs to another user", .unavailable)
    }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 4_096)
    while bytes.count < 65_536 {
      let count = read(file, &part, part.count)
      if count < 0, errno == EINTR { continue }
      guard count >= 0 else { throw Complaint("the server does not answer: \(Self.reason)", .unavailable) }
      if count == 0 { break }
      bytes += part.prefix(count)
    }
    guard !bytes.isEmpty else {
      throw Complaint("the server on port \(port) does not answer user \(geteuid())", .unavailable)
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static var reason: String { String(cString: strerror(errno)) }

  /// The figures as one JSON object.
  static func json(_ text: String) -> String {
    let members = StatusAddress.figures(text).map { "\"\($0.name)\":\($0.value)" }
    return "{" + members.joined(separator: ",") + "}"
  }

  /// The figures as lines for a person.
  static func table(_ text: String) -> String {
    let about = Dictionary(ServerSnapshot().figures.map { ($0.name, $0.about) }) { first, _ in first }
    let figures = StatusAddress.figures(text)
    let width = figures.map { "\($0.value)".count }.max() ?? 0
    return figures.map { figure in
      let number = "\(figure.value)"
      let space = String(repeating: " ", count: width - number.count)
      return "\(space)\(number)  \(about[figure.name] ?? figure.name)\n"
    }.joined()
  }
}
