import IMCommandLine
import IMPipeline

/// `imdump report`: a capture as a page.
struct Report: Subcommand {
  static var about: About {
    About(
      "report", "Write a page of HTML: what was lost, where, since when, and who is hurt.",
      usage: ["imdump report <file> ... -o <page> [<options>] [<expression> ...]"],
      discussion: """
        The page is one file that loads nothing. It has a verdict, charts of round trips, rates, losses, heartbeats and connections over \
        time, ladders of the worst connections, and tables. Times are UTC. The same captures give the same bytes.
        """)
  }

  var source = SourceOptions()
  var decode = DecodeOptions()
  var speech = SpeechOptions()
  var path = ""
  var old: String?

  static var table: [Option<Self>] {
    [
      .value("-o <page>", \.path, "The page to write; '-' is standard output."),
      .value(
        "--compare <old>", \.old, "Also put the figures of this capture beside those of the others.", completing: .files
      ),
      .group(\.source), .group(\.decode), .group(\.speech),
      .list("<file> ...", \.source.operands, captureFiles),
    ]
  }

  func check() throws(ValueError) {
    guard !path.isEmpty else { throw ValueError("name the page to write with -o") }
  }

  func perform() throws(UsageError) -> ExitStatus {
    try runReport(input: source.files(), decode: decode, report: speech.report, path: path, old: old)
  }
}
