import IMCommandLine
import IMExport
import IMPipeline
import IMRun
import IMSystem

/// `imdump export`: the packets behind messages, as a capture of their own.
struct Export: Subcommand {
  static var about: About {
    About(
      "export", "Copy the packets of chosen messages and connections to a capture.",
      usage: ["imdump export <file> ... -w <file> [<options>] [<expression> ...]"],
      discussion: """
        Copies all packets of each chosen connection, and of the other connections of its session, from the handshake on, so \
        that the copy decodes to the same messages. imdump decodes the copy again to verify that.
        """)
  }

  var source = SourceOptions()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var options = ExportOptions()

  static var table: [Option<Self>] {
    [
      .value(
        "-w <file>", \.options.path,
        "The capture to write: pcapng, or pcap if the name ends in .pcap; '-' is standard output."),
      .flag(
        "--write-secrets", \.decode.writesSecrets,
        "Write the TLS secrets of --keylog and of the capture to the pcapng file of -w: anyone who has it can read everything."
      ),
      .value(
        "-Y <filter>", \.options.filter, "Messages that match this filter; see imdump-filter(7).",
        completing: .words(messageFieldNames)),
      .flag("--lost", \.options.choice.lost, "Messages without an answer, or without an undamaged copy."),
      .flag("--rejected", \.options.choice.rejected, "Messages that were rejected."),
      .flag("--failed", \.options.choice.failed, "Messages that were lost or rejected."),
      .flag("--retried", \.options.choice.retried, "Messages that were sent again before their answer."),
      .flag("--damaged", \.options.choice.damaged, "Messages with a damaged copy."),
      .list("--session <name>", \.options.sessions, "Messages of this session. Repeatable."),
      .list(
        "--conn <number>", \.options.connections,
        "The connection with this number, shown after '#' in the output. Repeatable."),
      .value("--from <time>", \.options.from, "Only packets from this time on, plus the opening of each connection."),
      .value("--to <time>", \.options.to, "Only packets up to this time, plus the opening of each connection."),
      .flag(
        "--redact", \.options.redacts,
        "Replace names, addresses and message text with dummies of the same length and format."),
      .group(\.source), .group(\.decode), .group(\.speech),
      .list("<file> ...", \.source.operands, captureFiles),
    ]
  }

  func check() throws(ValueError) {
    guard !options.path.isEmpty else { throw ValueError("name the capture to write with -w") }
  }

  func perform() throws(UsageError) -> ExitStatus {
    try runExport(input: source.files(), decode: decode, report: speech.report, options: options)
  }
}
