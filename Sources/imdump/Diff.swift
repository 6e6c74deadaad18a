import IMCommandLine
import IMMetrics
import IMPipeline
import IMRun
import IMSystem

/// `imdump diff`: two captures side by side.
struct Diff: Subcommand {
  static var about: About {
    About(
      "diff", "Compare two captures: success, loss, round trips, and which differences are significant.",
      usage: ["imdump diff <old> <new> [<options>] [<expression> ...]"],
      discussion: """
        A condition is a name, a comparison (> >= < <=) and a limit. Without a sign, the limit is for the new value (success<99%, \
        rtt_p95>200ms); with a sign, for the change (rtt_p99>+10%, loss>+0.5pp). Round trips are per direction: rtt_p99[c2s] is of \
        client messages, rtt_p99[s2c] of server messages, rtt_p99 of either. Exit status: 2 if a condition is met, else 0.
        """)
  }

  var source = SourceOptions()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var conditions: [FailCondition] = []
  var form = FormatChoice()
  var operands: [String] = []

  static var table: [Option<Self>] {
    [
      .list("--fail-on <condition>", \.conditions, "Exit with status 2 if this condition is met. Repeatable."),
      .group(\.form), .group(\.source), .group(\.decode), .group(\.speech),
      .list(
        "<old> <new> ...", \.operands,
        "The old capture, the new one, and an optional capture filter for both.",
        completing: .files),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    // With -r or without.
    var source = source
    var files = source.input.files
    source.input.files = []
    let named = operands.prefix(max(0, 2 - files.count))
    files += named
    guard files.count == 2 else {
      throw UsageError(message: "expected two captures: the old one, then the new one")
    }
    return try runDiff(
      old: files[0], new: files[1], input: source.filtered(by: Array(operands.dropFirst(named.count))), decode: decode,
      report: speech.report, conditions: conditions, format: form.format)
  }
}

extension FailCondition: OptionValue {
  /// Reads a condition.
  package init?(word: String) { self.init(word) }
  /// The condition; it is no default of anything.
  package var word: String? { nil }
  /// The form, and the figures.
  package static var expected: String {
    "a condition such as rtt_p99>+10%, rtt_p99[c2s]>200ms or success<99%; the metrics are \(ComparedMetric.names.joined(separator: ", "))"
  }
}
