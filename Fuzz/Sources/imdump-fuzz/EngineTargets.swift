@testable import IMEngine
@testable import IMProfile
@testable import IMRedaction
@testable import IMTLS
@testable import IMWire

/// Packets and streams, through the engine from the link layer to the tracker.
let engineTargets = [
  Target(name: "packets", run: packets),
  Target(name: "tunnels", run: tunnels),
  Target(name: "reassembly", run: reassembly),
  Target(name: "tjp") { stream($0, plans: [tjp], port: 8_080) },
  Target(name: "mqtt") { stream($0, plans: [mqtt], port: 1_883) },
  Target(name: "smpp") { stream($0, plans: [smpp], port: 2_775) },
  Target(name: "diameter") { stream($0, plans: [diameter], port: 3_868) },
  Target(name: "goim") { stream($0, plans: [goim], port: 3_101) },
  Target(name: "jt808") { stream($0, plans: [jt808], port: 7_611) },
  Target(name: "iec104") { stream($0, plans: [iec104], port: 2_404) },
  Target(name: "amqp091") { stream($0, plans: [amqp091], port: 5_672) },
  Target(name: "xmpp") { stream($0, plans: [xmpp], port: 5_222) },
  Target(name: "delimited") { stream($0, plans: [flags, lines], port: 7_100) },
  Target(name: "websocket", run: webSocket),
  Target(name: "stream") { stream($0, plans: usual, port: 4_242) },
]

let tjp = plan("tjp")
let mqtt = plan("mqtt")
let smpp = plan("smpp")
let diameter = plan("diameter")
let goim = plan("goim")
let jt808 = plan("jt808")
let iec104 = plan("iec104")
let amqp091 = plan("amqp091")
let xmpp = plan("xmpp")
let usual = [tjp, mqtt, smpp, diameter, goim, jt808]
/// Delimiters without a sum that an input would have to guess, and lines.
let flags = plan(made: delimitedProfiles[0])
let lines = plan(made: delimitedProfiles[1])

private func plan(made text: String) -> ProtocolPlan {
  do { return try ProfileCompiler.compile(text, source: "made") } catch { fail("\(error)") }
}

private func plan(_ name: String) -> ProtocolPlan {
  do { return try BuiltInProfiles.plan(name) } catch { fail("\(error)") }
}

/// Hears everything and keeps the first frame; a frame must lie inside what it is handed with.
private final class Sink: EngineSink {
  var first: [UInt8]?
  /// Is handed the bytes of each frame.
  var check: ((UnsafeRawBufferPointer) -> Void)?
  // The rooms' own empty ones are not seen from another package.
  func resolved(_ exchange: borrowing Exchange) {}
  func resolved(_ batch: Span<Resolution>) {}
  func finished(_ exchange: borrowing Exchange) {}
  func reconnected(_ connection: UInt32, previous: UInt32, at time: Timestamp) {}
  func receipt(_ receipt: MessageReceipt) {}
  func heartbeat(after interval: Nanoseconds, change: Nanoseconds?, endpoint: UInt32) {}
  func met(_ status: StatusCode, place: UInt16) {}
  func undecoded(_ chunk: UndecodedChunk, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan) {}
  func named(_ session: UInt32, _ name: String) {}
  func forgotten(_ session: UInt32) {}
  func adopted(_ exchange: UInt32, _ times: [Timestamp]) {}
  func reloaded(_ plans: [ProtocolPlan]) {}
  func issue(_ issue: Issue, _ connection: ConnectionInfo) {}
  func opened(_ connection: ConnectionInfo, _ at: Timestamp) {}
  func hello(_ hello: TLSHello, _ connection: ConnectionInfo) {}
  func connection(_ report: ConnectionReport) {}
  func carrier(_ event: CarrierEvent, _ connection: ConnectionInfo) {}
  func ping(_ step: PingStep, _ connection: UInt32, sentAt: Timestamp) {}
  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    if frame.start + frame.count > bytes.byteCount { fail("a frame outside its bytes") }
    for i in tlvs.indices where Int(tlvs[i].offset) + Int(tlvs[i].count) > body.byteCount {
      fail("a TLV outside its body")
    }
    if let check {
      bytes.withUnsafeBytes { check(UnsafeRawBufferPointer(rebasing: $0[frame.start..<frame.start + frame.count])) }
    }
    if first == nil {
      first = bytes.withUnsafeBytes { [UInt8]($0[frame.start..<frame.start + frame.count]) }
    }
  }
}

/// Runs packets through an engine; the ledger must add up.
private func run(_ bytes: [UInt8], _ records: [PacketRecord], plans: [ProtocolPlan], sums: Bool, memory: Int)
  -> [UInt8]?
{
  var options = EngineOptions(plans: plans)
  options.needs = [.frames, .resolved, .finished, .issues, .connections, .progress]
  options.exchangeCapacity = 64
  options.verifiesChecksums = sums
  options.memory = memory
  let sink = Sink()
  var engine = Engine(options: options, sink: sink)
  engine.process(bytes.span.bytes, records.span)
  engine.finish()
  check(engine)
  redact(bytes, records, plans: plans, sums: sums, memory: memory)
  return sink.first
}

/// Runs packets through an engine that reads TLS, whose key log grows after some of them; `check` is handed each frame.
func run(
  _ bytes: [UInt8], _ records: [PacketRecord], plans: [ProtocolPlan], memory: Int, keys: KeyTable,
  growth: [(after: Int, line: String)], hasLate: Bool, check checkFrame: (UnsafeRawBufferPointer) -> Void
) {
  var options = EngineOptions(plans: plans)
  options.needs = [.frames, .resolved, .finished, .issues, .connections, .progress]
  options.exchangeCapacity = 64
  options.verifiesChecksums = false
  options.memory = memory
  let sink = Sink()
  withoutActuallyEscaping(checkFrame) { checkFrame in
    sink.check = checkFrame
    var engine = Engine(options: options, sink: sink, keys: keys)
    var start = 0
    for line in growth {
      let end = max(start, min(line.after, records.count))
      if end > start { engine.process(bytes.span.bytes, records.span.extracting(start..<end)) }
      start = end
      Array(line.line.utf8).withUnsafeBytes { _ = keys.take(line: $0) }
    }
    engine.process(bytes.span.bytes, records.span.extracting(start..<records.count))
    engine.finish()
    check(engine)
    let ledger = engine.totals
    // Bytes that late segments make readable in part stay counted.
    if !hasLate, ledger.tlsUnread.total > ledger.strayBytes + ledger.unreadBytes {
      fail("\(ledger.tlsUnread.total) bytes of TLS are not read, \(ledger.strayBytes) + \(ledger.unreadBytes) of all")
    }
    sink.check = nil
  }
}

/// What the ledger of a finished engine must add up to.
private func check(_ engine: borrowing Engine) {
  let ledger = engine.totals
  let counters = engine.reassembly
  var skipped: UInt64 = 0
  for reason in SkipReason.allCases { skipped += ledger.skipped[Int(reason.rawValue)] }
  if ledger.packets != ledger.segments + skipped {
    fail("packets: \(ledger.packets) are not \(ledger.segments) + \(skipped)")
  }
  let used =
    ledger.decodedBytes + ledger.damagedBytes + ledger.strayBytes + ledger.unreadBytes + counters.repeatedBytes
    + counters.ignoredBytes
  if counters.payloadBytes != used { fail("bytes: \(counters.payloadBytes) payload, \(used) accounted for") }
  if engine.heldBytes != 0 { fail("\(engine.heldBytes) bytes are held at the end") }
}

/// Rewrites the packets; each must keep its length.
private func redact(_ bytes: [UInt8], _ records: [PacketRecord], plans: [ProtocolPlan], sums: Bool, memory: Int) {
  let names = Pseudonyms(IdentityHash(key: [1, 2, 3]))
  let sink = RedactionSink(names, plans: plans, memory: memory, isWanted: { _ in true })
  var options = EngineOptions(plans: plans)
  options.needs = RedactionSink.needs
  options.exchangeCapacity = 64
  options.verifiesChecksums = sums
  options.memory = memory
  var engine = Engine(options: options, sink: sink)
  engine.process(bytes.span.bytes, records.span)
  engine.finish()
  sink.resolve()
  var finder = EndpointFinder()
  var packets = PacketRedactor(names)
  for record in records {
    guard let layers = finder.layers(bytes.span.bytes, record).layers else { continue }
    let way = RedactionSink.Way(serial: 1, isBack: layers.source.port < layers.destination.port)
    packets.rewrite(bytes.span.bytes, record, layers) { old, new, range in
      sink.apply(old, to: &new, range, at: Int64(layers.sequence), way)
    }
    let new = packets.new
    if new.count != Int(record.capturedLength) { fail("\(record.capturedLength) bytes became \(new.count)") }
  }
}

/// Whole packets of any link type: a byte for the type, one for the time, two for the length, then the bytes.
@Sendable private func packets(_ input: UnsafeRawBufferPointer) {
  let linkTypes: [UInt16] = [
    1, 1, 1, 0, 12, 14, 101, 108, 113, 178, 228, 229, 276, 147, 100, 105, 109, 117, 119, 127, 163, 192, 239, 258,
  ]
  var script = Script(input)
  let options = script.byte()
  var bytes: [UInt8] = []
  var records: [PacketRecord] = []
  var time: Int64 = 1_700_000_000_000_000_000
  while !script.isEmpty, records.count < 256 {
    let type = script.byte()
    let step = script.byte()
    // Mostly milliseconds; now and then far away, in either direction.
    time &+= step < 250 ? Int64(step) * 1_000_000 : (Int64(step) - 252) * 40_000_000_000_000_000
    let packet = script.take(script.u16() & 0x7ff)
    records.append(
      PacketRecord(
        timestamp: Timestamp(nanoseconds: time), number: UInt64(records.count + 1), offset: UInt32(bytes.count),
        capturedLength: UInt32(packet.count), originalLength: UInt32(packet.count) + UInt32(type >> 7),
        linkType: linkTypes[Int(type & 0x7f) % linkTypes.count], interface: 0))
    bytes += packet
  }
  bytes += [UInt8](repeating: 0, count: PacketRecord.slack)
  _ = run(bytes, records, plans: [tjp, mqtt], sums: options & 1 == 0, memory: options & 2 == 0 ? 256 << 20 : 1 << 20)
}

/// What tunnels carry: a byte for the kind, two for the length, then the bytes after a header of IP and, for most kinds, UDP.
@Sendable private func tunnels(_ input: UnsafeRawBufferPointer) {
  let ports: [UInt16] = [4_789, 8_472, 4_790, 6_081, 2_152, 1_701, 5_247, 37_008, 6_635, 443, 12_345]
  let protocols: [UInt8] = [4, 41, 47, 51, 97, 137]
  let types: [UInt16] = [0x8100, 0x8847, 0x8864, 0x88e5, 0x88e7, 0x8909, 0x8926, 0x893f, 0x894f]
  var script = Script(input)
  let options = script.byte()
  var bytes: [UInt8] = []
  var records: [PacketRecord] = []
  while !script.isEmpty, records.count < 64 {
    let kind = Int(script.byte()) % (ports.count + protocols.count + types.count)
    let content = script.take(script.u16() & 0x7ff)
    var packet: [UInt8] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]
    if kind >= ports.count + protocols.count {
      let type = types[kind - ports.count - protocols.count]
      packet += [UInt8(type >> 8), UInt8(type & 0xff)] + content
    } else {
      let port = kind < ports.count ? ports[kind] : 0
      let datagram =
        kind < ports.count ? [0x9c, 0x40, UInt8(port >> 8), UInt8(port & 0xff), 0, 0, 0, 0] : [] as [UInt8]
      let total = 20 + datagram.count + content.count
      // A checksum of 0 is what offload leaves.
      packet += [8, 0, 0x45, 0, UInt8(total >> 8), UInt8(total & 0xff), 0, 0, 0, 0, 64]
      packet += [kind < ports.count ? 17 : protocols[kind - ports.count], 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]
      packet += datagram + content
    }
    records.append(
      PacketRecord(
        timestamp: Timestamp(nanoseconds: 1_700_000_000_000_000_000 + Int64(records.count)),
        number: UInt64(records.count + 1),
        offset: UInt32(bytes.count), capturedLength: UInt32(packet.count), originalLength: UInt32(packet.count),
        linkType: 1,
        interface: 0))
    bytes += packet
  }
  bytes += [UInt8](repeating: 0, count: PacketRecord.slack)
  _ = run(bytes, records, plans: [tjp, mqtt], sums: options & 1 == 0, memory: 256 << 20)
}

/// Lays TCP segments of one connection out as packets.
struct SegmentScript {
  var bytes: [UInt8] = []
  var records: [PacketRecord] = []
  var port: UInt16
  var time: Int64 = 1_700_000_000_000_000_000

  init(port: UInt16) { self.port = port }

  mutating func add(_ side: Int, _ flags: UInt8, _ sequence: UInt32, _ acknowledgment: UInt32, _ payload: [UInt8]) {
    let start = bytes.count
    let length = 40 + payload.count
    bytes += [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]
    // A number of its own, so that none is taken for a copy that was captured twice.
    let number = records.count + 1
    bytes += [0x45, 0, UInt8(length >> 8), UInt8(length & 255), UInt8(number >> 8 & 255), UInt8(number & 255)]
    bytes += [0x40, 0, 64, 6, 0, 0]
    let ends: [[UInt8]] = [[192, 0, 2, 1], [192, 0, 2, 2]]
    bytes += ends[side] + ends[1 - side]
    let ports = side == 0 ? [40_000, port] : [port, 40_000]
    for port in ports { bytes += [UInt8(port >> 8), UInt8(port & 255)] }
    for number in [sequence, acknowledgment] {
      for i in 0..<4 { bytes.append(UInt8(number >> (24 - 8 * UInt32(i)) & 255)) }
    }
    bytes += [0x50, flags, 0xff, 0xff, 0, 0, 0, 0] + payload
    records.append(
      PacketRecord(
        timestamp: Timestamp(nanoseconds: time), number: UInt64(records.count + 1), offset: UInt32(start),
        capturedLength: UInt32(bytes.count - start), originalLength: UInt32(bytes.count - start), linkType: 1,
        interface: 0))
  }

  mutating func close() { bytes += [UInt8](repeating: 0, count: PacketRecord.slack) }
}

/// Bytes of one connection in segments: a byte that tells how each is sent, one for its length, then its bytes.
private func stream(_ input: UnsafeRawBufferPointer, plans: [ProtocolPlan], port: UInt16) {
  var script = Script(input)
  let options = script.byte()
  var segments = SegmentScript(port: port)
  var next: [UInt32] = [UInt32(script.byte()) &* 0x0101_0101, UInt32(script.byte()) &* 0x0101_0101]
  if options & 1 == 0 {
    segments.add(0, 2, next[0], 0, [])
    segments.add(1, 0x12, next[1], next[0] &+ 1, [])
    next = [next[0] &+ 1, next[1] &+ 1]
  }
  var late: (side: Int, sequence: UInt32, bytes: [UInt8])?
  while !script.isEmpty, segments.records.count < 512 {
    let how = script.byte()
    let side = Int(how & 1)
    segments.time &+= Int64(how >> 5) * 30_000_000
    let payload = script.take(Int(script.byte()) * (how & 16 == 0 ? 1 : 8))
    switch how >> 1 & 7 {
    case 0: break  // Lost by the capture.
    case 1:
      segments.add(side, 0x18, next[side], next[1 - side], payload)
      segments.add(side, 0x18, next[side], next[1 - side], payload)
    case 2:
      if let late { segments.add(late.side, 0x18, late.sequence, next[1 - late.side], late.bytes) }
      late = (side, next[side], payload)
    case 3 where how >> 5 == 7: segments.add(side, 0x11, next[side], next[1 - side], payload)
    case 4 where how >> 5 == 7: segments.add(side, 0x14, next[side], next[1 - side], [])
    default: segments.add(side, 0x18, next[side], next[1 - side], payload)
    }
    next[side] &+= UInt32(payload.count)
  }
  if let late { segments.add(late.side, 0x18, late.sequence, next[1 - late.side], late.bytes) }
  segments.close()
  _ = run(
    segments.bytes, segments.records, plans: plans, sums: false, memory: options & 2 == 0 ? 256 << 20 : 1 << 20)
}

/// Bytes of one connection behind a WebSocket upgrade, as `stream` has them; most that one side says is framed.
@Sendable private func webSocket(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  let options = script.byte()
  var segments = SegmentScript(port: 9_001)
  var next: [UInt32] = [1, 1]
  let agreed = options & 1 == 0 ? "Sec-WebSocket-Extensions: permessage-deflate\r\n" : ""
  let heads = [
    "GET / HTTP/1.1\r\nUpgrade: websocket\r\n\(agreed)\r\n", "HTTP/1.1 101 x\r\nUpgrade: websocket\r\n\(agreed)\r\n",
  ]
  func add(_ side: Int, _ payload: [UInt8], isLost: Bool = false) {
    if !isLost { segments.add(side, 0x18, next[side], next[1 - side], payload) }
    next[side] &+= UInt32(payload.count)
  }
  if options & 2 == 0 {
    segments.add(0, 2, 0, 0, [])
    segments.add(1, 0x12, 0, 1, [])
    for side in 0...1 { add(side, [UInt8](heads[side].utf8)) }
  }
  while !script.isEmpty, segments.records.count < 512 {
    let how = script.byte()
    let side = Int(how & 1)
    segments.time &+= Int64(how >> 6) * 30_000_000
    let payload = script.take(Int(script.byte()))
    guard how & 2 == 0 else {
      add(side, payload, isLost: how & 0x3c == 0x3c)
      continue
    }
    let mask: UInt8 = side == 0 ? 0x80 : 0
    let key: [UInt8] = side == 0 ? [1, 2, 3, 4] : []
    let opcodes: [UInt8] = [0x82, 0xc2, 0x02, 0x42, 0x00, 0x80, 0x89, 0x8a]
    var frame = [opcodes[Int(how >> 2 & 7)]]
    frame += payload.count < 126 ? [mask | UInt8(payload.count)] : [mask | 126, 0, UInt8(payload.count)]
    frame += key + payload.enumerated().map { side == 0 ? $1 ^ key[$0 & 3] : $1 }
    // Cut where the payload says.
    let cut = how & 0x20 == 0 ? frame.count : Int(payload.first ?? 0) % frame.count
    if cut > 0 { add(side, [UInt8](frame[..<cut])) }
    if cut < frame.count { add(side, [UInt8](frame[cut...])) }
  }
  segments.close()
  _ = run(
    segments.bytes, segments.records, plans: usual, sums: false, memory: options & 4 == 0 ? 256 << 20 : 1 << 20)
}

/// Segments in any order, with lies, against a model: the stream that comes out is the model's, byte for byte.
@Sendable private func reassembly(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  let initial = script.u32()
  let keepsLast = script.byte() & 1 == 1
  var steps: [(start: Int, bytes: [UInt8])] = []
  var end = 0
  while script.left >= 4, steps.count < 40 {
    let start = script.u16() % 500
    let count = 1 + Int(script.byte()) % 90
    let salt = script.byte()
    // Most tell the truth; the others carry bytes of their own.
    steps.append((start, (0..<count).map { UInt8(truncatingIfNeeded: (start + $0) * 7) ^ (salt < 200 ? 0 : salt) }))
    end = max(end, start + count)
  }
  guard end > 0 else { return }
  steps.append((0, (0..<end).map { UInt8(truncatingIfNeeded: $0 * 7) }))

  var held = [UInt8?](repeating: nil, count: end)
  var model: [UInt8] = []
  for step in steps {
    for (i, byte) in step.bytes.enumerated() where step.start + i >= model.count {
      if held[step.start + i] == nil || keepsLast { held[step.start + i] = byte }
    }
    while model.count < end, let byte = held[model.count] { model.append(byte) }
  }

  var segments = SegmentScript(port: 8_080)
  segments.add(0, 2, initial, 0, [])
  segments.add(1, 0x12, 0, initial &+ 1, [])
  // One frame around everything: what comes out of it is what was handed on.
  var header: [UInt8] = [0xde, 0xca, 0xfb, 0xad, 1, 0, 0, 0, 0, 0, 0, 1, 0x65, 0x53, 0xf1, 0, 0, 0, 0x1a, 0x2b, 0, 0]
  header += [UInt8(end >> 8), UInt8(end & 255), 0, 0, 0, 0]
  segments.add(0, 0x18, initial &+ 1, 1, header)
  for step in steps {
    segments.time &+= 10_000
    segments.add(0, 0x18, initial &+ 29 &+ UInt32(step.start), 1, step.bytes)
  }
  segments.close()
  var options = EngineOptions(plans: [tjp])
  options.needs = [.frames]
  options.exchangeCapacity = 64
  options.verifiesChecksums = false
  options.reassembly.overlap = keepsLast ? .last : .first
  let sink = Sink()
  var engine = Engine(options: options, sink: sink)
  engine.process(segments.bytes.span.bytes, segments.records.span)
  engine.finish()
  if sink.first != header + model { fail("the stream is not the model's") }
}
