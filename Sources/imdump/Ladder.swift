import IMCommandLine
import IMPipeline

/// `imdump ladder`: one connection, frame by frame.
struct Ladder: Subcommand {
  static var about: About {
    About(
      "ladder", "Draw a connection: who sent what, what answered it, and what did not come.",
      usage: ["imdump ladder <file> ... --conn <number> [<options>] [<expression> ...]"],
      discussion: """
        Marks: R1 the first copy that was sent again, D a copy or an answer behind the first answer, ? an answer to nothing that was \
        seen, ! a problem. Times are seconds since the connection began.
        """)
  }

  var source = SourceOptions()
  var decode = DecodeOptions()
  var speech = SpeechOptions()
  var options = LadderOptions()

  static var table: [Option<Self>] {
    [
      .value(
        "--conn <number>", \.options.connection,
        "The connection with this number, which lines show after '#'; not needed where there is only one."),
      .value("--format <format>", \.options.format, "Output format."),
      .value(
        "-Y <filter>", \.options.filter, "Only messages that match this filter; see imdump-filter(7).",
        completing: .words(messageFieldNames)),
      .value("--from <time>", \.options.from, "Only frames from this time on."),
      .value("--to <time>", \.options.to, "Only frames up to this time."),
      .value("--rows <count>", \.options.rowLimit, "At most this many rows; 1,000 by default."),
      .flag("--ascii", \.options.isASCII, "Draw with ASCII only, as in a locale without UTF-8."),
      .group(\.source), .group(\.decode), .group(\.speech),
      .list("<file> ...", \.source.operands, captureFiles),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    try runLadder(input: source.files(), decode: decode, report: speech.report, options: options)
  }
}

extension LadderFormat: OptionValue {}
