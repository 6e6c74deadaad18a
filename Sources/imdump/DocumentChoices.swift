import IMCommandLine
import IMDocuments
import IMOutput
import IMPipeline

/// What documents hold, and the files that they stand in.
struct DocumentChoices: OptionGroup {
  var documents = DocumentOptions()
  var folder: String?
  /// What is said of files in the folder; `nil` where nothing is.
  var files: LogOptions?

  static var table: [Option<Self>] {
    [
      .value(
        "--message-log <which>", \.documents.messageLog,
        "Which messages get a document of their own: off, errors, sample=1/N or all."),
      .list(
        "--log-field <name>", \.documents.fields,
        "Write this named field, such as mqtt.topic, into message documents. Repeatable.",
        completing: .words(protocolFieldNames)),
      .flag("--log-lean", \.documents.isLean, "Write shorter message documents."),
      .value(
        "--sensor <name>", \.documents.sensor, "The sensor's name in documents; the host name by default."),
      .value(
        "--networks <file>", \.documents.networks,
        "Name clients' networks in documents by this table: prefix,name,AS number,AS organization."),
      .value(
        "--log-dir <folder>", \.folder,
        "Write documents to this folder, one file per dataset, in addition to what --format prints."),
      .custom(
        "--log-size <size>",
        "Start a new --log-dir file before one exceeds this many MB; suffix k, M or G for KiB, MiB or GiB. 100M by default."
      ) { options, word throws(ValueError) in options.limits.byteCount = try fileSize(word) },
      .value(
        "--log-minutes <minutes>", \.limits.minutes, in: 1...525_600,
        "Start new --log-dir files every so many minutes of the clock."),
      .value(
        "--log-files <count>", \.limits.fileCount, in: 1...1_000_000,
        "Keep at most this many --log-dir files of each dataset."),
    ]
  }

  /// `files`, which are there once something is said of them.
  private var limits: LogOptions {
    get { files ?? LogOptions(folder: "") }
    set { files = newValue }
  }

  /// The pipeline's options; `nil` where neither `format` nor a folder wants documents.
  func options(_ format: OutputFormat) throws(UsageError) -> DocumentOptions? {
    guard folder != nil || files == nil else {
      throw UsageError(
        message: "--log-size, --log-minutes and --log-files are about the files of --log-dir, and there is none")
    }
    var options = documents
    if let folder {
      options.log = limits
      options.log?.folder = folder
    }
    return format == .ecs || folder != nil ? options : nil
  }
}

extension MessageLog: OptionValue {
  /// Reads `off`, `errors`, `sample=1/N` or `all`.
  package init?(word: String) { self.init(word) }
  /// `off`, which is the default; the others are nobody's.
  package var word: String? { self == .off ? "off" : nil }
  /// The forms.
  package static var wanted: String { "off, errors, sample=1/N or all" }
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
  throw ValueError("a number of MB is wanted, or one of KiB, MiB or GiB with k, M or G behind it")
}
