import ArgumentParser
import IMOutput
import IMPipeline

/// What documents hold, and the files that they stand in.
struct LogOptionGroup: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "In documents, messages with one of their own: off, errors, sample=1/N or all.", valueName: "which"))
  var messageLog: MessageLog = .off

  @Flag(help: "Shorter documents of messages.")
  var logLean = false

  @Option(help: ArgumentHelp("In documents, the sensor's name; the host's by default.", valueName: "name"))
  var sensor: String?

  @Option(
    help: ArgumentHelp(
      "In documents, name the networks of clients by this table: prefix,name,AS number,AS organisation.",
      valueName: "file"))
  var networks: String?

  @Option(
    help: ArgumentHelp(
      "Write documents into this folder, a file for each dataset, beside what --format prints.", valueName: "folder"))
  var logDir: String?

  @Option(
    help: ArgumentHelp(
      "Begin another --log-dir file before one has more than this many MB; k, M, G: KiB, MiB, GiB. 100M by default.",
      valueName: "size"))
  var logSize: FileSize?

  @Option(
    help: ArgumentHelp("Begin other --log-dir files every so many minutes of the clock.", valueName: "minutes"))
  var logMinutes: Int64?

  @Option(help: ArgumentHelp("Keep so many --log-dir files of each dataset of this run.", valueName: "count"))
  var logFiles: Int?

  /// The pipeline's options; nil where no documents are wanted.
  func documents(isWanted: Bool) throws -> DocumentOptions? {
    if logDir == nil, logSize != nil || logMinutes != nil || logFiles != nil {
      throw misuse("--log-size, --log-minutes and --log-files are about the files of --log-dir, and there is none")
    }
    guard (1...525_600).contains(logMinutes ?? 1) else {
      throw misuse("--log-minutes: \(logMinutes ?? 0) is no number of minutes")
    }
    guard (1...1_000_000).contains(logFiles ?? 1) else {
      throw misuse("--log-files: \(logFiles ?? 0) is no number of files")
    }
    guard isWanted else { return nil }
    var options = DocumentOptions()
    options.messageLog = messageLog
    options.isLean = logLean
    options.sensor = sensor
    options.networks = networks
    guard let logDir else { return options }
    var log = LogOptions(folder: logDir)
    if let size = logSize { log.byteCount = size.byteCount }
    log.minutes = logMinutes
    log.fileCount = logFiles
    options.log = log
    return options
  }
}
