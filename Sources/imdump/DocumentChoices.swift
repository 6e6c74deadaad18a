import IMCommandLine
import IMDelivery
import IMDocuments
import IMFiles
import IMOTLP
import IMOutput
import IMPipeline
import IMRun
import IMSystem

/// What documents hold, and the files that they stand in.
struct DocumentChoices: OptionGroup {
  var documents = DocumentOptions()
  var folder: String?
  /// What is said of files in the folder; `nil` where nothing is.
  var files: LogOptions?
  /// What the files hold; `nil` for what `--format` prints, or documents.
  var fileFormat: LogFormat?
  /// What telemetry holds; `nil` where nothing is said of it.
  var telemetry: OTLPOptions?
  /// The signals that were asked for.
  var signals: Set<OTLPSignal>?
  /// Where the files in the folder are shipped.
  var shipping: ShippingOptions?
  /// Where telemetry is sent, the folder of what waits, and a file of headers.
  var receiver: String?, queue: String?, headers: String?

  static var table: [Option<Self>] {
    [
      .value(
        "--message-log <which>", \.documents.messageLog,
        "Which messages get a document or a log record: off, all, or errors, slow=500ms and sample=1/N joined by +; off by default, errors with otlp."
      ),
      .list(
        "--log-field <name>", \.documents.fields,
        "Write this named field, such as mqtt.topic, into message documents. Repeatable.",
        completing: .words(protocolFieldNames)),
      .value(
        "--connection-interval <which>", \.documents.connectionIntervals,
        "Which connections get a document every 60 s while they are open: active (those with new messages or problems), all or off."
      ),
      .flag("--log-lean", \.documents.isLean, "Write shorter message documents."),
      .value(
        "--sensor <name>", \.documents.sensor, "The sensor's name in documents; the host name by default."),
      .value(
        "--networks <file>", \.documents.networks,
        "Name clients' networks in documents from this table: prefix,name,AS number,AS organization."),
      .value(
        "--log-dir <folder>", \.folder,
        "Write documents to this folder, one file per dataset, in addition to what --format prints."),
      .value(
        "--log-format <format>", \.fileFormat,
        "Format of --log-dir files: ecs (documents by dataset) or otlp (OpenTelemetry JSON by signal)."),
      .custom(
        "--otlp-signals <list>",
        "Telemetry to write, separated by commas: metrics, logs, traces. All by default; only metrics with --otlp."
      ) { options, word throws(ValueError) in options.signals = try signalList(word) },
      .value(
        "--otlp-spans <which>", \.otlp.spans,
        "Which exchanges become spans: errors, sample=1/N or all; errors by default."),
      .value(
        "--otlp-temporality <kind>", \.otlp.temporality,
        "Temporality of metric points: delta (since the previous point) or cumulative (since the run began); delta by default."
      ),
      .custom(
        "--log-size <size>",
        "Start a new --log-dir file before one exceeds this many MB; suffix k, M or G for KiB, MiB or GiB. 100M by default."
      ) { options, word throws(ValueError) in options.limits.byteCount = try fileSize(word) },
      .value(
        "--log-minutes <minutes>", \.limits.minutes, in: 1...525_600,
        "Start new --log-dir files every this many minutes, aligned to the clock."),
      .value(
        "--log-files <count>", \.limits.fileCount, in: 1...1_000_000,
        "Keep at most this many --log-dir files of each dataset."),
      .custom(
        "--log-total <size>",
        "Keep all --log-dir files of this run below this many MB in total, suffixes as above. Files that imdump ship has sent are deleted first, then the oldest."
      ) { options, word throws(ValueError) in options.limits.totalByteCount = try fileSize(word) },
      .custom(
        "--ship <url>",
        "With -i, also send the --log-dir files to this engine or receiver while they are written, as imdump ship --follow does."
      ) { options, word in options.shipping = ShippingOptions(address: word) },
      .value(
        "--otlp <url>", \.receiver,
        "With -i, send metrics to this OpenTelemetry receiver, such as http://collector:4318; --otlp-signals sends more."
      ),
      .value(
        "--otlp-queue <folder>", \.queue,
        "Queue telemetry for --otlp in this folder, at most 1 GiB (--log-total); by default, a folder of this user."),
      .value("--otlp-headers <file>", \.headers, "Send the headers in this file with --otlp, one per line."),
    ]
  }

  /// The choices that `--otlp` stands for: files of telemetry in a folder of their own, which are sent and then removed.
  private func queued(for receiver: String, _ format: OutputFormat, _ isLive: Bool) throws(UsageError)
    -> DocumentChoices
  {
    guard isLive else {
      throw UsageError(
        message: "--otlp needs -i; for files, use --log-format otlp and imdump ship")
    }
    guard self.folder == nil, shipping == nil, fileFormat == nil, format != .ecs, format != .otlp else {
      throw UsageError(
        message:
          "--otlp cannot be combined with --format ecs or otlp, --log-dir or --ship")
    }
    guard let folder = queue ?? TelemetryQueue.folder() else {
      throw UsageError(message: "--otlp: no folder for the queue; name one with --otlp-queue")
    }
    var choices = self
    (choices.receiver, choices.queue, choices.headers) = (nil, nil, nil)
    (choices.folder, choices.fileFormat, choices.signals) = (folder, .otlp, signals ?? [.metrics])
    choices.limits.totalByteCount = limits.totalByteCount ?? 1 << 30
    choices.shipping = ShippingOptions(address: "otlp+" + receiver)
    choices.shipping?.headersFile = headers
    choices.shipping?.deletesAfter = 60
    return choices
  }

  private func otlp(_ signals: Set<OTLPSignal>) -> OTLPOptions {
    var options = telemetry ?? OTLPOptions()
    options.signals = signals
    return options
  }

  /// `files`, which are there once something is said of them.
  private var limits: LogOptions {
    get { files ?? LogOptions(folder: "") }
    set { files = newValue }
  }

  /// `telemetry`, which is there once something is said of it.
  private var otlp: OTLPOptions {
    get { telemetry ?? OTLPOptions() }
    set { telemetry = newValue }
  }

  /// The pipeline's options; `nil` where neither `format` nor a folder wants documents.
  func options(_ format: OutputFormat, isLive: Bool) throws(UsageError) -> DocumentOptions? {
    if let receiver { return try queued(for: receiver, format, isLive).options(format, isLive: isLive) }
    guard queue == nil, headers == nil else {
      throw UsageError(message: "--otlp-queue and --otlp-headers need --otlp")
    }
    guard shipping == nil || folder != nil && isLive else {
      throw UsageError(
        message: "--ship needs -i and --log-dir; for existing files, use imdump ship")
    }
    guard folder != nil || files == nil else {
      throw UsageError(
        message:
          "--log-size, --log-minutes, --log-files and --log-total need --log-dir")
    }
    guard folder != nil || fileFormat == nil else {
      throw UsageError(message: "--log-format needs --log-dir")
    }
    guard
      folder == nil || fileFormat == nil || format != .ecs && format != .otlp || fileFormat?.rawValue == format.rawValue
    else {
      throw UsageError(
        message:
          "--format \(format.rawValue) and --log-format \(fileFormat?.rawValue ?? "") are different formats; give one")
    }
    let isOTLP = format == .otlp || fileFormat == .otlp
    guard isOTLP || telemetry == nil && signals == nil else {
      throw UsageError(
        message:
          "--otlp-signals, --otlp-spans and --otlp-temporality need --otlp, --format otlp or --log-format otlp")
    }
    var options = documents
    if isOTLP {
      guard options.fields.isEmpty else {
        throw UsageError(message: "--log-field is for ECS documents: OpenTelemetry records have no named fields")
      }
      options.otlp = otlp(signals ?? Set(OTLPSignal.allCases))
    }
    if let folder {
      guard limits.totalByteCount.map({ $0 >= limits.byteCount }) ?? true else {
        throw UsageError(message: "--log-total must be at least --log-size")
      }
      options.log = limits
      options.log?.folder = folder
      options.ship = shipping
    }
    return format == .ecs || format == .otlp || folder != nil ? options : nil
  }
}

extension MessageLog: OptionValue {
  /// Reads `off`, `all`, or others joined by `+`.
  package init?(word: String) { self.init(word) }
  /// It is no default of anything.
  package var word: String? { nil }
  /// The forms.
  package static var expected: String { "off, all, or errors, slow=500ms and sample=1/N joined by +" }
}

extension LogFormat: OptionValue {}
extension ConnectionIntervals: OptionValue {}
extension OTLPTemporality: OptionValue {}

extension OTLPSpans: OptionValue {
  /// Reads `errors`, `sample=1/N` or `all`.
  package init?(word: String) { self.init(word) }
  /// It is no default of anything.
  package var word: String? { nil }
  /// The forms.
  package static var expected: String { "errors, sample=1/N or all" }
}

/// A list of signals.
private func signalList(_ word: String) throws(ValueError) -> Set<OTLPSignal> {
  var signals: Set<OTLPSignal> = []
  for name in word.split(separator: ",", omittingEmptySubsequences: false) {
    guard let signal = OTLPSignal.allCases.first(where: { $0.name == name }) else {
      throw ValueError("expected a list of metrics, logs and traces")
    }
    signals.insert(signal)
  }
  return signals
}

/// The size of a file: millions of bytes, or with `k`, `M` or `G` (also in the other case) KiB, MiB or GiB.
func fileSize(_ word: String) throws(ValueError) -> UInt64 {
  let unit: (scale: UInt64, letters: Int) =
    switch word.utf8.last.map({ $0 | 0x20 }) {
    case UInt8(ascii: "k"): (1 << 10, 1)
    case UInt8(ascii: "m"): (1 << 20, 1)
    case UInt8(ascii: "g"): (1 << 30, 1)
    default: (1_000_000, 0)
    }
  if let number = UInt64(word.dropLast(unit.letters)), number > 0 {
    let (product, isTooLarge) = number.multipliedReportingOverflow(by: unit.scale)
    if !isTooLarge { return product }
  }
  throw ValueError("expected a number of MB, or a number with suffix k, M or G for KiB, MiB or GiB")
}
