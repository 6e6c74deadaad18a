import Glibc
import IMCommandLine
import IMDelivery
import IMIndexing
import IMOutput
import IMPipeline
import IMRun
import IMSystem

/// `imdump -i` and `imdump -r`: every frame, as it is decoded.
struct Capture: Subcommand {
  static var about: About {
    About(
      "capture", "Print every decoded frame from an interface or a file.",
      usage: ["imdump [-i <interface> | <file> ...] [<options>] [<expression> ...]"], isHidden: true)
  }

  var source = LiveSource()
  var decode = DecodeOptions()
  var speech = VerbosityOptions()
  var style = TextStyle()
  var listsInterfaces = false
  var format: OutputFormat?
  var printsLines = false
  var documents = DocumentChoices()
  var alerts = AlertOptions()
  var metrics = MetricsOptions()
  var page = PageOptions()
  var store = StoreChoices()
  var asksVerdict = false
  var asksSummary = false
  var filter: String?
  var expression: [String] = []

  static var table: [Option<Self>] {
    [
      .group(\.source), .group(\.decode), .group(\.speech),
      .value(
        "-w <file>", \.source.input.writePath,
        "Write packets to this file instead of printing lines: pcap, or pcapng if its name ends in .pcapng; '-' is standard "
          + "output."),
      .flag(
        "--write-secrets", \.decode.writesSecrets,
        "Write the TLS secrets of --keylog and of the capture to the pcapng file of -w: anyone who has it can read everything."
      ),
      .custom(
        "-C <size>", "Start a new -w file once one exceeds this many MB; suffix k, M or G for KiB, MiB or GiB."
      ) { options, word throws(ValueError) in options.source.input.rotation.byteCount = try fileSize(word) },
      .value(
        "-G <seconds>", \.source.input.rotation.seconds, in: 1...1_000_000_000,
        "Start a new -w file every so many seconds; the name is a strftime format."),
      .value(
        "-W <count>", \.source.input.rotation.fileCount, in: 1...1_000_000,
        "With -C, rotate among this many files; with -G alone, stop after this many."),
      .flag("-D", \.listsInterfaces, "List the interfaces and exit."),
      .flag("--print", \.printsLines, "Print lines even with -w, --log-dir, --store or -q."),
      .flag("-U", \.source.input.isUnbuffered, "Flush the -w file after every batch of packets."),
      .custom("-l", "Flush after every line, as live output always does.") { _, _ in },
      .custom("-n", "Do not resolve names; imdump never does.") { _, _ in },
      .tally("-v", \.style.verbosity, "Show more: named fields and TLVs; -vv also packet numbers and stream offsets."),
      .group(\.style),
      .flag(
        "-A, --text", \.style.showsText, "Show the text of messages, or their bodies; with -v, the values of TLVs."),
      .flag("-x, -X", \.style.showsHex, "Show frames in hex and ASCII, headers included."),
      .flag("--no-fields", \.leavesFieldsOut, "Leave out named fields, which makes JSON several times faster."),
      .value("--format <format>", \.format, "Output format."),
      .flag("--json", \.isJSON, "The same as --format json: JSON objects, one per line."),
      .flag(
        "--verdict", \.asksVerdict,
        "Print the verdict of 'imdump why' at the end instead of the counts, as on a terminal."),
      .flag(
        "--summary", \.asksSummary,
        "Print the counts of packets, connections and messages at the end, even on a terminal."),
      .group(\.documents), .group(\.alerts),
      .value("--state <file>", \.alerts.state, AlertOptions.stateHelp, completing: .files), .group(\.metrics),
      .group(\.page),
      .value(
        "--store <file>", \.store.path,
        "Write messages to this SQLite database instead of printing lines, as 'imdump index' does; readable at any time."
      ),
      .custom(
        "--store-max <size>",
        "Remove the oldest messages once the --store file has this many MB; suffix k, M or G for KiB, MiB or GiB. 4G by default."
      ) { options, word throws(ValueError) in
        let size = try fileSize(word)
        guard size >= StoreChoices.leastMaximum else { throw ValueError("expected a size of 1M or more") }
        options.store.maximumBytes = size
      },
      .value(
        "-Y <filter>", \.filter,
        "Print frames, and write message documents, only if they match this filter; see imdump-filter(7).",
        completing: .words(frameFieldNames)),
      .list(
        "<expression> ...", \.expression, "A capture filter in libpcap syntax; see pcap-filter(7)."),
    ]
  }

  private var leavesFieldsOut: Bool {
    get { !style.showsFields }
    set { style.showsFields = !newValue }
  }

  private var isJSON: Bool {
    get { format == .json }
    set { format = newValue ? .json : nil }
  }

  func perform() throws(UsageError) -> ExitStatus {
    if listsInterfaces { return listDevices() }
    let input = try input()
    guard !decode.writesSecrets || input.writePath != nil else {
      throw UsageError(message: "--write-secrets needs -w")
    }
    var choices = RunChoices(
      alerts: alerts, documents: try documents.options(format ?? .text, isLive: input.interface != nil),
      metrics: metrics)
    // Who wants files wants no lines, unless it is said.
    choices.printsLines =
      printsLines || format != nil
      || input.writePath == nil && documents.folder == nil && documents.receiver == nil && store.path.isEmpty
        && !speech.report.isQuiet
    guard !store.path.isEmpty || store.maximumBytes == nil else {
      throw UsageError(message: "--store-max needs --store")
    }
    if !store.path.isEmpty {
      choices.store = store
      choices.store?.maximumBytes = store.maximumBytes ?? 4 << 30
      choices.store?.keepsPackets = true
    }
    if page != PageOptions() {
      guard page.listen != nil else {
        throw UsageError(message: "--window needs --listen")
      }
      choices.page = page
    }
    choices.verdict = try verdict(input, choices)
    choices.documents?.filter = filter
    if filter != nil, input.writePath != nil, !speech.report.isQuiet {
      logError("-w writes every packet, even with -Y; imdump export writes only those of matching messages")
    }
    let format = format ?? .text
    guard format == .ecs || format == .otlp else {
      return try runCapture(
        input: input, decode: decode, report: speech.report, format: format, style: speech.spoken(style),
        filter: filter, choices: choices)
    }
    guard input.writePath != "-" || documents.folder != nil else {
      throw UsageError(message: "-w - and --format \(format.rawValue) both write to standard output")
    }
    return try runDocuments(input: input, decode: decode, report: speech.report, choices: choices)
  }

  /// How a verdict is printed at the end: where it is asked for, and on a terminal after the frames of a file; `nil` for the counts.
  private func verdict(_ input: InputOptions, _ choices: RunChoices) throws(UsageError) -> WhyOptions? {
    guard !asksVerdict || !asksSummary else { throw UsageError(message: "give --verdict or --summary, not both") }
    let isUsual =
      isatty(STDERR_FILENO) == 1 && input.interface == nil && choices.printsLines && (format ?? .text) == .text
    guard !speech.report.isQuiet, asksVerdict || isUsual && !asksSummary else { return nil }
    var options = WhyOptions()
    options.isColored = speech.isColoured(on: STDERR_FILENO)
    return options
  }

  /// What is read: files, standard input, or the first interface that is up.
  private func input() throws(UsageError) -> InputOptions {
    // A capture may be named without -r.
    var (source, expression) = (source, expression)
    if source.input.interface == nil, source.input.files.isEmpty {
      source.input.files = Array(expression.prefix(while: isCaptureFile))
      expression.removeFirst(source.input.files.count)
    }
    var input = try source.source.filtered(by: expression)
    if input.interface != nil {
      guard input.files.isEmpty else { throw UsageError(message: "give -i or -r, not both") }
    } else if input.files.isEmpty, isatty(STDIN_FILENO) != 1 {
      input.files = ["-"]
    } else if input.files.isEmpty {
      guard let interface = defaultInterface() else {
        throw UsageError(message: "name an interface with -i (imdump -D lists them) or a file with -r")
      }
      input.interface = interface
      if !speech.report.isQuiet {
        logError("capturing on \(interface); name another interface with -i, or a file with -r")
      }
    }
    input.sandbox.isVerbose = style.verbosity > 0
    try check(input.rotation, of: input.writePath)
    return input
  }

  /// Refuses -C, -G and -W where there is nothing that they could be about.
  private func check(_ rotation: RotationOptions, of path: String?) throws(UsageError) {
    guard rotation != RotationOptions() else { return }
    guard let path, path != "-" else {
      throw UsageError(message: "-C, -G and -W need -w")
    }
    guard rotation.byteCount != nil || rotation.seconds != nil else {
      throw UsageError(message: "-W needs -C or -G")
    }
  }
}
