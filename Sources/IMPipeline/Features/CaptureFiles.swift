import IMCapture
import IMDescriptors
import IMEngine
import IMFiles
import IMOutput
import IMRun
import IMSystem
import IMWire

/// The packets of a run in capture files: `-w`. They are written before the engine has them.
final class CaptureFiles: ChosenFeature {
  private let input: InputOptions
  private let path: String
  /// Told where packets stand in the files.
  private let written: WrittenPackets?
  /// What opens further files, where this process may not.
  private let outputBroker: OutputBroker?
  private var output: CaptureOutput?
  /// Says whose connections are, in pcapng.
  private var owners: OwnerComments?
  /// Whether a file of the open source could not be written.
  private var hasFailed = false
  /// The secrets that are written, too.
  private let secrets: KeyLogs?
  private var lastFlush = MonotonicClock.seconds()

  static func outputBrokerOption(_ run: Run, _ choices: RunChoices) -> String? {
    run.input.writePath.map { $0 != "-" } ?? false ? "-w" : nil
  }

  init?(_ place: RunContext) throws(UsageError) {
    guard let path = place.run.input.writePath else { return nil }
    input = place.run.input
    self.path = path
    outputBroker = place.outputBroker
    written = place.written
    secrets = place.run.decode.writesSecrets ? place.run.decode.secrets : nil
    if place.run.decode.writesSecrets {
      guard Self.isPcapng(path) else {
        throw UsageError(message: "--write-secrets: only pcapng can have secrets; name the file of -w .pcapng")
      }
      guard !place.run.input.rotation.isOn else {
        throw UsageError(
          message: "--write-secrets: not together with -C and -G, as each file would need the secrets of those before")
      }
    }
    if Self.isPcapng(path), let owners = place.run.owners { self.owners = OwnerComments(owners) }
  }

  /// Whether a name asks for pcapng.
  private static func isPcapng(_ path: String) -> Bool { path.hasSuffix(".pcapng") || path.hasSuffix(".ntar") }

  func start() throws(CaptureError) {
    let form: CaptureWriter.Form =
      Self.isPcapng(path)
      ? .pcapng(interface: input.interface ?? "", application: "imdump \(imdumpVersion)") : .pcap
    output = try CaptureOutput(path: path, rotation: input.rotation, form: form)
    output?.written = written
  }

  /// What cannot be written is said at once, and a quiet line leaves a capture of no packets.
  func opened(_ source: any PacketSource) throws(CaptureError) {
    hasFailed = false
    guard let output else { return }
    guard let interface = source.interfaces.first, input.interface != nil || !output.needsTime else {
      return try output.prepare()
    }
    try output.open(interface.linkType, at: .wallClock)
  }

  func confine(_ privileges: inout Privileges) {
    guard let output else { return }
    if let user = privileges.user { output.give(to: user) }
    if output.canReopen { privileges.hearsHangup = true }
    if let outputBroker { output.use(outputBroker) }
    if let used = output.outputBroker { privileges.outputBrokers.append(used) } else { outputBroker?.end() }
    if let own = output.ownFolder { privileges.folders.append(own) }
  }

  func confined() throws(CaptureError) { try output?.checkRights() }

  func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int {
    written?.clear()
    guard let output, !hasFailed else { return records.count }
    try writeSecrets(before: records)
    guard let owners else { return try attempt { () throws(CaptureError) in try output.write(records, bytes) } }
    // Made in front of the writing, whose closure may not hold the bytes.
    var comments: [UInt64: String] = [:]
    for i in records.indices { comments[records[i].number] = owners.comment(records[i], bytes) }
    return try attempt { () throws(CaptureError) in
      try output.write(records, bytes) { comments[$0.number] }
    }
  }

  /// Writes the secrets that were read since the last packets.
  private func writeSecrets(before records: Span<PacketRecord>) throws(CaptureError) {
    guard let output, let secrets, records.count > 0 else { return }
    if !output.isOpen {
      try attempt { () throws(CaptureError) in try output.open(records[0].linkType, at: records[0].timestamp) }
    }
    for lines in secrets.takeCopied() {
      try attempt { () throws(CaptureError) in try output.write(secrets: lines) }
    }
  }

  /// The file may have been renamed.
  func hangup(_ driver: Driver) throws(CaptureError) {
    try attempt { () throws(CaptureError) in try output?.reopen() }
  }

  /// Live, what waits is written, and a period ends by the clock.
  func afterBatch(_ driver: Driver) throws(CaptureError) {
    guard let output else { return }
    try attempt { () throws(CaptureError) in
      if input.isUnbuffered { try output.flush() }
      guard input.interface != nil else { return }
      let now = MonotonicClock.seconds()
      if now - lastFlush >= CaptureOutput.flushTime {
        lastFlush = now
        try output.flush()
      }
      if try !output.advance(to: .wallClock) { driver.end() }
    }
  }

  func ended() throws(CaptureError) {
    defer { outputBroker?.end() }
    // A log may have been written after the last packet.
    if let output, !hasFailed { for lines in secrets?.takeCopied() ?? [] { try output.write(secrets: lines) } }
    try output?.close()
  }

  /// A file that cannot be written is forgotten: closing it would try again, and fail again.
  private func attempt<T>(_ body: () throws(CaptureError) -> T) throws(CaptureError) -> T {
    do throws(CaptureError) { return try body() } catch {
      hasFailed = true
      output?.abandon()
      throw error
    }
  }
}
