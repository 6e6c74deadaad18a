import ArgumentParser
import IMPipeline

/// The command. Without a subcommand it captures.
@main
struct Imdump: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "imdump",
    abstract: "Capture and decode messages of IM-style TCP protocols, and say what became of each.",
    usage: """
      imdump [-i <interface> | -r <file>] [<options>] [<expression> ...]
      imdump <subcommand> <file> ... [<options>]
      """,
    discussion: """
      Examples:
        imdump -i eth0                       every message on eth0, live
        imdump -r phone.pcap -v              what a phone's capture holds
        imdump messages phone.pcap --lost    the messages that were lost
        imdump stats phone.pcap --json       counts, for scripts
        imdump streams phone.pcap            TCP's side of it: retransmissions, gaps
        imdump -i any tcp port 9000          only what a capture filter lets through
        imdump -i any --format ecs           documents for Elasticsearch
        imdump check phone.pcap --rules im.yml   status 2 when an alert fires

      A first word that is the name of a subcommand is that subcommand; write 'host stats' to filter for a host of \
      that name. The manual: imdump(1).
      """,
    version: "imdump \(imdumpVersion)",
    subcommands: [
      Capture.self, Stats.self, Messages.self, Streams.self, Check.self, Rules.self, Profile.self, Schema.self,
      Completion.self,
    ],
    defaultSubcommand: Capture.self)

  /// Runs the command; the help without a subcommand is `help`, all else is the parser's.
  static func main() {
    keepStandardDescriptors()
    tellCrashes()
    if let refusal = borrowedRights() {
      complain(refusal)
      exit(withError: ExitCode(ExitStatus.noPermission.rawValue))
    }
    switch Array(CommandLine.arguments.dropFirst()) {
    case ["-h"], ["--help"], ["help"]:
      let status = printText(help)
      exit(withError: status == .success ? nil : ExitCode(status.rawValue))
    case let words:
      if deliverAlerts(words) { return }
      main(words)
    }
  }

  /// The parser's help with the options of capturing, which need no subcommand, in the place of its own two.
  private static var help: String {
    let whole = helpMessage(for: Imdump.self)
    let capturing = helpMessage(for: Capture.self)
    guard let options = whole.firstRange(of: "OPTIONS:\n"), let commands = whole.firstRange(of: "SUBCOMMANDS:\n"),
      let arguments = capturing.firstRange(of: "ARGUMENTS:\n")
    else { return whole }
    return whole[..<options.lowerBound] + capturing[arguments.lowerBound...] + "\n" + whole[commands.lowerBound...]
      + "\n"
  }
}
