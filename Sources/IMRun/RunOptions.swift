import Glibc
package import IMCapture
package import IMDescriptors
package import IMEngine
package import IMSystem
package import IMWire

/// The form of what is printed.
package enum OutputFormat: String, CaseIterable, Sendable {
  /// Lines to read.
  case text
  /// One JSON object a line.
  case json
  /// One Elastic Common Schema document a line.
  case ecs
  /// OpenTelemetry's logs, metrics and traces, an export request in JSON a line.
  case otlp
}

/// Where packets come from, and how they are read.
package struct InputOptions: Sendable {
  /// Capture files, `-` for standard input; none for a live capture.
  package var files: [String] = []
  /// In which order their packets come.
  package var order = MergeOrder.time
  /// Opens them.
  package var opener = CaptureOpener.system
  /// The interface of a live capture.
  package var interface: String?
  /// A capture filter in libpcap's language.
  package var captureFilter: String?
  /// How much of a file is taken at once.
  package var steps = ReadingSteps()
  /// Packets to process, then end; `nil` for all.
  package var packetLimit: UInt64?
  /// Bytes kept of each packet of a live capture; 0 is as many as can be, `nil` the default.
  package var snapLength: Int?
  /// The kernel's buffer; `nil` is the default.
  package var bufferKiB: Int?
  /// Whether a live capture also takes packets for other hosts.
  package var isPromiscuous = true
  /// Whether a live capture waits for an interface that is not there, or is there no more.
  package var waitsForInterface = false
  /// The capture file that all packets are written to.
  package var writePath: String?
  /// When `writePath` is followed by another file.
  package var rotation = RotationOptions()
  /// Whether each packet is written at once.
  package var isUnbuffered = false
  /// What is given up before the first packet is read.
  package var sandbox = SandboxOptions()

  /// Nothing chosen.
  package init() {}
}

/// How packets are decoded.
package struct DecodeOptions: Sendable {
  /// Names of built-in profiles or paths of YAML files, `auto` for the usual ones; empty for these.
  package var profiles: [String] = []
  /// Ports on which the protocols are expected beside the profiles' own.
  package var ports: [UInt16] = []
  /// Whether IP and TCP checksums are verified.
  package var verifiesChecksums = true
  /// The most bytes that all tables hold together.
  package var memory = EngineOptions(plans: []).memory
  /// Limits that differ from their defaults.
  package var limits: [Limit: Int64] = [:]
  /// What stands for names that are not to be shown: by a key of this run, unless another is given.
  package var identities = IdentityHash.random()
  /// The file whose bytes are that key, read before anything is given up.
  package var hashKeyFile: String?
  /// Which copy of a byte counts.
  package var overlap = OverlapPolicy.first
  /// Key logs whose secrets TLS is read with.
  package var keyLogs: [String] = []
  /// Whether the capture that is written has the secrets, too.
  package var writesSecrets = false
  /// What is read of them, once they are open.
  package var secrets: KeyLogs?

  /// The defaults.
  package init() {}
}

/// What is said beside the output itself.
package struct ReportOptions: Sendable {
  /// No summary and no notes.
  package var isQuiet = false
  /// Progress of long files: on a terminal only.
  package var showsProgress = true
  /// Whether times are shown and read in UTC instead of local time.
  package var isUTC = false

  /// The defaults.
  package init() {}
}

/// When one file of packets is followed by another: tcpdump's `-C`, `-G` and `-W`.
package struct RotationOptions: Equatable, Sendable {
  /// A file with more bytes than these is followed by another; `nil` for no such limit.
  package var byteCount: UInt64?
  /// Seconds of the clock on the wall after which another file begins; `nil` for none.
  package var seconds: Int64?
  /// With `byteCount`, files after which the first is written again; with `seconds` alone, files after which the run ends.
  package var fileCount: Int?

  /// One file.
  package init() {}

  /// Whether there is more than one file.
  package var isOn: Bool { byteCount != nil || seconds != nil }
}

extension InputOptions {
  /// Whether files are read in the order in which they are given.
  package var isInOrder: Bool {
    get { order == .given }
    set { order = newValue ? .given : .time }
  }

  /// What of the input can be read only once, in words; `nil` where all of it are files.
  package var readOnce: String? {
    for file in files {
      if file == "-" { return "standard input" }
      var info = stat()
      let kind = stat(file, &info) == 0 ? info.st_mode & S_IFMT : S_IFREG
      if kind == S_IFIFO || kind == S_IFSOCK || kind == S_IFCHR { return "a pipe" }
    }
    return nil
  }

  /// The files as one source.
  package func capture(stop: ShutdownSignal, secrets: SecretsHandler? = nil) -> MergedCapture {
    MergedCapture(
      paths: files, order: order, filter: captureFilter, stop: stop, steps: steps, opener: opener, secrets: secrets)
  }

  /// How the interface is opened.
  package var live: LiveOptions {
    var options = LiveOptions()
    options.filter = captureFilter
    if let snapLength { options.snapLength = Int32(clamping: snapLength == 0 ? 262_144 : snapLength) }
    if let bufferKiB { options.bufferSize = Int32(clamping: bufferKiB * 1_024) }
    options.isPromiscuous = isPromiscuous
    options.waitsForInterface = waitsForInterface
    return options
  }
}
