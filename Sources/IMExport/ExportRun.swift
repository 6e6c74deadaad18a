import IMDescriptors
import IMEngine
import IMFilter
import IMOutput
import IMRedaction
package import IMRun
package import IMSystem
package import IMWire

/// Copies the packets of chosen connections to a capture that decodes to the same messages: `imdump export`.
///
/// The input is read twice: for what is chosen, and for its packets. What was written is read again, and its messages are held
/// against those that were chosen.
package func runExport(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, options: ExportOptions
) throws(UsageError) -> ExitStatus {
  guard !options.isEmpty || options.redacts else {
    throw UsageError(message: "choose what to export with -Y, --lost, --conn, --session, --from or --to")
  }
  if decode.writesSecrets {
    guard !options.redacts else {
      throw UsageError(message: "--write-secrets would reveal what --redact replaces; give one of them")
    }
    guard !options.path.hasSuffix(".pcap"), !options.path.hasSuffix(".cap") else {
      throw UsageError(message: "--write-secrets: only pcapng can have secrets; name the file of -w .pcapng")
    }
  }
  if let once = input.readOnce {
    throw UsageError(message: "the capture is read twice; give a file, not \(once)")
  }
  let run = try Run(input: input, decode: decode, report: report, rewrites: options.redacts)
  let range = try readRange(run, from: options.from, to: options.to, of: options.connections)
  return try Export(run, options, range).perform()
}

/// Where a message's first copy is: what names a message in every reading of the same captures.
package struct MessagePlace: Hashable {
  /// Which capture, from 0, and the packet's number in it.
  let capture: UInt32, number: UInt64
  /// Where in its stream the copy begins, and its direction.
  let streamOffset: UInt64, direction: Direction

  /// The copy that begins at `streamOffset` of a stream, in the packet with this number of the capture with this index.
  package init(capture: UInt32, number: UInt64, streamOffset: UInt64, direction: Direction) {
    (self.capture, self.number, self.streamOffset, self.direction) = (capture, number, streamOffset, direction)
  }
}

/// Copies the packets of messages as `imdump export` does, without a word; gives the lines that it would have said.
package func exportMessages(_ run: Run, _ places: Set<MessagePlace>, to path: String) -> (ExitStatus, [String]) {
  var options = ExportOptions()
  options.path = path
  var lines: [String] = []
  let export = Export(run, options, nil, places: places) { lines.append($0) }
  do throws(UsageError) { return (try export.perform(), lines) } catch { return (.usage, [error.message]) }
}

/// One export.
private final class Export {
  /// The packet that brings a message's first copy.
  private struct Place: Hashable {
    let number: UInt64
    let microseconds: Int64
  }

  /// Comments beyond these are left out.
  private static let maximumComments = 65_536

  private let run: Run
  private let options: ExportOptions
  private let range: TimeRange?
  private let output = Output.standard()
  private var chosen: ChosenMessages
  private var serials: Set<UInt32>
  private var sessions: Set<UInt32> = []
  private var comments: [Place: String] = [:]
  /// All messages, where all are exported and names are replaced; else `chosen` has them.
  private let fingerprint: CaptureFingerprint?
  /// Whether `fingerprint` has them before they are rewritten.
  private var isFingerprinted = false
  /// The messages that are wanted, where they are named one by one.
  private let places: Set<MessagePlace>?
  private let say: (String) -> Void

  /// With `places`, of these messages, and told to `say`.
  init(
    _ run: Run, _ options: ExportOptions, _ range: TimeRange?, places: Set<MessagePlace>? = nil,
    say: @escaping (String) -> Void = { logError($0) }
  ) {
    self.places = places
    self.say = say
    self.run = run
    self.options = options
    self.range = range
    chosen = ChosenMessages(hasNames: !options.redacts)
    fingerprint = options.redacts && options.isEmpty && places == nil ? CaptureFingerprint() : nil
    serials = Set(options.connections)
  }

  func perform() throws(UsageError) -> ExitStatus {
    let file: ExportFile
    do throws(CaptureError) { file = try ExportFile(options.path, inputs: run.input.files) } catch {
      say(error.description)
      return .ioError
    }
    let isAll = !choosesMessages && options.connections.isEmpty
    let sink = ExportSink(
      keepsUndecoded: isAll || !options.connections.isEmpty,
      followsSessions: choosesMessages || !options.connections.isEmpty, findsOpenings: range != nil,
      memory: run.decode.memory)
    var status = try read(sink, commented: file.hasComments)
    // What was not read yet cannot be chosen: half of a choice would look like all of it.
    if run.stopping.stop.isStopped { return status }
    for session in sessions { serials.formUnion(sink.serials(ofSession: session)) }
    if sink.leftOut > 0 {
      say("the memory limit (--mem) is reached: \(count(sink.leftOut, "connection")) left out")
      status = max(status, .failure)
    }
    let selection = ExportSelection(
      sink.takeConnections(),
      wanted: { connection in
        guard isAll || serials.contains(connection.serial) else { return false }
        return range.map { connection.firstSeen <= $0.to && connection.lastSeen >= $0.from } ?? true
      }, range: range)
    let redaction = options.redacts ? ExportRedaction(run, selection) : nil
    let comment = { [unowned self] (record: PacketRecord) in
      comments[Place(number: record.number, microseconds: record.timestamp.microseconds)]
    }
    let copier = PacketCopier(
      run, to: file, selection, redaction, range, comment: comments.isEmpty ? nil : comment)
    do throws(CaptureError) {
      if run.decode.writesSecrets {
        for lines in run.decode.secrets?.takeCopied() ?? [] { try file.write(secrets: lines) }
      }
      try copy(copier, redaction)
      if redaction != nil, run.stopping.stop.isStopped { return .interrupted }
      try copier.end()
      try file.close()
    } catch {
      say(error.description)
      return max(status, ExitStatus(error))
    }
    let total = copier.total
    if let redaction { status = max(status, tell(redaction)) }
    guard file.packetCount > 0 else {
      say("none of \(count(total, "packet")) chosen: \(options.path) has no packets")
      return status
    }
    tell(
      "\(count(UInt64(selection.count), "connection")), \(grouped(file.packetCount)) of \(count(total, "packet"))"
        + (messageCount > 0 ? ", \(count(messageCount, "message")) chosen" : ""))
    if redaction != nil, messageCount == 0 {
      tell("no connection can be rewritten in place: all bytes of connections are replaced")
    }
    if run.decode.secrets?.hasBlocks == true, !run.decode.writesSecrets {
      tell("written without the TLS secrets of the capture\(options.redacts ? "" : "; --write-secrets writes them")")
    }
    guard file.isRegular, messageCount > 0 else { return status }
    status = max(status, try verify())
    return status
  }

  /// Reads for what is chosen, and says how that went. What it was decoded with is gone then: the next engine takes as much memory.
  @inline(never)
  private func read(_ sink: ExportSink, commented: Bool) throws(UsageError) -> ExitStatus {
    let (driver, errors) = try choose(sink, commented: commented)
    isFingerprinted = sink.hasDecrypted && fingerprint != nil && !run.stopping.stop.isStopped
    if isFingerprinted, let fingerprint { readMessages(fingerprint) }
    guard places != nil else { return run.conclude(driver, errors, output, summary: false) }
    for error in errors { say(error.description) }
    return errors.reduce(.success) { max($0, ExitStatus($1)) }
  }

  /// Reads for what the messages are, where the decoder that rewrites them does not decode them all.
  @inline(never)
  private func readMessages(_ fingerprint: CaptureFingerprint) {
    let again = run.again(over: run.input)
    let engine = again.engine(
      CaptureFingerprint.needs, exchangeCapacity: 1 << 18, cost: (0, CaptureFingerprint.costPerMessage, 0),
      sink: fingerprint)
    _ = again.lead(again.driver(engine))
    fingerprint.end()
  }

  /// Copies all packets, after the decoder where they are rewritten.
  private func copy(_ copier: PacketCopier, _ redaction: ExportRedaction?) throws(CaptureError) {
    guard let redaction else { return try copier.copy(upTo: .max) }
    var failure: CaptureError?
    redaction.lead(run, isFingerprinted ? nil : fingerprint) { end in
      do throws(CaptureError) { try copier.copy(upTo: end) } catch { failure = error }
      return failure == nil
    }
    fingerprint?.end()
    if let failure { throw failure }
  }

  /// Messages that the copy has to have.
  private var messageCount: UInt64 { fingerprint?.count ?? chosen.count }

  private var choosesMessages: Bool { options.choosesMessages || places != nil }

  /// Reads for what is chosen.
  private func choose(_ sink: ExportSink, commented: Bool) throws(UsageError) -> (Driver, [CaptureError]) {
    if fingerprint != nil {
      // What the messages are is found out while they are rewritten.
      let driver = run.driver(run.engine(sink.needs, exchangeCapacity: 1 << 18, sink: sink))
      return (driver, run.lead(driver))
    }
    let filter = try run.filter(options.filter)
    let names = Set(options.sessions)
    let needsMessages = options.redacts || choosesMessages || !options.connections.isEmpty || range != nil
    let selection = MessageSelection(options.choice, filter)
    let messages = MessageSink(plans: run.plans, selection: selection, isLive: false) { [unowned self] in
      take($0, $1, names, commented)
    }
    let engine = run.engine(
      sink.needs.union(needsMessages ? MessageSink.needs(hearsDecided: false) : []), exchangeCapacity: 1 << 18,
      cost: (0, MessageStore.costPerMessage, 0), sink: PairSink(sink, messages))
    let driver = run.driver(engine)
    let errors = run.lead(driver)
    messages.end()
    return (driver, errors)
  }

  /// A message that the choice and the filter let through.
  private func take(_ record: MessageRecord, _ exchange: Exchange, _ names: Set<String>, _ commented: Bool) {
    if let places {
      let place = MessagePlace(
        capture: record.capture, number: record.number, streamOffset: record.streamOffset, direction: record.direction)
      guard places.contains(place) else { return }
    }
    if choosesMessages {
      guard names.isEmpty || record.session.map(names.contains) ?? false else { return }
      serials.insert(record.connection.serial)
      sessions.insert(exchange.session)
    } else if !options.connections.isEmpty {
      guard serials.contains(record.connection.serial) else { return }
      sessions.insert(exchange.session)
    }
    if let range, !record.copies.contains(where: { range.contains(Timestamp(microseconds: $0)) }) { return }
    chosen.add(record, exchange)
    guard commented, choosesMessages, comments.count < Self.maximumComments, let first = record.copies.first
    else { return }
    let sequence = record.sequence.map { " seq \($0)" } ?? ""
    let cause = exchange.cause.map { ", cause \($0.name)" } ?? ""
    let number = PacketNumber.base(file: Int(record.capture)) | record.number
    let place = Place(number: number, microseconds: first)
    let text = "imdump: \(record.type)\(sequence): \(exchange.fate.name)\(cause)"
    comments[place] = comments[place].map { $0 + "\n" + text } ?? text
  }

  /// Reads what was written, and looks for the chosen messages in it.
  private func verify() throws(UsageError) -> ExitStatus {
    var again = run.input
    again.files = [options.path]
    again.captureFilter = nil
    again.packetLimit = nil
    let second = run.again(over: again)
    let (driver, missing) = try verifier(second)
    let errors = second.lead(driver)
    for error in errors { say(error.description) }
    let lacking = missing()
    if lacking == 0 {
      tell("decoded again: \(messageCount == 1 ? "the same message" : "the same \(count(messageCount, "message"))")")
    } else {
      say(
        "decoded again: \(grouped(lacking)) of \(count(messageCount, "message")) differ from the whole capture"
          + (range == nil ? "" : ": the packets that decide them are outside --from and --to"))
    }
    // A copy that was only cut in time may differ; one in which names were replaced may not.
    let isSame = lacking == 0 || (range != nil && !options.redacts)
    return errors.isEmpty && isSame ? .success : .failure
  }

  /// A driver that looks for the messages in the copy, and what says afterwards how many were not there.
  private func verifier(_ run: Run) throws(UsageError) -> (Driver, () -> UInt64) {
    if let fingerprint {
      fingerprint.beginOther()
      let engine = run.engine(
        CaptureFingerprint.needs, exchangeCapacity: 1 << 18, cost: (0, CaptureFingerprint.costPerMessage, 0),
        sink: fingerprint)
      return (run.driver(engine), { max(fingerprint.missing, fingerprint.added) })
    }
    let (driver, _) = try run.messages(MessageChoice(), nil) { [unowned self] in chosen.remove($0, $1) }
    return (driver, { [unowned self] in chosen.missing })
  }

  private func tell(_ text: String) {
    if !run.report.isQuiet || places != nil { say(text) }
  }

  /// Says what redaction could not keep.
  private func tell(_ redaction: ExportRedaction) -> ExitStatus {
    if !redaction.leftOut.isEmpty {
      say("the memory limit (--mem) is reached: \(count(UInt64(redaction.leftOut.count), "connection")) left out")
    }
    if redaction.counts.gone > 0 {
      say(
        "\(count(redaction.counts.gone, "frame")) removed: the dummy of a compressed body would have another length")
    }
    if redaction.fragments > 0 { say("\(count(redaction.fragments, "fragment")) of datagrams left out") }
    return redaction.leftOut.isEmpty && redaction.counts.gone == 0 ? .success : .failure
  }
}
