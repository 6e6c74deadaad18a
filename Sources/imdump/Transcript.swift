import IMCommandLine
import IMOutput
import IMPipeline
import IMRun
import IMSystem

/// `imdump transcript`: what was said.
struct Transcript: Subcommand {
  static var about: About {
    About(
      "transcript", "The conversation: time, sender, recipient or topic, text and fate of each message.",
      usage: [
        "imdump transcript <file> ... [<options>] [<expression> ...]",
        "imdump transcript -i <interface> [<options>] [<expression> ...]",
      ],
      discussion: "The output contains what users wrote, except what a profile hides.")
  }

  var source = LiveSource()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var style = TextStyle()
  var options = TranscriptOptions()

  static var table: [Option<Self>] {
    [
      .list(
        "--topic <topic>", \.options.topics,
        "Messages to this topic or receiver; + is one level of a topic, # all that follow. Repeatable."),
      .value(
        "-Y <filter>", \.options.filter, "Only messages that match this filter; see imdump-filter(7).",
        completing: .words(messageFieldNames)),
      .group(\.options.scope), .group(\.source), .group(\.decode), .group(\.speech), .group(\.style),
      .list("<file> ...", \.source.source.operands, captureFilesOrFilter),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    try runTranscript(
      input: source.filesOrInterface(), decode: decode, report: speech.report, style: speech.spoken(style),
      options: options)
  }
}
