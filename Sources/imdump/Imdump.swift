import Glibc
import IMCommandLine
import IMDelivery
import IMPipeline
import IMSystem

/// The command. Without a subcommand it captures.
@main
enum Imdump: CommandGroup {
  static var about: About {
    About(
      "imdump", "Capture and decode messages of IM-style TCP protocols, and report what happened to each.",
      usage: [
        "imdump [-i <interface> | <file> ...] [<options>] [<expression> ...]",
        "imdump <subcommand> <file> ... [<options>]",
      ],
      discussion: """
        Examples:
          imdump -i eth0                       every message on eth0, live
          imdump phone.pcap -v                 the messages in a phone's capture
          imdump why phone.pcap                what was lost, and whose fault it is
          imdump messages phone.pcap --lost    the messages that were lost
          imdump transcript phone.pcap         what was said, and what became of it
          imdump stats phone.pcap --json       counts, for scripts
          imdump browse phone.pcap             sessions and messages on the terminal
          imdump report phone.pcap -o p.html   a page to share
          imdump streams phone.pcap            the TCP streams: retransmissions, gaps
          imdump -i any tcp port 9000          only packets that match a capture filter
          imdump -i any --format ecs           documents for Elasticsearch
          imdump check phone.pcap --rules im.yml   status 2 when an alert fires

        If the first word is the name of a subcommand, it is taken as that; write 'host stats' to filter for a host of \
        that name. Manual: imdump(1).
        """,
      version: "imdump \(imdumpVersion)")
  }

  static var members: [Member] {
    [
      .command(Capture.self), .command(Why.self), .command(Stats.self), .command(Messages.self),
      .command(Transcript.self), .command(Streams.self),
      .command(Browse.self), .command(Ladder.self), .command(Report.self), .command(Export.self), .command(Diff.self),
      .command(Index.self), .command(Query.self), .command(Check.self),
      .group(Rules.self), .group(Profile.self),
      .command(Fields.self), .command(Schema.self), .command(Ship.self), .command(Doctor.self),
      .command(Completion.self),
    ]
  }

  static var fallback: (any Command.Type)? { Capture.self }

  /// Reads the command line and does what it asks for.
  static func main() {
    keepStandardDescriptors()
    tellCrashes()
    if let refusal = borrowedRights() {
      logError(refusal)
      exit(ExitStatus.noPermission.rawValue)
    }
    let words = Array(CommandLine.arguments.dropFirst())
    if deliverAlerts(words) { return }
    if let status = shipLogs(words) { exit(status.rawValue) }
    switch read(words, as: .group(Imdump.self)) {
    case .run(let command): exit(command.run())
    case .help(let text): exit(printText(text).rawValue)
    case .version(let text): exit(printText(text + "\n").rawValue)
    case .refusal(let refusal):
      let lines = refusal.text.split(separator: "\n").map(String.init)
      logError(lines.first ?? "", quote: Array(lines.dropFirst()))
      exit(ExitStatus.usage.rawValue)
    }
  }
}

/// A command whose mistakes are told in one line.
protocol Subcommand: Command {
  /// Does what the options say.
  func perform() throws(UsageError) -> ExitStatus
}

extension Subcommand {
  func run() -> Int32 {
    do throws(UsageError) {
      return try perform().rawValue
    } catch {
      logError(error.message, quote: error.quote)
      return ExitStatus.usage.rawValue
    }
  }
}
