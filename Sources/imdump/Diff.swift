import IMCommandLine
import IMMetrics
import IMPipeline

/// `imdump diff`: two captures side by side.
struct Diff: Subcommand {
  static var about: About {
    About(
      "diff", "Compare two captures: success, loss, round trips, and what differs by more than chance.",
      usage: ["imdump diff <old> <new> [<options>] [<expression> ...]"],
      discussion: """
        Conditions: NAME, a comparison (> >= < <=) and a limit: of the new value (success<99%, rtt_p95>200ms), or with a sign, \
        of the change (rtt_p99>+10%, loss>+0.5pp). Status 0: none holds. 2: one does.
        """)
  }

  var source = SourceOptions()
  var decode = DecodeOptions()
  var speech = SpeechOptions()
  var conditions: [FailCondition] = []
  var form = FormChoice()
  var old = ""
  var new = ""
  var expression: [String] = []

  static var table: [Option<Self>] {
    [
      .list("--fail-on <condition>", \.conditions, "Exit with status 2 if this holds. Repeatable."),
      .group(\.form), .group(\.source), .group(\.decode), .group(\.speech),
      .value("<old>", \.old, "The capture to compare with.", completing: .files),
      .value("<new>", \.new, "The capture to compare.", completing: .files),
      .list("<expression> ...", \.expression, "A capture filter for both."),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    guard source.input.files.isEmpty else { throw UsageError(message: "name the two captures without -r") }
    return try runDiff(
      old: old, new: new, input: source.filtered(by: expression), decode: decode, report: speech.report,
      conditions: conditions, isJSON: form.isJSON)
  }
}

extension FailCondition: OptionValue {
  /// Reads a condition.
  package init?(word: String) { self.init(word) }
  /// The condition; it is no default of anything.
  package var word: String? { nil }
  /// The form, and the figures.
  package static var wanted: String {
    "a condition such as rtt_p99>+10% or success<99%, of \(ComparedFigure.names.joined(separator: ", ")),"
  }
}
