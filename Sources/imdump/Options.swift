import ArgumentParser
import Glibc
import IMEngine
import IMOutput
import IMPipeline
import IMWire

/// Where packets come from.
struct SourceOptions: ParsableArguments {
  @Option(
    name: [.customShort("r", allowingJoined: true)],
    help: ArgumentHelp(
      "Read packets from this file; - is standard input. May be given several times.", valueName: "file"))
  var read: [String] = []

  @Option(
    name: [.customShort("c", allowingJoined: true)],
    help: ArgumentHelp("End after so many packets.", valueName: "count"))
  var count: UInt64?

  @Option(
    help: ArgumentHelp(
      "Read capture files on a thread of their own (2), or not (1); the output is the same.", valueName: "count"))
  var jobs: Int = 1

  @Option(
    name: [.customShort("F", allowingJoined: true)],
    help: ArgumentHelp("Read the capture filter from this file.", valueName: "file"))
  var filterFile: String?

  @Flag(help: "Do without Landlock and without a filter of system calls.")
  var noSandbox = false

  /// The input that these options and `files` describe. `expression` is a filter in words.
  func input(files: [String], expression: [String]) throws -> InputOptions {
    var input = InputOptions()
    input.files = read + files
    input.packetLimit = count
    input.confinement.isSandboxed = !noSandbox
    guard (1...64).contains(jobs) else { throw misuse("--jobs is a number from 1 to 64") }
    input.jobs = jobs
    var filter = expression.joined(separator: " ")
    if let filterFile {
      guard filter.isEmpty else { throw misuse("give the filter with -F or in words, not both") }
      filter = try Self.readFilter(filterFile)
    }
    input.captureFilter = filter.isEmpty ? nil : filter
    return input
  }

  /// The input of a command that reads files only: standard input where none is named and it is no terminal.
  func input(files: [String]) throws -> InputOptions {
    var input = try input(files: files, expression: [])
    guard input.files.isEmpty else { return input }
    guard isatty(STDIN_FILENO) != 1 else { throw misuse("name a capture file; - is standard input") }
    input.files = ["-"]
    return input
  }

  private static func readFilter(_ path: String) throws -> String {
    guard let file = fopen(path, "re") else {
      throw misuse("\(path): \(systemText(errno))")
    }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let n = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<n], as: UTF8.self)
      .split(separator: "\n").map { $0.split(separator: "#", omittingEmptySubsequences: false)[0] }
      .joined(separator: " ")
  }
}

/// How packets are decoded.
struct DecodingOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Decode this protocol: a built-in profile's name, a YAML file, or auto for the usual ones.", valueName: "name"
    ))
  var profile: [String] = []

  @Option(help: ArgumentHelp("Expect the protocols on this port, beside the profiles' own.", valueName: "port"))
  var port: [UInt16] = []

  @Flag(name: [.customShort("K"), .customLong("no-checksum")], help: "Do not verify TCP and IP checksums.")
  var noChecksum = false

  @Option(
    help: ArgumentHelp(
      "The most memory for connections and what they hold, such as 512M or 2G; 256M by default.", valueName: "size"),
    transform: Self.memory)
  var mem: Int = 256 << 20

  @Option(
    help: ArgumentHelp("Another limit, such as stream=4M; see LIMITS in the manual.", valueName: "name=value"))
  var limit: [String] = []

  @Option(help: ArgumentHelp("Which copy counts when a retransmission has other bytes.", valueName: "policy"))
  var overlap: OverlapPolicy = .first

  @Option(
    help: ArgumentHelp(
      "Hash names that a profile calls sensitive by this file's bytes, not by a key of the run.", valueName: "file"),
    transform: HashKey.init)
  var hashKeyFile: HashKey?

  static func memory(_ text: String) throws -> Int {
    guard let size = ByteSize.read(text), (1 << 20...1 << 40).contains(size) else {
      throw ValidationError("--mem \(text): a size from 1M on is wanted, such as 512M or 2G")
    }
    return Int(size)
  }

  mutating func validate() throws {
    for text in limit {
      do throws(UsageError) { _ = try Limit.read(text) } catch { throw ValidationError(error.message) }
    }
  }

  /// The engine's options.
  var decode: DecodeOptions {
    var options = DecodeOptions()
    options.profiles = profileNames(profile)
    options.ports = port
    options.verifiesChecksums = !noChecksum
    options.overlap = overlap
    options.memory = mem
    if let hashKeyFile { options.identities = hashKeyFile.identities }
    for text in limit {
      if let (limit, value) = try? Limit.read(text) { options.limits[limit] = value }
    }
    return options
  }
}

/// The key of hashes of names: the bytes of a file, read before anything is given up.
struct HashKey {
  let identities: IdentityHash

  init(_ path: String) throws {
    do throws(UsageError) { identities = try readHashKey(path) } catch { throw ValidationError(error.message) }
  }
}

/// How times are shown.
struct TimeOptions: ParsableArguments {
  @Flag(
    name: .customShort("t"),
    help: "Times: -t none, -tt seconds since 1970, -ttt since the last line, -tttt with the date.")
  var count: Int

  /// The writers' option.
  var style: TimeStyle { TimeStyle(count: count) }
}

/// What is said beside the output.
struct SpeechOptions: ParsableArguments {
  @Flag(name: .customShort("q"), help: "No summary, no notes and no progress.")
  var quiet = false

  @Option(help: ArgumentHelp("Show how far a long file is.", valueName: "when"))
  var progress: ProgressChoice = .auto

  @Option(help: ArgumentHelp("Colours.", valueName: "when"))
  var color: ColourChoice = .auto

  /// The pipeline's options.
  var report: ReportOptions {
    var options = ReportOptions()
    options.isQuiet = quiet
    options.showsProgress = progress == .auto
    return options
  }

  /// Whether standard output gets colours: never where NO_COLOR is set or the terminal is dumb.
  var isColoured: Bool {
    switch color {
    case .always: return true
    case .never: return false
    case .auto:
      let terminal = getenv("TERM").map { String(cString: $0) } ?? "dumb"
      return getenv("NO_COLOR") == nil && terminal != "dumb" && isatty(STDOUT_FILENO) == 1
    }
  }
}

enum ProgressChoice: String, ExpressibleByArgument, CaseIterable { case auto, never }
enum ColourChoice: String, ExpressibleByArgument, CaseIterable { case auto, always, never }
extension OverlapPolicy: ExpressibleByArgument {}
extension OutputFormat: ExpressibleByArgument {}
extension MessageLog: ExpressibleByArgument {
  /// Reads the option's value.
  public init?(argument: String) { self.init(argument) }
}

/// Says what is wrong with the command line; gives the status to throw.
func misuse(_ message: String) -> ExitCode {
  complain(message)
  return ExitCode(ExitStatus.usage.rawValue)
}

/// Runs `body`; a usage error is told and gives its status.
func finish(_ body: () throws(UsageError) -> ExitStatus) throws {
  var status = ExitStatus.success
  do throws(UsageError) {
    status = try body()
  } catch {
    complain(error.message, quote: error.quote)
    status = .usage
  }
  if status != .success { throw ExitCode(status.rawValue) }
}
