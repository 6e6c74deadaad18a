import IMCommandLine
import IMDocuments
import IMOutput
import IMPipeline
import IMRun
import IMSystem

/// `imdump streams`: the TCP connections of a capture, or their bytes and their gaps.
struct Streams: Subcommand {
  static var about: About {
    About(
      "streams", "Every TCP connection: who, when, how much, round trips, how it ended.",
      usage: [
        "imdump streams <file> ... [<options>] [<expression> ...]",
        "imdump streams -i <interface> [<options>] [<expression> ...]",
        "imdump streams <file> ... --ranges [<options>] [<expression> ...]",
        "imdump streams <file> ... --write <folder> [<options>] [<expression> ...]",
      ],
      discussion: """
        Retransmissions are TCP's, retries the application's. On a terminal the table has only the columns that fit. --ranges \
        prints the byte ranges of each stream, and TCP events by the rules of Wireshark's TCP analysis. --json alone prints the \
        objects of --ranges; with --sort, --top, --conn, -Y or -i, it prints those of the list.
        """)
  }

  var source = LiveSource()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var options = ConnectionListOptions()
  var showsRanges = false
  var folder: String?

  static var table: [Option<Self>] {
    [
      .value(
        "--sort <column>", \.options.order,
        "Sort by this column: names and times ascending, counts and durations descending."),
      .value(
        "--top <count>", \.options.top, in: 1...1_000_000,
        "Show only the first this many; without --sort, those with the most problems."),
      .list(
        "--conn <number>", \.options.connections,
        "Only the connection with this number, shown after '#' in the output. Repeatable."),
      .value(
        "-Y <filter>", \.options.filter, "Only connections that match this filter; see imdump-filter(7).",
        completing: .words(connectionFieldNames)),
      .flag(
        "--ranges", \.showsRanges,
        "Print byte ranges and gaps of each stream instead; needs memory for all bytes of the capture."),
      .value("--write <folder>", \.folder, "As --ranges, and write each direction's bytes to a file in this folder."),
      .value("--format <format>", \.options.form, "Output format."),
      .flag("--json", \.isJSON, "The same as --format json: JSON objects, one per line."),
      .group(\.source), .group(\.decode), .group(\.speech),
      .list("<file> ...", \.source.source.operands, captureFilesOrFilter),
    ]
  }

  private var isJSON: Bool {
    get { options.form == .json }
    set { options.form = newValue ? .json : .text }
  }

  /// Whether connections are chosen or sorted.
  private var isChosen: Bool {
    options.order != nil || options.top != nil || options.filter != nil || !options.connections.isEmpty
  }

  func perform() throws(UsageError) -> ExitStatus {
    let input = try source.filesOrInterface()
    // Without a choice, the objects of JSON keep the members that they have always had: ranges, and Wireshark's analysis.
    let isWhole = options.form == .json && !isChosen && input.interface == nil
    let collects = showsRanges || folder != nil || isWhole
    let name = folder == nil ? "--ranges" : "--write"
    if options.form == .ecs {
      guard !collects else { throw UsageError(message: "\(name) needs --format text or json") }
      guard !isChosen else {
        throw UsageError(
          message:
            "--format ecs writes the documents of all connections; it cannot be combined with --sort, --top, --conn or -Y"
        )
      }
      return try runDocuments(of: [.connection], input: input, decode: decode, report: speech.report)
    }
    guard collects else {
      return try runConnections(input: input, decode: decode, report: speech.report, options: options)
    }
    guard input.interface == nil else { throw UsageError(message: "\(name) reads files, not an interface") }
    guard options.form != .csv else { throw UsageError(message: "\(name) needs --format text or json") }
    guard !isChosen else {
      throw UsageError(message: "\(name) covers all streams; it cannot be combined with --sort, --top, --conn or -Y")
    }
    return try runStreams(
      input: input, report: speech.report, isJSON: isJSON, folder: folder, memory: decode.memory,
      verifiesChecksums: decode.verifiesChecksums)
  }
}

extension ConnectionOrder: OptionValue {}
extension ConnectionListOptions.Form: OptionValue {}
