import Glibc
package import IMCommandLine
import IMDescriptors
package import IMEngine
package import IMOutput
import IMPipeline
package import IMRun
import IMSystem
import IMWire

/// Where packets come from.
struct SourceOptions: OptionGroup {
  var input = InputOptions()
  var filterFile: String?
  /// The words that are no options: capture files, and behind them a capture filter.
  var operands: [String] = []

  static var table: [Option<Self>] {
    [
      .list(
        "-r <file>", \.input.files, "Read packets from this file; '-' is standard input. Repeatable."),
      .flag(
        "--in-order", \.input.isInOrder, "Read the files in the order given, instead of merging their packets by time."),
      .value("-c <count>", \.input.packetLimit, "Stop after this many packets."),
      .value("-F <file>", \.filterFile, "Read the capture filter from this file."),
      .flag(
        "--no-sandbox", \.input.sandbox.isSandboxed, is: false,
        "Run without Landlock and the system call filter."),
    ]
  }

  /// The input, with `expression` as its filter, in words.
  func filtered(by expression: [String]) throws(UsageError) -> InputOptions {
    var input = input
    var filter = expression.joined(separator: " ")
    if let filterFile {
      guard filter.isEmpty else { throw UsageError(message: "give the filter with -F or as arguments, not both") }
      filter = try Self.readFilter(filterFile)
    }
    input.captureFilter = filter.isEmpty ? nil : filter
    return input
  }

  /// The input of a command that reads files only: standard input where none is named and it is no terminal.
  func files() throws(UsageError) -> InputOptions {
    // A word that can begin no filter is a file, whether it is there or not; the first one is, unless -r names one.
    let count = operands.prefix { isCaptureFile($0) || !beginsFilter($0) }.count
    let files = input.files.isEmpty ? max(count, min(1, operands.count)) : count
    var input = try filtered(by: Array(operands.dropFirst(files)))
    input.files += operands.prefix(files)
    guard input.files.isEmpty else { return input }
    guard isatty(STDIN_FILENO) != 1 else { throw UsageError(message: "name a capture file; - is standard input") }
    input.files = ["-"]
    return input
  }

  private static func readFilter(_ path: String) throws(UsageError) -> String {
    guard let file = fopen(path, "re") else { throw UsageError(message: "\(path): \(systemText(errno))") }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let n = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<n], as: UTF8.self)
      .split(separator: "\n").map { $0.split(separator: "#", omittingEmptySubsequences: false)[0] }
      .joined(separator: " ")
  }
}

/// What the operands of a command that reads captures are.
let captureFiles =
  "Capture files, then an optional capture filter. '-' is standard input, which is the default when it is not a terminal."

/// The same of a command that captures as well.
let captureFilesOrFilter = captureFiles + " With -i, just a capture filter."

/// Whether a word names a capture file, and is no part of a capture filter: it is there, or is called what captures are called.
func isCaptureFile(_ word: String) -> Bool {
  if word == "-" { return true }
  // No word of a filter has these and is a file as well.
  guard word.utf8.contains(where: { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "/") }) else {
    return isRegularFile(word) && !filterWords.contains(word)
  }
  return isRegularFile(word)
    || [".pcap", ".pcapng", ".cap", ".pcap.gz", ".pcapng.gz", ".dmp"].contains { word.hasSuffix($0) }
}

/// Whether a capture filter may begin with a word: one of its own, an address, a parenthesis or a negation.
private func beginsFilter(_ word: String) -> Bool {
  guard let first = word.utf8.first else { return true }
  return filterWords.contains(String(word.prefix { $0 != "[" })) || (0x30...0x39).contains(first)
    || "([!".utf8.contains(first)
    || word.utf8.contains(UInt8(ascii: ":")) || word.utf8.contains(UInt8(ascii: " "))
}

/// Whether a file stands there that can be read like one: no folder.
private func isRegularFile(_ path: String) -> Bool {
  var info = stat()
  return stat(path, &info) == 0 && info.st_mode & S_IFMT != S_IFDIR
}

/// Words with which a capture filter begins; see pcap-filter(7). A file of such a name is named with -r or as ./NAME.
private let filterWords: Set<String> = [
  "ip", "ip6", "arp", "rarp", "tcp", "udp", "sctp", "icmp", "icmp6", "ether", "wlan", "vlan", "mpls", "pppoed",
  "pppoes", "geneve",
  "host", "net", "port", "portrange", "proto", "src", "dst", "gateway", "broadcast", "multicast", "less", "greater",
  "not", "inbound",
  "outbound", "ifname", "on", "len", "link", "ppp", "atm", "decnet", "iso", "type", "subtype",
]

/// How packets are decoded.
extension DecodeOptions: OptionGroup {
  /// The value of `--mem`.
  static func memory(_ word: String) throws(ValueError) -> Int {
    guard let size = ByteSize.read(word), (1 << 20...1 << 40).contains(size) else {
      throw ValueError("expected a size of 1M or more, such as 512M or 2G")
    }
    return Int(size)
  }

  /// The rows of these options.
  package static var table: [Option<Self>] {
    [
      .list(
        "--profile <name>", \.profiles,
        "Decode this protocol: the name of a built-in profile, a YAML file, or 'auto' for the default set. Repeatable.",
        completing: .wordsAndFiles(builtInProfiles + ["auto"])),
      .list(
        "--port <port>", \.ports, "Expect the protocols on this port, in addition to the profiles' own. Repeatable."),
      .flag("-K, --no-checksum", \.verifiesChecksums, is: false, "Do not verify TCP and IP checksums."),
      .custom(
        "--mem <size>", "Memory limit for connections and their data, such as 512M or 2G; 256M by default."
      ) { options, word throws(ValueError) in options.memory = try memory(word) },
      .custom(
        "--limit <name=value>", "Set another limit, such as stream=4M; see LIMITS in imdump(1)."
      ) { options, word throws(ValueError) in
        do throws(UsageError) {
          let (limit, value) = try Limit.read(word)
          options.limits[limit] = value
        } catch { throw ValueError(error.message) }
      },
      .list(
        "--keylog <file>", \.keyLogs,
        "Decrypt TLS with the secrets of this key log (SSLKEYLOGFILE format); live, it may grow meanwhile. Repeatable.",
        completing: .files),
      .value("--overlap <policy>", \.overlap, "Which copy counts when a retransmission carries different bytes."),
      .value(
        "--hash-key-file <file>", \.hashKeyFile,
        "Hash names that a profile marks as sensitive with this file's bytes as the key, instead of a random key for each run."
      ),
    ]
  }
}

/// How times are shown.
extension TextStyle: OptionGroup {
  /// The rows of these options.
  package static var table: [Option<Self>] {
    [
      .tally(
        "-t", \.time.count,
        "Time format: -t none, -tt seconds since 1970, -ttt since the previous line, -tttt date and time.")
    ]
  }
}

/// What is said beside the output.
struct VerbosityOptions: OptionGroup {
  var report = ReportOptions()
  var color = ColourChoice.auto

  static var table: [Option<Self>] {
    [
      .flag(
        "-q", \.report.isQuiet,
        "Do not print the summary, notes or progress, and print frames only with --print or --format."),
      .value("--progress <when>", \.report.progress, "Show progress on long files."),
      .value("--color <when>", \.color, "When to use colors."),
      .flag("--utc", \.report.isUTC, "Show times in UTC instead of local time, and read times without a zone as UTC."),
    ]
  }

  /// Whether standard output gets colours: never where NO_COLOR is set or the terminal is dumb.
  var isColoured: Bool { isColoured(on: STDOUT_FILENO) }

  /// The same of what is written to `descriptor`.
  func isColoured(on descriptor: Int32) -> Bool {
    switch color {
    case .always: return true
    case .never: return false
    case .auto:
      let terminal = getenv("TERM").map { String(cString: $0) } ?? "dumb"
      return getenv("NO_COLOR") == nil && terminal != "dumb" && isatty(descriptor) == 1
    }
  }

  /// `style`, with colours where there are any, and the local clock.
  func spoken(_ style: TextStyle) -> TextStyle {
    var style = style
    style.isColoured = isColoured
    style.zone = .local
    return style
  }
}

extension ReportOptions {
  /// `showsProgress` in words.
  fileprivate var progress: ProgressChoice {
    get { showsProgress ? .auto : .never }
    set { showsProgress = newValue == .auto }
  }
}

enum ProgressChoice: String, OptionValue, CaseIterable { case auto, never }
enum ColourChoice: String, OptionValue, CaseIterable { case auto, always, never }
extension OverlapPolicy: OptionValue {}
extension OutputFormat: OptionValue {}
