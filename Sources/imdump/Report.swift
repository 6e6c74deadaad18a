package import IMCommandLine
import IMMetrics
package import IMPipeline
package import IMReport
import IMRun
import IMSystem

/// `imdump report`: a capture as a page.
struct Report: Subcommand {
  static var about: About {
    About(
      "report", "Write an HTML page: what was lost, where, since when, and who is affected.",
      usage: [
        "imdump report <file> ... -o <page> [<options>] [<expression> ...]",
        "imdump report -i <interface> --listen <address:port> [<options>]",
      ],
      discussion: """
        The page is a single self-contained file. It has a verdict, charts of round trips, rates, losses, heartbeats and connections \
        over time, ladders of the worst connections, and tables. The same captures, options and time zone give the same bytes. With -i, \
        --listen serves the page of the last hour, which refreshes itself; -o writes it when the capture ends.
        """)
  }

  var source = LiveSource()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var path: String?
  var old: String?
  var conditions: [FailCondition] = []
  var page = PageOptions()
  var style = PageStyle()

  static var table: [Option<Self>] {
    [
      .value("-o <page>", \.path, "The page to write; '-' is standard output."),
      .value(
        "--compare <old>", \.old, "Compare the metrics with those of this older capture.", completing: .files
      ),
      .list(
        "--fail-on <condition>", \.conditions,
        "Exit with status 2 if this condition is met, such as loss>1% or, with --compare, rtt_p99>+10%. Repeatable."),
      .group(\.page),
      .value("--percentiles <list>", \.style.percentiles, "The percentiles of round trips to show, one to five."),
      .flag("--json", \.style.embedsData, "Also embed the data of the page as JSON."),
      .flag("--stamp", \.style.isStamped, "Add the creation time (output is then not reproducible)."),
      .group(\.source), .group(\.decode), .group(\.speech),
      .list("<file> ...", \.source.source.operands, captureFilesOrFilter),
    ]
  }

  func check() throws(ValueError) {
    guard path?.isEmpty != true, path != nil || source.input.interface != nil else {
      throw ValueError("name the page to write with -o")
    }
  }

  func perform() throws(UsageError) -> ExitStatus {
    let input = try source.filesOrInterface()
    guard input.interface != nil else {
      guard page == PageOptions() else {
        throw UsageError(message: "--listen and --window need -i")
      }
      return try runReport(
        input: input, decode: decode, report: speech.report, path: path ?? "", old: old, style: style,
        conditions: conditions)
    }
    guard old == nil, conditions.isEmpty else {
      throw UsageError(
        message:
          "--compare and --fail-on work on files only: write one with imdump -i ... -w first")
    }
    return try runLiveReport(
      input: input, decode: decode, report: speech.report, path: path, page: page, style: style)
  }
}

/// The page of a live capture.
extension PageOptions: OptionGroup {
  /// The rows of these options.
  package static var table: [Option<Self>] {
    [
      .value(
        "--listen <address:port>", \.listen,
        "With -i, serve the page of 'imdump report' at this address, such as 127.0.0.1:8080, and the metrics at /metrics."
      ),
      .value("--window <time>", \.window, "Time span covered by the live page, from 1m to 24h; 1h by default."),
    ]
  }
}

extension PagePercentiles: OptionValue {
  /// Reads a list.
  package init?(word: String) { self.init(word) }
  /// The list as it is written.
  package var word: String? { text }
  /// The form.
  package static var expected: String { "one to five percentiles between 0 and 100, such as 50,95,99.9" }
}
