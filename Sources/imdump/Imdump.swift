import ArgumentParser
import IMPipeline

/// The command. Without a subcommand it captures.
@main
struct Imdump: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "imdump",
    abstract: "Capture and decode messages of IM-style TCP protocols, and say what became of each.",
    usage: """
      imdump [-i INTERFACE | -r FILE] [options] [BPF expression ...]
      imdump stats | messages | streams FILE [options]
      """,
    discussion: """
      Examples:
        imdump -i eth0                       every message on eth0, live
        imdump -r phone.pcap -v              what a phone's capture holds
        imdump messages phone.pcap --lost    the messages that were lost, and where
        imdump stats phone.pcap --json       counts, for scripts
        imdump -i any --format ecs           documents for Elasticsearch

      A first word that is the name of a subcommand is that subcommand; write 'host stats' to filter for a host of \
      that name. See imdump(1).
      """,
    version: "imdump \(imdumpVersion)",
    subcommands: [Capture.self, Stats.self, Messages.self, Streams.self, Profile.self],
    defaultSubcommand: Capture.self)
}
