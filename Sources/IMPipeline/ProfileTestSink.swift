import IMCapture
import IMDescriptors
import IMEngine
import IMInference
import IMOutput
import IMRun
import IMSystem
import IMWire

/// Collects what in a capture speaks against a profile, with the bytes concerned: `imdump profile test`.
final class ProfileTestSink: EngineSink {
  /// The issues that speak against a profile, or against the capture.
  static let kinds: [IssueKind] = [
    .unknownType, .unsupportedVersion, .malformedBody, .incompleteTag, .incompleteLength, .incompleteValue, .tlvLimit,
    .nestedTooDeep, .duplicateTag, .checksumMismatch, .compressLabelOnly, .orphanAck,
  ]
  /// Those that are told besides: bytes that are no frame.
  private static let others: [IssueKind] = [.resynchronised, .frameCut]
  /// Problems that are told without `walks`, and with it.
  private static var fewProblems: Int { 20 }
  private static var mostProblems: Int { 10_000 }
  /// Bytes of a frame that are kept.
  private static var longestCopy: Int { 4_096 }

  /// One problem.
  private struct Problem {
    var issue: Issue
    var connection: ConnectionInfo
    /// The packet with the last byte; 0 where it is not known.
    var packet: UInt64 = 0
    var bytes: [UInt8] = []
    /// Those of them that are not to be shown.
    var hidden: [Range<Int>] = []
    var trace: FrameTrace?
    var type = ""
  }

  /// The last frame that something may be said of: its issues come behind it.
  private struct Remembered {
    var connection: UInt32
    var direction: Direction
    var frame: Frame
    var bytes: [UInt8]
    var hidden: [Range<Int>]
    var trace: FrameTrace
  }

  private let plan: ProtocolPlan
  private let walks: Bool
  private var book = FieldReaderCache()
  private var problems: [Problem] = []
  private var count = 0
  private var last: Remembered?
  /// The first frame of each type, by index.
  private var firsts:
    [Int: (info: ConnectionInfo, direction: Direction, packet: UInt64, offset: UInt64, trace: FrameTrace)] =
      [:]

  /// The beginnings of streams, where nothing was decoded.
  private var beginnings: [(text: String, bytes: [UInt8], trace: FrameTrace)] = []
  private var frames = 0
  /// The number of acknowledgments.
  private(set) var acknowledgments: UInt64 = 0
  /// The number of frames that expect an acknowledgment, by type.
  private(set) var expecting: [UInt64]
  /// The number of acknowledgments by type, and of those without a number although their type does not answer in order.
  private(set) var answers: [(all: UInt64, numberless: UInt64)]

  init(plan: ProtocolPlan, walks: Bool) {
    self.plan = plan
    self.walks = walks
    expecting = [UInt64](repeating: 0, count: plan.typeNames.count)
    answers = [(UInt64, UInt64)](repeating: (0, 0), count: plan.typeNames.count)
  }

  private var limit: Int { walks ? Self.mostProblems : Self.fewProblems }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    frames += 1
    let index = Int(frame.kind.pointee.index)
    let flags = frame.kind.pointee.flags
    if frame.kind.pointee.role == .acknowledgment {
      acknowledgments &+= 1
      if answers.indices.contains(index) {
        answers[index].all &+= 1
        if plan.pointer.pointee.framing.isGeneral, !flags.contains(.unnumbered),
          frame.flags.isDisjoint(with: [.sequence, .answered, .reference])
        {
          answers[index].numberless &+= 1
        }
      }
    }
    // Types without a number, or with an answer on demand, are no evidence for the position of numbers.
    if expecting.indices.contains(index), flags.contains(.expectsAck),
      flags.isDisjoint(with: [.unnumbered, .answeredOnDemand, .counted])
    {
      expecting[index] &+= 1
    }
    let isFirst = walks && index < plan.typeNames.count && firsts[index] == nil
    let isRemarkable =
      frame.checksumStatus == .bad || index >= plan.typeNames.count || note.isOrphan
      || !frame.flags.isDisjoint(with: Self.remarkable)
    guard isFirst || isRemarkable && problems.count < limit else { return }
    let trace = plan.trace(frame, in: bytes, isFromServer: direction == .serverToClient)
    if isFirst { firsts[index] = (connection, direction, frame.number, frame.streamOffset, trace) }
    guard isRemarkable else { return }
    let end = min(bytes.byteCount, frame.start + min(frame.count, Self.longestCopy))
    let copy = frame.start <= end ? bytes.withUnsafeBytes { Array($0[frame.start..<end]) } : []
    _ = book.fields(frame, connection, direction, plan, bytes: bytes, body: body)
    // Places are those of the header as the profile has it; delimiters make it longer where it was read.
    let header = plan.headerBytes(frame, in: bytes).count
    var hidden = plan.hiddenBytes(of: frame, body, tlvs, book.secrets, behind: header) ?? [0..<frame.count]
    hidden = hidden.map { range in
      range.lowerBound < header
        ? range : range.lowerBound - header + frame.headerCount..<range.upperBound - header + frame.headerCount
    }
    // What is hidden in an inflated body stands somewhere in the compressed one.
    if frame.flags.contains(.inflated), !hidden.isEmpty { hidden = [0..<frame.count] }
    last = Remembered(
      connection: connection.serial, direction: direction, frame: frame, bytes: copy,
      hidden: hidden, trace: trace)
  }

  private static var remarkable: Frame.Flags {
    Frame.Flags.tlvErrors.union([.malformed, .compressLabelOnly, .duplicateTag, .nestedTooDeep])
  }

  func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    guard Self.kinds.contains(issue.kind) || Self.others.contains(issue.kind), connection.plan == 0 else { return }
    count += 1
    guard problems.count < limit else { return }
    var problem = Problem(issue: issue, connection: connection)
    if let last, last.connection == connection.serial, last.direction == issue.direction,
      last.frame.streamOffset == issue.streamOffset
    {
      problem.packet = last.frame.number
      problem.bytes = last.bytes
      problem.hidden = last.hidden
      problem.trace = last.trace
      let index = Int(last.frame.kind.pointee.index)
      if index < plan.typeNames.count { problem.type = plan.typeNames[index] }
    }
    problems.append(problem)
  }

  // MARK: Bytes that are no frame

  /// Reads the files again for the bytes of what is no frame, which the engine tells of only where they stand.
  func fetchBytes(_ run: Run) {
    let isNothing = problems.isEmpty && frames == 0
    guard isNothing || problems.contains(where: { $0.bytes.isEmpty }), run.isReadTwice, !run.stopping.stop.isStopped
    else { return }
    var options = StreamOptions()
    options.keepsStarts = true
    options.memory = 128 << 20
    var collector = StreamCollector(options: options)
    let source = run.input.capture(stop: run.stopping.stop)
    while (try? source.nextBatch { collector.process($0, $1) }) == true {}
    var streams: [Set<Endpoint>: [CollectedStream]] = [:]
    collector.finish { streams[[$0.client, $0.server], default: []].append($0) }
    if isNothing { explainNothing(streams.values.flatMap { $0 }.sorted { $0.id < $1.id }) }
    for i in problems.indices where problems[i].bytes.isEmpty {
      let (issue, info) = (problems[i].issue, problems[i].connection)
      let all = streams[[info.peer, info.server]] ?? []
      guard let stream = all.last(where: { $0.firstSeen <= issue.timestamp }) ?? all.first else { continue }
      let isTurned = stream.client != info.peer
      let isFromClient = issue.direction == .clientToServer
      let side = stream.directions[isFromClient != isTurned ? 0 : 1]
      let offset = Int(clamping: issue.streamOffset)
      problems[i].hidden = secretOfStrays
      if info.carriers.contains(.webSocket) {
        // Offsets are in the carrier's payload, and payload after missing bytes has no offset.
        guard let carried = Self.carried(side, stream, isFromClient ? 0 : 1, whole: true)?.stream,
          offset < carried.bytes.count
        else { continue }
        problems[i].bytes = Array(carried.bytes[offset...].prefix(Self.longestCopy))
        problems[i].packet = carried.starts.last { $0.offset <= offset }?.packet ?? 0
      } else {
        problems[i].bytes = side.bytes(at: offset, count: Self.longestCopy)
        problems[i].packet = side.starts.last { $0.offset <= offset }?.packet ?? 0
      }
      if issue.kind != .frameCut, !problems[i].bytes.isEmpty {
        problems[i].trace = explain(problems[i].bytes)
      }
    }
  }

  /// Explains why the first bytes of a few streams are not a frame, if none was found anywhere. For WebSocket connections, these are the bytes of the
  /// first message, and not those of the request that upgrades the connection.
  private func explainNothing(_ all: [CollectedStream]) {
    for stream in all {
      let isWebSocket = CarrierNote(stream.directions[0].content).carriers.contains(.webSocket)
      for (index, side) in stream.directions.enumerated() {
        guard beginnings.count < (walks ? 100 : 4) else { return }
        let ends = index == 0 ? (stream.client, stream.server) : (stream.server, stream.client)
        if isWebSocket, let web = Self.carried(side, stream, index, whole: false) {
          if let sample = web.sample, let message = sample.runs.first {
            let bytes = Array(sample.bytes[message].prefix(Self.longestCopy))
            let trace = explain(bytes)
            let packet = sample.starts.first?.packet ?? 0
            let place =
              "packet \(packet), \(ends.0) > \(ends.1), first WebSocket message, \(IMOutput.count(UInt64(message.count), "byte"))"
            beginnings.append(("\(place): no frame: \(trace.refusal ?? "")", bytes, trace))
            continue
          }
          if web.compressedCount > 0 {
            let count = IMOutput.count(UInt64(web.compressedCount), "compressed WebSocket message")
            beginnings.append(("\(ends.0) > \(ends.1): \(count), not shown here", [], explain([])))
            continue
          }
        }
        let bytes = side.bytes(at: side.ranges.first?.offset ?? 0, count: Self.longestCopy)
        guard !bytes.isEmpty else { continue }
        let trace = explain(bytes)
        let packet = side.starts.first?.packet ?? 0
        beginnings.append(
          (
            "packet \(packet), \(ends.0) > \(ends.1), offset 0: no frame: \(trace.refusal ?? "")", bytes, trace
          ))
      }
    }
  }

  /// The WebSocket messages of a direction; `nil` if there are none. With `whole`, all bytes must have been captured and none may be compressed, so
  /// that offsets in the messages are those of the engine.
  private static func carried(
    _ side: CollectedDirection, _ stream: CollectedStream, _ direction: Int, whole: Bool
  ) -> WebSocketMessages? {
    guard
      let sample = StreamSample(
        side, connection: stream.id, direction: direction, isFromStart: stream.sawSYN, skipping: 0,
        limit: SampleLimits.total)
    else { return nil }
    let web = WebSocketMessages(sample)
    guard !whole || sample.isFromStart && sample.runs.count == 1 && web.compressedCount == 0 else { return nil }
    return web
  }

  /// The evidence against a frame at the beginning of `bytes`.
  private func explain(_ bytes: [UInt8]) -> FrameTrace {
    var trace = plan.trace(notAFrame: bytes)
    guard plan.pointer.pointee.framing.isGeneral else { return trace }
    trace.refusal =
      "it does not end as the profile says, its content cannot be read, or no type of the profile is in what follows"
    return trace
  }

  // MARK: Text

  /// Writes the problems, and with `walks` the walks.
  func write(to out: inout ByteWriter) {
    for problem in problems { write(problem, to: &out) }
    for beginning in beginnings {
      out.text(beginning.text + "\n")
      hexLines(beginning.bytes, secretOfStrays, to: &out)
      if walks { write(beginning.trace, to: &out) }
    }
    if count > problems.count {
      let left = IMOutput.count(UInt64(count - problems.count), "further problem")
      out.text("\(left)\(walks ? "" : "; -v shows them all")\n")
    }
    if walks {
      for (index, first) in firsts.sorted(by: { $0.key < $1.key }) {
        out.text(
          "first \(plan.typeNames[index]): \(place(first.info, first.direction, first.packet)), offset \(first.offset)\n"
        )
        write(first.trace, to: &out)
      }
    }
    if !problems.isEmpty || !firsts.isEmpty || !beginnings.isEmpty { out.literal("\n") }
  }

  private func place(_ info: ConnectionInfo, _ direction: Direction, _ packet: UInt64) -> String {
    let ends = direction == .clientToServer ? (info.client, info.server) : (info.server, info.client)
    let number = packet > 0 ? "packet \(packet)" : "packet not known"
    return "\(number), #\(info.serial) \(ends.0) > \(ends.1)"
  }

  private func write(_ problem: Problem, to out: inout ByteWriter) {
    let issue = problem.issue
    var text = "\(place(problem.connection, issue.direction, problem.packet)), offset \(issue.streamOffset): "
    text += issue.kind.name
    if !problem.type.isEmpty { text += " in \(problem.type)" }
    switch issue.details {
    case .unknownType(let type): text += " \(hex(type))"
    case .checksumMismatch(_, let sum): text += ", the frame says \(hex(sum))"
    case .orphanAck(_, let names?): text += ", it names \(names)"
    case .resynchronised, .frameCut: text += ", \(IMOutput.count(issue.byteCount, "byte"))"
    default: break
    }
    if let refusal = problem.trace?.refusal { text += ": \(refusal)" }
    if let line = problem.trace?.line { text += " (line \(line) of the profile)" }
    out.text(text + "\n")
    hexLines(problem.bytes, problem.hidden, to: &out)
    if walks, let trace = problem.trace { write(trace, to: &out) }
  }

  /// What is hidden of bytes that are no frame: what stands behind a header, where the protocol has something to hide.
  private var secretOfStrays: [Range<Int>] {
    let plan = plan.pointer.pointee
    let hides = self.plan.hidesIdentity || !self.plan.sensitiveTags.isEmpty || self.plan.hasFields
    return hides || plan.framing.hidesSession ? [max(16, Int(plan.headerCount))..<Int.max] : []
  }

  /// The first bytes, as `-X` shows them; nothing where all of them are hidden.
  private func hexLines(_ bytes: [UInt8], _ hidden: [Range<Int>], to out: inout ByteWriter) {
    let limit = walks ? 256 : 32
    guard bytes.indices.prefix(limit).contains(where: { i in !hidden.contains { $0.contains(i) } }) else { return }
    out.hexLines(bytes, hiding: hidden, limit: limit)
  }

  private func write(_ trace: FrameTrace, to out: inout ByteWriter) {
    for part in trace.parts {
      var text = "        \(part.offset)"
      text += String(repeating: " ", count: max(1, 14 - text.count)) + "\(part.count)"
      text += String(repeating: " ", count: max(1, 20 - text.count)) + part.name
      if let value = part.value {
        text += String(repeating: " ", count: max(1, 42 - text.count)) + "\(value)"
        if value > 9 { text += " (\(hex(value)))" }
      }
      if let line = part.line { text += ", line \(line)" }
      out.text(text + "\n")
    }
  }

  private func hex(_ value: UInt64) -> String { "0x" + String(value, radix: 16) }
}

extension CollectedDirection {
  /// The captured bytes from `offset` on, up to the next gap, at most `count`.
  fileprivate func bytes(at offset: Int, count: Int) -> [UInt8] {
    var place = 0
    for range in ranges {
      guard offset >= range.offset else { return [] }
      if offset < range.end {
        var skipped = place + offset - range.offset
        let wanted = min(count, range.end - offset)
        var found: [UInt8] = []
        for piece in content where found.count < wanted {
          if skipped >= piece.count {
            skipped -= piece.count
            continue
          }
          piece.withUnsafeBytes { found += $0[skipped..<min(piece.count, skipped + wanted - found.count)] }
          skipped = 0
        }
        // Content that was not kept has no place.
        return bytesNotKept == 0 ? found : []
      }
      place += range.count
    }
    return []
  }
}
