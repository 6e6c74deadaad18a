package import IMCommandLine
import IMDocuments
import IMOutput
package import IMPipeline
package import IMRun
import IMSystem

/// `imdump stats`: counts, ratios and times of a whole capture.
struct Stats: Subcommand {
  static var about: About {
    About(
      "stats", "Message counts, success, loss and round trips: totals, or over time.",
      usage: [
        "imdump stats <file> ... [<options>] [<expression> ...]",
        "imdump stats -i <interface> [<options>] [<expression> ...]",
      ])
  }

  var source = LiveSource()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var form = FormatChoice()
  var per: PeriodLength?
  var grouping: MessageGrouping?
  var top: Int?
  var filter: String?

  static var table: [Option<Self>] {
    [
      .value(
        "--per, --every <time>", \.per,
        "Print one line per period of this length, such as 10s, 1m or 1h, instead of totals."),
      .value(
        "--by <what>", \.grouping,
        "Print one line per client, server, direction, type, topic, session, owner or status, the worst first."),
      .value("--top <n>", \.top, "With --by, print only the n worst ones."),
      .value(
        "-Y <filter>", \.filter, "Count only messages that match this filter; see imdump-filter(7).",
        completing: .words(messageFieldNames)),
      .group(\.form), .group(\.source), .group(\.decode), .group(\.speech),
      .list("<file> ...", \.source.source.operands, captureFilesOrFilter),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    let input = try source.filesOrInterface()
    if let grouping {
      guard per == nil else { throw UsageError(message: "give --by or --per, not both") }
      try checkGrouping(grouping, input, form, "stats")
      return try runGroups(
        input: input, decode: decode, report: speech.report, isJSON: form.isJSON, time: .timeOfDay,
        grouping: grouping, top: top, choice: MessageChoice(), filter: filter)
    }
    guard top == nil else { throw UsageError(message: "--top takes effect only with --by") }
    if form.format == .ecs {
      guard per == nil, filter == nil else {
        throw UsageError(
          message: "--format ecs writes statistics per minute of all messages; it cannot be combined with --per or -Y")
      }
      return try runDocuments(of: [.summary, .capture], input: input, decode: decode, report: speech.report)
    }
    return try runStats(
      input: input, decode: decode, report: speech.report, isJSON: form.isJSON, per: per,
      filter: filter)
  }
}

/// `imdump messages`: every message and what became of it.
struct Messages: Subcommand {
  static var about: About {
    About(
      "messages", "What happened to every message.",
      usage: [
        "imdump messages <file> ... [<options>] [<expression> ...]",
        "imdump messages -i <interface> [<options>] [<expression> ...]",
      ])
  }

  var source = LiveSource()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var style = TextStyle()
  var choice = MessageChoice()
  var grouping: MessageGrouping?
  var top: Int?
  var form = FormatChoice()
  var filter: String?

  static var table: [Option<Self>] {
    [
      .flag("--lost", \.choice.lost, "Only messages without an answer, or without an undamaged copy."),
      .flag("--rejected", \.choice.rejected, "Only messages that were rejected."),
      .flag("--failed", \.choice.failed, "Only messages that were lost or rejected."),
      .flag("--retried", \.choice.retried, "Only messages that were sent again before their answer."),
      .flag("--damaged", \.choice.damaged, "Only messages with a damaged copy."),
      .group(\.choice.scope),
      .value(
        "--by <what>", \.grouping,
        "Print one line per client, server, direction, type, topic, session, owner or status, the worst first."),
      .value("--top <n>", \.top, "With --by, print only the n worst ones."),
      .value(
        "-Y <filter>", \.filter, "Print only messages that match this filter; see imdump-filter(7).",
        completing: .words(messageFieldNames)),
      .tally("-v", \.style.verbosity, "Show more: named fields and TLVs; -vv also packet numbers and stream offsets."),
      .flag(
        "-A, --text", \.style.showsText, "Show the text of messages, or their bodies; with -v, the values of TLVs."),
      .flag("-x, -X", \.style.showsHex, "Show first copies in hex and ASCII, headers included."),
      .group(\.form), .group(\.source), .group(\.decode), .group(\.speech), .group(\.style),
      .list("<file> ...", \.source.source.operands, captureFilesOrFilter),
    ]
  }

  func perform() throws(UsageError) -> ExitStatus {
    let input = try source.filesOrInterface()
    if let grouping {
      try checkGrouping(grouping, input, form, "messages")
      return try runGroups(
        input: input, decode: decode, report: speech.report, isJSON: form.isJSON, time: style.time,
        grouping: grouping, top: top, choice: choice, filter: filter)
    }
    guard top == nil else { throw UsageError(message: "--top takes effect only with --by") }
    if form.format == .ecs {
      return try runDocuments(
        of: [.message], input: input, decode: decode, report: speech.report, choice: choice, filter: filter)
    }
    return try runMessages(
      input: input, decode: decode, report: speech.report, isJSON: form.isJSON, style: speech.spoken(style),
      choice: choice, filter: filter)
  }
}

extension MessageScope: OptionGroup {
  /// The options that select messages by session, connection and time.
  package static var table: [Option<MessageScope>] {
    [
      .list("--session <name>", \.sessions, "Only messages of this session. Repeatable."),
      .list(
        "--conn <number>", \.connections,
        "Only messages on the connection with this number, which lines show after '#'. Repeatable."),
      .value("--from <time>", \.from, "Only messages sent from this time on."),
      .value("--to <time>", \.to, "Only messages sent up to this time."),
    ]
  }
}

extension MessageGrouping: OptionValue {}

/// Throws where messages cannot be put together so.
private func checkGrouping(
  _ grouping: MessageGrouping, _ input: InputOptions, _ form: FormatChoice, _ command: String
) throws(UsageError) {
  guard input.interface == nil || grouping == .owner else {
    throw UsageError(
      message: "--by \(grouping.rawValue) works on files only: imdump \(command) FILE --by \(grouping.rawValue)")
  }
  guard form.format != .ecs else {
    throw UsageError(message: "--by cannot be combined with --format ecs, which writes one document per message")
  }
}

extension PeriodLength: OptionValue {
  /// The length; it is no default of anything.
  package var word: String? { nil }
  /// The form.
  package static var expected: String { "a time from 1s to 24h, such as 10s, 1m or 1h" }
}
