import ArgumentParser
import Glibc
import IMOutput
import IMPipeline

/// `imdump -i` and `imdump -r`: every frame, as it is decoded.
struct Capture: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print every decoded frame from an interface or a file.",
    usage: "imdump [-i <interface> | -r <file>] [<options>] [<expression> ...]", shouldDisplay: false)

  @Option(
    name: [.customShort("i", allowingJoined: true)],
    help: ArgumentHelp("Capture on this interface; 'any' is all of them.", valueName: "interface"))
  var interface: String?

  @OptionGroup var source: SourceOptions
  @OptionGroup var decoding: DecodingOptions
  @OptionGroup var speech: SpeechOptions

  @Option(
    name: [.customShort("w", allowingJoined: true)],
    help: ArgumentHelp(
      "Also write the packets to this pcap file; - is standard output, and no lines then.", valueName: "file"))
  var write: String?

  @Option(
    name: [.customShort("s", allowingJoined: true)],
    help: ArgumentHelp("Capture this many bytes of a packet; 0 is all.", valueName: "length"))
  var snapLength: Int?

  @Option(
    name: [.customShort("B", allowingJoined: true)],
    help: ArgumentHelp("The kernel's buffer in KiB.", valueName: "KiB"))
  var buffer: Int?

  @Flag(name: .customShort("p"), help: "Do not put the interface into promiscuous mode.")
  var noPromiscuous = false

  @Flag(help: "Wait for the interface where there is none, also when it disappears.")
  var waitInterface = false

  @Option(
    name: [.customShort("C", allowingJoined: true)],
    help: ArgumentHelp(
      "Begin another -w file when one has more than this many MB; k, M, G: KiB, MiB, GiB.", valueName: "size"))
  var size: FileSize?

  @Option(
    name: [.customShort("G", allowingJoined: true)],
    help: ArgumentHelp(
      "Begin another -w file every so many seconds; its name is a format of strftime.", valueName: "seconds"))
  var seconds: Int64?

  @Option(
    name: [.customShort("W", allowingJoined: true)],
    help: ArgumentHelp("With -C, go round in so many files; with -G alone, end after them.", valueName: "count"))
  var fileCount: Int?

  @Option(
    name: [.customShort("Z", allowingJoined: true)],
    help: ArgumentHelp(
      "Started by root, become this user when all is open; live, tcpdump or nobody by default.", valueName: "user"))
  var user: String?

  @Flag(name: .customShort("D"), help: "List the interfaces and end.")
  var listInterfaces = false

  @Flag(name: .customShort("U"), help: "Write each packet to the -w file at once.")
  var unbuffered = false

  @Flag(name: .customShort("l"), help: "Write each line at once. Live lines always are.")
  var lineBuffered = false

  @Flag(name: .customShort("n"), help: "Numeric addresses; always so.")
  var numeric: Int

  @Flag(name: .customShort("v"), help: "Say more: the TLVs; twice, also packet numbers and stream offsets.")
  var verbose: Int

  @OptionGroup var time: TimeOptions

  @Flag(name: .customShort("A"), help: "With -v, show TLV values as text.")
  var showText = false

  @Flag(name: [.customShort("x"), .customShort("X")], help: "Show bodies in hexadecimal and ASCII.")
  var showHex: Int

  @Option(help: "The form of the output.")
  var format: OutputFormat = .text

  @OptionGroup var documents: LogOptionGroup

  @OptionGroup var alerts: RuleOptions
  @OptionGroup var metrics: MetricsChoices

  @Option(
    name: [.customShort("Y", allowingJoined: true)],
    help: ArgumentHelp("Print only frames that pass this filter; see imdump-filter(7).", valueName: "filter"))
  var filter: String?

  @Argument(help: ArgumentHelp("A capture filter in libpcap's language; see pcap-filter(7).", valueName: "expression"))
  var expression: [String] = []

  func run() throws {
    if listInterfaces { throw ExitCode(listDevices().rawValue) }
    var input = try source.input(files: [], expression: expression)
    if let interface {
      guard input.files.isEmpty else { throw misuse("give -i or -r, not both") }
      input.interface = interface
    } else if input.files.isEmpty, isatty(STDIN_FILENO) != 1 {
      input.files = ["-"]
    } else if input.files.isEmpty {
      guard let interface = defaultInterface() else {
        throw misuse("name an interface with -i (imdump -D lists them) or a file with -r")
      }
      input.interface = interface
      if !speech.quiet { complain("capturing on \(interface); name another interface with -i, or a file with -r") }
    }
    input.writePath = write
    input.snapLength = snapLength
    input.bufferKiB = buffer
    input.isPromiscuous = !noPromiscuous
    input.isUnbuffered = unbuffered
    input.waitsForInterface = waitInterface
    input.confinement.user = user
    input.confinement.isVerbose = verbose > 0
    input.rotation = try rotation()
    var style = TextStyle()
    style.isColoured = speech.isColoured
    style.verbosity = verbose
    style.showsText = showText
    style.showsHex = showHex > 0
    style.time = time.style
    let options = try documents.documents(isWanted: format == .ecs || documents.logDir != nil)
    if format == .ecs {
      guard filter == nil else { throw misuse("-Y filters frames, of which --format ecs has none") }
      guard write != "-" || documents.logDir != nil else {
        throw misuse("-w - and --format ecs both want standard output")
      }
      try finish { () throws(UsageError) in
        try runDocuments(
          input: input, decode: decoding.decode, report: speech.report, documents: options ?? DocumentOptions(),
          alerts: alerts.alerts, metrics: metrics.metrics)
      }
      return
    }
    try finish { () throws(UsageError) in
      try runCapture(
        input: input, decode: decoding.decode, report: speech.report, format: format, style: style, filter: filter,
        documents: options, alerts: alerts.alerts, metrics: metrics.metrics)
    }
  }

  /// What -C, -G and -W say.
  private func rotation() throws -> RotationOptions {
    var rotation = RotationOptions()
    rotation.byteCount = size?.byteCount
    rotation.seconds = seconds
    rotation.fileCount = fileCount
    guard size != nil || seconds != nil || fileCount != nil else { return rotation }
    guard let write, write != "-" else { throw misuse("-C, -G and -W are about the files of -w, and there is none") }
    guard size != nil || seconds != nil else {
      throw misuse("-W counts the files that -C or -G make; give one of them")
    }
    guard (1...1_000_000_000).contains(seconds ?? 1) else {
      throw misuse("-G: \(seconds ?? 0) is no number of seconds")
    }
    guard (1...1_000_000).contains(fileCount ?? 1) else { throw misuse("-W: \(fileCount ?? 0) is no number of files") }
    return rotation
  }
}

/// The value of -C: millions of bytes, or with `k`, `M` or `G` (also in the other case) KiB, MiB or GiB.
struct FileSize: ExpressibleByArgument {
  let byteCount: UInt64

  init?(argument: String) {
    let units: [Character: UInt64] = ["k": 1 << 10, "m": 1 << 20, "g": 1 << 30]
    let unit = argument.last.flatMap { units[Character($0.lowercased())] }
    guard let number = UInt64(unit == nil ? argument : String(argument.dropLast())), number > 0 else { return nil }
    let (product, isTooLarge) = number.multipliedReportingOverflow(by: unit ?? 1_000_000)
    guard !isTooLarge else { return nil }
    byteCount = product
  }
}
