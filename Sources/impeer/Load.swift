import IMCommandLine
import IMEndpoint
import IMMetrics
import IMOutput

/// `impeer load`.
struct Load: Command {
  static var about: About {
    About(
      "load", "Send messages from many connections, and report the fate of each.",
      usage: ["impeer load [--host <host>] [--port <port>] [--rate <n>] [<options>]"],
      discussion: """
        A message counts as delivered once the server has accepted it. After --duration nothing new is sent; the command \
        ends when the fate of every message is known, or after --drain.

        With --ring the server has to forward messages. Each client records what it receives, and every message is \
        checked: accepted but never arrived, arrived twice or out of order, or reported as delivered too early.

        Exit status: 0 if every message was delivered, 1 if one was not or both ends differ, 2 if an alert fired.
        """)
  }

  var connection = ConnectionOptions()
  var client = ClientOptions()
  var connections = 1
  var rate = 0.0
  var window = 1_024
  var duration = 10.0
  var drain = 60.0
  var connectLimit: Int64 = 30
  var mix = Mix()
  var size = Size()
  var users = false
  var priority = LoadPriority.normal
  var backlog = ByteCount(0)
  var killRate = 0.0
  var isRing = false
  var report = ReportOptions()
  var ledger: String?
  var isJSON = false
  var isQuiet = false

  static var table: [Option<Self>] {
    [
      .group(\.connection),
      .value("--connections <n>", \.connections, in: 1...100_000, "Clients, each with a session of its own."),
      .value(
        "--rate <n>", \.rate, in: 0...10_000_000, "Messages per second of all clients; 0 is as fast as --window allows."
      ),
      .value("--window <n>", \.window, in: 1...4_096, "Messages in flight on each connection if --rate is 0."),
      .value("--duration <s>", \.duration, in: 0...1_000_000, "Seconds to send for."),
      .value("--drain <s>", \.drain, in: 0...100_000, "Seconds to wait at the end for answers that are still missing."),
      .value("--mix <mix>", \.mix, "Kinds of messages and their shares: text=90,image=5,typing=5."),
      .value("--size <n:n>", \.size, "Minimum and maximum bytes of text in a message; other kinds follow from it."),
      .flag("--users", \.users, "Name the clients load-0, load-1 and so on."),
      .value("--priority <priority>", \.priority, "Priority of the messages: urgent, high, normal or low."),
      .value(
        "--backlog <size>", \.backlog,
        "First have each client queue this many bytes at low priority, in messages of 1 KB."),
      .flag("--ring", \.isRing, "Send from each client to the next, by name, and compare the records of both ends."),
      .value(
        "--kill-rate <n>", \.killRate, in: 0...1_000,
        "Kills per second, of a client's connections; with --ring, every other kill is of its process."),
      .group(\.client),
      .group(\.report),
      .value("--ledger <file>", \.ledger, "Write every connection and every frame to this file, as JSON lines."),
      .flag("--json", \.isJSON, "Print the summary as one JSON object."),
      .flag("-q, --quiet", \.isQuiet, "No progress."),
    ]
  }

  func run() -> Int32 {
    handleSignals()
    do throws(Complaint) {
      let run = try LoadRun(self)
      try run.perform()
      if let problem = run.problem { throw Complaint(problem, .unavailable) }
      let summary = LoadSummary(run)
      say(isJSON ? summary.json + "\n" : summary.text)
      return run.tally.delivered < run.tally.sent || run.hasDifferences ? 1 : run.hasAlerted ? 2 : 0
    } catch {
      logError(error.message)
      return error.status.rawValue
    }
  }
}

/// How much the messages of a load matter.
enum LoadPriority: String, CaseIterable, OptionValue {
  case urgent, high, normal, low

  /// The library's name of it.
  var priority: Priority {
    switch self {
    case .urgent: .urgent
    case .high: .high
    case .normal: .normal
    case .low: .low
    }
  }
}

/// Sizes from and to.
struct Size: OptionValue {
  var range = 100...300

  init() {}

  init?(word: String) {
    let parts = word.split(separator: ":", omittingEmptySubsequences: false).compactMap { Int($0) }
    guard let least = parts.first, let most = parts.last, parts.count <= 2, least >= 0, least <= most, most <= 1 << 20
    else { return nil }
    range = least...most
  }

  var word: String? { "\(range.lowerBound):\(range.upperBound)" }
  static var expected: String { "a number of bytes, or two separated by a colon" }
}
