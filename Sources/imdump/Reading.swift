import ArgumentParser
import IMOutput
import IMPipeline

/// `imdump stats`: counts, ratios and times of a whole capture.
struct Stats: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Counts of a whole capture, by message type.",
    usage: "imdump stats <file> ... [<options>]")

  @OptionGroup var source: SourceOptions
  @OptionGroup var decoding: DecodingOptions
  @OptionGroup var speech: SpeechOptions

  @Flag(help: "Print one JSON object.")
  var json = false

  @Argument(
    help: ArgumentHelp(
      "Capture files; - is standard input, and so is none where that is no terminal.", valueName: "file"))
  var files: [String] = []

  func run() throws {
    let input = try source.input(files: files)
    try finish { () throws(UsageError) in
      try runStats(input: input, decode: decoding.decode, report: speech.report, isJSON: json)
    }
  }
}

/// `imdump messages`: every message and what became of it.
struct Messages: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "The fate of every message.",
    usage: "imdump messages <file> ... [<options>]")

  @OptionGroup var source: SourceOptions
  @OptionGroup var decoding: DecodingOptions
  @OptionGroup var speech: SpeechOptions

  @OptionGroup var time: TimeOptions

  @Flag(help: "Only messages without an answer, or without an undamaged copy.")
  var lost = false

  @Flag(help: "Only messages with more than one copy.")
  var retried = false

  @Flag(help: "Only messages with a damaged copy.")
  var damaged = false

  @Option(help: ArgumentHelp("Print one line for each session.", valueName: "what"))
  var by: MessageGrouping?

  @Flag(help: "Print one JSON object a line.")
  var json = false

  @Option(
    name: [.customShort("Y", allowingJoined: true)],
    help: ArgumentHelp("Print only messages that pass this filter; see imdump-filter(7).", valueName: "filter"))
  var filter: String?

  @Argument(
    help: ArgumentHelp(
      "Capture files; - is standard input, and so is none where that is no terminal.", valueName: "file"))
  var files: [String] = []

  func run() throws {
    let input = try source.input(files: files)
    var choice = MessageChoice()
    choice.lost = lost
    choice.retried = retried
    choice.damaged = damaged
    if by == .session {
      try finish { () throws(UsageError) in
        try runSessions(
          input: input, decode: decoding.decode, report: speech.report, isJSON: json, time: time.style, choice: choice,
          filter: filter)
      }
      return
    }
    var style = TextStyle()
    style.isColoured = speech.isColoured
    style.time = time.style
    try finish { () throws(UsageError) in
      try runMessages(
        input: input, decode: decoding.decode, report: speech.report, isJSON: json, style: style,
        choice: choice, filter: filter)
    }
  }
}

extension MessageGrouping: ExpressibleByArgument {}
