import IMCommandLine
import IMPipeline
import IMReport
import IMRun
import IMSystem

/// `imdump ladder`: one connection, frame by frame.
struct Ladder: Subcommand {
  static var about: About {
    About(
      "ladder", "Draw a connection as a sequence diagram.",
      usage: ["imdump ladder <file> ... --conn <number> [<options>] [<expression> ...]"],
      discussion: """
        Marks: R1 the first retry, D a copy or an answer after the first answer, ? an answer to a message not in the capture, ! a \
        problem. Times are seconds since the connection began.
        """)
  }

  var source = SourceOptions()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var options = LadderOptions()

  static var table: [Option<Self>] {
    [
      .value(
        "--conn <number>", \.options.connection,
        "The connection with this number, shown after '#' in the output; not needed if there is only one."),
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
