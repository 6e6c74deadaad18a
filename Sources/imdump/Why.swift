import IMCommandLine
import IMMetrics
import IMPipeline
package import IMReport
import IMRun
import IMSystem

/// `imdump why`: the verdict on a capture.
struct Why: Subcommand {
  static var about: About {
    About(
      "why", "What was lost, retried or rejected, since when, and whose fault it is.",
      usage: [
        "imdump why <file> ... [<options>] [<expression> ...]",
        "imdump why -i <interface> [<options>] [<expression> ...]",
      ],
      discussion: """
        Prints a verdict of at most 22 lines at 80 columns: red if messages were lost, amber if retries, rejections, heartbeats, \
        reconnects or failed connections are above their thresholds or not everything could be read, green if all is well, grey if \
        nothing could be decoded. The worst message as a ladder and suggested commands follow. With -i, Ctrl-C ends the capture and \
        prints the verdict.
        """)
  }

  var source = LiveSource()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var options = WhyOptions()

  static var table: [Option<Self>] {
    [
      .flag("--json", \.options.isJSON, "Print the verdict as a JSON object."),
      .value(
        "--thresholds <list>", \.options.thresholds,
        "Thresholds for an amber verdict, such as retries=2%,reconnects=10%; see imdump(1)."),
      .list(
        "--fail-on <condition>", \.options.conditions,
        "Exit with status 2 if this condition is met, such as loss>1%. Repeatable."),
      .group(\.source), .group(\.decode), .group(\.speech),
      .list("<file> ...", \.source.source.operands, captureFilesOrFilter),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    var options = options
    options.isColored = speech.isColoured
    return try runWhy(input: try source.filesOrInterface(), decode: decode, report: speech.report, options: options)
  }
}

extension VerdictThresholds: OptionValue {
  /// Reads a list.
  package init?(word: String) { self.init(word) }
  /// Too long for the help; imdump(1) has the defaults.
  package var word: String? { nil }
  /// The form.
  package static var expected: String {
    "a list of retries, rejections, heartbeats, reconnects and connections, such as retries=2%,heartbeats=0%"
  }
}
