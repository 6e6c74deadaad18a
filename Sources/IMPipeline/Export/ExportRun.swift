import IMCapture
import IMEngine
import IMFilter
import IMOutput
import IMRedaction
import IMWire

/// Copies the packets of chosen connections to a capture that decodes to the same messages: `imdump export`.
///
/// The input is read twice: for what is chosen, and for its packets. What was written is read again, and its messages are held
/// against those that were chosen.
package func runExport(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, options: ExportOptions
) throws(UsageError) -> ExitStatus {
  guard !options.isEmpty || options.redacts else {
    throw UsageError(message: "say what to export: with -Y, --lost, --conn, --session, --from or --to")
  }
  if let once = input.readOnce {
    throw UsageError(message: "the capture is read twice, which \(once) cannot be: name a file")
  }
  let run = try Run(input: input, decode: decode, report: report)
  let range = try readRange(from: options.from, to: options.to)
  return try Export(run, options, range).perform()
}

/// Where a message's first copy is: what names a message in every reading of the same captures.
struct MessagePlace: Hashable {
  /// Which capture, from 0, and the packet's number in it.
  let capture: UInt32, number: UInt64
  /// Where in its stream the copy begins, and its direction.
  let streamOffset: UInt64, direction: Direction
}

/// Copies the packets of messages as `imdump export` does, without a word; gives the lines that it would have said.
func exportMessages(_ run: Run, _ places: Set<MessagePlace>, to path: String) -> (ExitStatus, [String]) {
  var options = ExportOptions()
  options.path = path
  var lines: [String] = []
  let export = Export(run, options, nil, places: places) { lines.append($0) }
  do throws(UsageError) { return (try export.perform(), lines) } catch { return (.usage, [error.message]) }
}

/// Reads the two ends of a range of time; `nil` where neither is given.
func readRange(from: String?, to: String?) throws(UsageError) -> ExportRange? {
  func moment(_ text: String?, _ option: String, _ otherwise: Timestamp) throws(UsageError) -> Timestamp {
    guard let text else { return otherwise }
    guard let time = readMoment(text, zone: .local) else {
      throw UsageError(
        message: "\(option) '\(text)': a time is wanted, such as '2026-11-21 00:11:46' or seconds since 1970")
    }
    return time
  }
  guard from != nil || to != nil else { return nil }
  let range = ExportRange(
    from: try moment(from, "--from", .distantPast), to: try moment(to, "--to", .distantFuture))
  guard range.from <= range.to else { throw UsageError(message: "--from is later than --to") }
  return range
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
  private let range: ExportRange?
  private let output = Output.standard()
  private var chosen: ChosenMessages
  private var serials: Set<UInt32>
  private var sessions: Set<UInt32> = []
  private var comments: [Place: String] = [:]
  private var redaction: ExportRedaction?
  /// The messages that are wanted, where they are named one by one.
  private let places: Set<MessagePlace>?
  private let say: (String) -> Void

  /// With `places`, of these messages, and told to `say`.
  init(
    _ run: Run, _ options: ExportOptions, _ range: ExportRange?, places: Set<MessagePlace>? = nil,
    say: @escaping (String) -> Void = { complain($0) }
  ) {
    self.places = places
    self.say = say
    self.run = run
    self.options = options
    self.range = range
    chosen = ChosenMessages(hasNames: !options.redacts)
    serials = Set(options.connections)
  }

  func perform() throws(UsageError) -> ExitStatus {
    let file: ExportFile
    do throws(CaptureError) { file = try ExportFile(options.path, inputs: run.input.files) } catch {
      say(error.description)
      return .ioError
    }
    let isAll = !choosesMessages && options.connections.isEmpty
    let sink = ExportSink(keepsUndecoded: isAll || !options.connections.isEmpty, memory: run.decode.memory)
    let (driver, errors) = try choose(sink, commented: file.hasComments)
    var status: ExitStatus
    if places == nil {
      status = run.conclude(driver, errors, output, summary: false)
    } else {
      for error in errors { say(error.description) }
      status = errors.reduce(.success) { max($0, ExitStatus($1)) }
    }
    // What was not read yet cannot be chosen: half of a choice would look like all of it.
    if run.stopping.stop.isStopped { return status }
    for session in sessions { serials.formUnion(sink.serials(ofSession: session)) }
    if sink.leftOut > 0 {
      say("a limit (--mem) left \(count(sink.leftOut, "connection")) out")
      status = max(status, .failure)
    }
    var selection = ExportSelection(
      sink.connections,
      wanted: { connection in
        guard isAll || serials.contains(connection.serial) else { return false }
        return range.map { connection.firstSeen <= $0.to && connection.lastSeen >= $0.from } ?? true
      }, range: range)
    if options.redacts {
      redaction = ExportRedaction(run, wanted: selection.wanted)
      if run.stopping.stop.isStopped { return .interrupted }
    }
    var total: UInt64 = 0
    do throws(CaptureError) {
      total = try copyPackets(to: file, &selection)
      try file.close()
    } catch {
      say(error.description)
      return max(status, ExitStatus(error))
    }
    if let redaction { status = max(status, tell(redaction)) }
    guard file.packetCount > 0 else {
      say("nothing of \(count(total, "packet")) is chosen: \(options.path) has no packets")
      return status
    }
    tell(
      "\(count(UInt64(selection.count), "connection")), \(grouped(file.packetCount)) of \(count(total, "packet"))"
        + (chosen.count > 0 ? ", \(count(chosen.count, "message")) chosen" : ""))
    guard file.isRegular, chosen.count > 0 else { return status }
    status = max(status, try verify())
    return status
  }

  private var choosesMessages: Bool { options.choosesMessages || places != nil }

  /// Reads for what is chosen.
  private func choose(_ sink: ExportSink, commented: Bool) throws(UsageError) -> (Driver, [CaptureError]) {
    let filter = try run.filter(options.filter)
    let names = Set(options.sessions)
    let needsMessages = options.redacts || choosesMessages || !options.connections.isEmpty || range != nil
    let selection = MessageSelection(options.choice, filter)
    let messages = MessageSink(plans: run.plans, selection: selection, isLive: false) { [unowned self] in
      take($0, $1, names, commented)
    }
    let engine = run.engine(
      ExportSink.needs.union(needsMessages ? MessageSink.needs(hearsDecided: false) : []), exchangeCapacity: 1 << 18,
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

  /// Copies the packets that `selection` includes. Gives how many there are in all.
  private func copyPackets(
    to file: ExportFile, _ selection: inout ExportSelection
  ) throws(CaptureError) -> UInt64 {
    var total: UInt64 = 0
    var failure: CaptureError?
    var latest: PacketRecord?
    var lastWritten: Timestamp?
    var left = run.input.packetLimit ?? .max
    // What is wrong with the files was told when they were read for what is chosen; what stands in front of it counts.
    let source = run.input.capture(stop: run.stopping.stop)
    while failure == nil, left > 0,
      try source.nextBatch({ bytes, records in
        for i in 0..<Int(min(UInt64(records.count), left)) {
          total += 1
          let isIncluded: Bool
          var new: (record: PacketRecord, bytes: [UInt8])?
          if let redaction {
            new = redaction.rewritten(records[i], bytes, selection)
            isIncluded = new != nil
          } else {
            isIncluded = selection.includes(records[i], bytes)
          }
          if latest.map({ $0.timestamp < records[i].timestamp }) ?? true { latest = records[i] }
          guard isIncluded else { continue }
          lastWritten = max(lastWritten ?? .distantPast, records[i].timestamp)
          do throws(CaptureError) {
            if let new {
              try write(new.record, new.bytes.span.bytes, source, file)
            } else {
              try write(records[i], bytes, source, file)
            }
          } catch {
            failure = error
            return
          }
        }
        left -= min(UInt64(records.count), left)
      })
    {}
    if let failure { throw failure }
    if let error = source.failures.first(where: { $0.code != .damaged && $0.code != .truncated }) { throw error }
    if let latest, let lastWritten { try writeEnd(latest, behind: lastWritten, file) }
    return total
  }

  /// Writes a packet without bytes at the time to which the capture goes, where other connections took it there: an answer that
  /// never came is known by the time that went by.
  private func writeEnd(
    _ latest: PacketRecord, behind lastWritten: Timestamp, _ file: ExportFile
  ) throws(CaptureError) {
    guard latest.timestamp > lastWritten, range.map({ latest.timestamp <= $0.to }) ?? true else { return }
    var record = latest
    record.offset = 0
    record.capturedLength = 0
    record.linkType = file.linkType ?? record.linkType
    let none: [UInt8] = []
    try file.write(
      record, none.span.bytes, interface: nil, comment: "imdump: no packet, but the end of the whole capture",
      counts: false)
  }

  private func write(
    _ record: PacketRecord, _ bytes: RawSpan, _ source: MergedCapture, _ file: ExportFile
  ) throws(CaptureError) {
    let index = Int(record.interface)
    let name = index < source.interfaces.count ? source.interfaces[index].name : nil
    try file.write(
      record, bytes, interface: name,
      comment: comments[Place(number: record.number, microseconds: record.timestamp.microseconds)])
  }

  /// Reads what was written, and looks for the chosen messages in it.
  private func verify() throws(UsageError) -> ExitStatus {
    var again = run.input
    again.files = [options.path]
    again.captureFilter = nil
    again.packetLimit = nil
    let second = run.again(over: again)
    let (driver, _) = try second.messages(MessageChoice(), nil) { [unowned self] in chosen.remove($0, $1) }
    let errors = second.lead(driver)
    for error in errors { say(error.description) }
    if chosen.missing == 0 {
      tell("decoded again: \(chosen.count == 1 ? "the same message" : "the same \(count(chosen.count, "message"))")")
    } else {
      say(
        "decoded again: \(grouped(chosen.missing)) of \(count(chosen.count, "message")) not as in the whole capture"
          + (range == nil ? "" : ": what decides them lies outside of --from and --to"))
    }
    // A copy that was only cut in time may differ; one in which names were replaced may not.
    let isSame = chosen.missing == 0 || (range != nil && !options.redacts)
    return errors.isEmpty && isSame ? .success : .failure
  }

  private func tell(_ text: String) {
    if !run.report.isQuiet || places != nil { say(text) }
  }

  /// Says what redaction could not keep.
  private func tell(_ redaction: ExportRedaction) -> ExitStatus {
    if !redaction.leftOut.isEmpty {
      say("a limit (--mem) left \(count(UInt64(redaction.leftOut.count), "connection")) out")
    }
    if redaction.counts.gone > 0 {
      say(
        "\(count(redaction.counts.gone, "frame")) gone: what stands for a compressed body would have another length")
    }
    if redaction.fragments > 0 { say("\(count(redaction.fragments, "fragment")) of datagrams left out") }
    return redaction.leftOut.isEmpty && redaction.counts.gone == 0 ? .success : .failure
  }
}
