@testable import IMEndpoint
@testable import IMEndpointCore
import IMWire

/// The other end of the wire: its codec, and its cores between which anything may happen.
let endpointTargets = [Target(name: "frames", run: frames), Target(name: "endpoint", run: endpoint)]

/// Bytes as a stream of frames, and as bodies of every kind. The reader of a core and the scanner of a ledger, which share
/// nothing but the header, find the same frames, in whatever pieces; what could be read is the same once it is written again.
@Sendable private func frames(_ input: UnsafeRawBufferPointer) {
  let bytes = [UInt8](input)
  var read: [FrameScanner.Found] = []
  var offset = 0
  reading: while true {
    switch FrameReader.read(bytes.span.bytes, at: offset, accepting: 1) {
    case .needs(let count):
      if count <= bytes.count - offset { fail("\(count) bytes wanted of \(bytes.count - offset)") }
      break reading
    case .broken: break reading
    case .frame(let header, let isIntact):
      let start = offset + FrameHeader.byteCount
      let body = bytes[start..<start + Int(header.bodyCount)]
      if isIntact { bodies([UInt8](body)) }
      read.append(
        .init(header: header, offset: UInt64(offset), checksum: Checksum.of(Array(body).span.bytes), named: nil))
      offset = body.endIndex
    }
  }
  var scanner = FrameScanner()
  var found: [FrameScanner.Found] = []
  let size = max(1, Int(input.first ?? 1))
  for start in stride(from: 0, to: bytes.count, by: size) {
    let piece = bytes.span.bytes.extracting(start..<min(bytes.count, start + size))
    scanner.scan(piece) { found.append(.init(header: $0.header, offset: $0.offset, checksum: $0.checksum, named: nil)) }
  }
  if Array(found.prefix(read.count)) != read { fail("\(found) and not \(read)") }
  bodies(bytes)
}

/// One body, as whatever it may be.
private func bodies(_ body: [UInt8]) {
  let bytes = body.span.bytes
  if let message = try? Message(decoding: body), (try? Message(decoding: message.encoded)) != message {
    fail("\(message) is another one once it is written")
  }
  if let request = HandshakeRequest(decoding: bytes),
    HandshakeRequest(decoding: request.encoded.span.bytes) != request
  {
    fail("\(request) is another one once it is written")
  }
  if case .agreed(let version, let features, let numbers)? = HandshakeResponse(decoding: bytes) {
    let response = HandshakeResponse.agreed(version, features, numbers)
    if HandshakeResponse(decoding: response.encoded.span.bytes) != response { fail("\(response) is another one") }
  }
  var (name, owner): (UInt64, [UInt8]) = (0, [])
  if let transfer = IncomingTransfer(record: body, body: 1, name: &name, owner: &owner),
    transfer.record(name: name, owner: owner).map({ $0.count > body.count }) ?? false
  {
    fail("a record has grown")
  }
  _ = Transfers.having(bytes, 0..<body.count)
  if let inflated = Deflate.inflated(bytes, limit: 64 << 10), inflated.count > 64 << 10 {
    fail("\(inflated.count) bytes")
  }
}

/// Two clients and a server, in the order of a script: what they say, in which pieces it arrives, what is lost with a
/// connection, what somebody forges, spoils or repeats on the way. As long as nobody does, every message is told at most once
/// and as it was; and whatever happens, cores read no more than they were offered, want nothing that is there already, and
/// have no deadline in the past.
@Sendable private func endpoint(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  var scene = Scene(script.byte())
  for _ in 0..<600 where !script.isEmpty { scene.play(&script) }
  scene.checkMessages()
}

/// A connection with the bytes that are on their way.
private struct Wire {
  let client: Int
  let clientID: ConnectionID
  var serverID: ConnectionID?
  var isOpen = false
  var up: [UInt8] = []
  var down: [UInt8] = []
}

/// Large bodies in memory: only what was written takes any.
private final class Bodies: BodyStore, @unchecked Sendable {
  final class Reader: BodyReader, @unchecked Sendable {
    private let parts: () -> [Int: [UInt8]]
    var byteCount: Int { parts().map { $0.key + $0.value.count }.max() ?? 0 }
    var hasDigest: Bool { false }

    init(_ parts: @escaping () -> [Int: [UInt8]]) { self.parts = parts }

    func read(at offset: Int, count: Int) -> [UInt8]? {
      let parts = parts()
      guard count <= 1 << 20, offset >= 0, offset <= byteCount - count else { return nil }
      var bytes = [UInt8](repeating: 0, count: count)
      for (start, part) in parts where start < offset + count && start + part.count > offset {
        for place in max(start, offset)..<min(start + part.count, offset + count) {
          bytes[place - offset] = part[place - start]
        }
      }
      return bytes
    }

    func digest() -> [UInt8]? { nil }
  }

  private var all: [UInt64: [Int: [UInt8]]] = [:]
  private var notes: [UInt64: [UInt8]] = [:]
  var count: Int { all.count }

  func write(_ bytes: RawSpan, of body: UInt64, at offset: Int) -> Bool {
    all[body, default: [:]][offset] = bytes.withUnsafeBytes { [UInt8]($0) }
    return true
  }
  func note(_ record: [UInt8]?, of body: UInt64) { notes[body] = record }
  func reader(of body: UInt64) -> (any BodyReader)? {
    all[body] == nil ? nil : Reader { [weak self] in self?.all[body] ?? [:] }
  }
  func remove(_ body: UInt64) { (all[body], notes[body]) = (nil, nil) }
  func records() -> [(body: UInt64, record: [UInt8])] { notes.map { ($0.key, $0.value) } }
}

private struct Scene {
  private let bodies = [Bodies(), Bodies()]
  private var clients: [ClientCore]
  private var sessions: [SessionID] = []
  private var server: ServerCore
  private var wires: [Wire] = []
  private var now = Instant.seconds(1_000)
  private var inbox = Inbox()
  private var sent: Set<String> = []
  private var told: [String] = []
  /// Whether bytes arrived as they were sent.
  private var isHonest = true
  private let service: ServerConfiguration.Service
  private static let address = Endpoint(address: IPAddress(v4: 0x0a4d_0001), port: 8080)
  private static let remote = Endpoint(address: IPAddress(v4: 0x0a4d_0002), port: 40_000)

  init(_ how: UInt8) {
    service = [.deliver, .echo, .forward][Int(how % 3)]
    var configuration = ServerConfiguration(seed: 1)
    configuration.service = service
    configuration.maximumSessions = 8
    configuration.sessionsPerConnection = 4
    configuration.memory = .seconds(600)
    server = ServerCore(configuration)
    server.setWallClock(unixSeconds: 1_700_000_000, at: now)
    if how & 16 != 0 { server.bodies = Bodies() }
    clients = (0..<2).map { index in
      var configuration = ClientConfiguration(
        server: Self.address, identity: ClientIdentity(high: 1, low: UInt64(index)), user: "\(index)",
        seed: UInt64(index) + 7)
      if how & 4 != 0 { configuration.useSeedPolicy() }
      if how & 8 != 0 { configuration.messageLifetime = .seconds(5) }
      return ClientCore(configuration)
    }
    for index in clients.indices {
      clients[index].setWallClock(unixSeconds: 1_700_000_000, at: now)
      if how & 32 != 0 { clients[index].bodies = bodies[index] }
      sessions.append(clients[index].addSession(at: now))
      try? clients[index].connect(sessions[index], at: now)
    }
    resolve()
  }

  mutating func play(_ script: inout Script) {
    let how = script.byte()
    let client = Int(how >> 4) & 1
    switch how & 15 {
    case 0: say(client, Int(script.byte()))
    case 1 where !wires.isEmpty: open(Int(script.byte()) % wires.count)
    case 2, 3: flow()
    case 4 where !wires.isEmpty: arrive(Int(script.byte()) % wires.count, up: how & 32 == 0, 1 + script.u16() & 1_023)
    case 5 where !wires.isEmpty: spoil(Int(script.byte()) % wires.count, how & 32 == 0, script.u16(), script.byte())
    case 6 where !wires.isEmpty:
      inject(Int(script.byte()) % wires.count, how & 32 == 0, script.take(Int(script.byte())))
    case 7 where !wires.isEmpty: forge(Int(script.byte()) % wires.count, how & 32 == 0, &script)
    case 8 where !wires.isEmpty: close(Int(script.byte()) % wires.count, how)
    case 9, 10:
      let step = Int64(script.byte())
      pass(step * step * (how & 15 == 9 ? 1_000_000 : 100_000_000))
    case 11: try? clients[client].markRead(SequenceNumber(rawValue: script.u32()), in: sessions[client], at: now)
    case 12:
      clients[client].pathChanged(
        to: NetworkPath([.none, .wired, .wifi, .cellular][Int(how >> 5) & 3], number: UInt64(script.byte())), at: now)
    case 13: turn(client, how >> 5)
    case 14 where !wires.isEmpty:
      var facts = TransportFacts(retransmits: script.u32(), roundTrip: .milliseconds(Int64(script.byte())))
      facts.outOfOrder = script.u32()
      let wire = wires[Int(script.byte()) % wires.count]
      clients[wire.client].measured(facts, on: wire.clientID, at: now)
    default:
      _ = clients[client].cancel(MessageID(rawValue: UInt64(script.byte())), in: sessions[client], at: now)
    }
    resolve()
  }

  // MARK: what the script does

  private mutating func say(_ client: Int, _ length: Int) {
    if length > 240 {
      let bytes = [UInt8](repeating: UInt8(length), count: (length - 240) * 9_000)
      let file = Bodies.Reader { [0: bytes] }
      let message = Message(.file(.init([], name: "file")), to: "\(1 - client)")
      _ = try? clients[client].send(message, content: file, in: sessions[client], at: now)
      return
    }
    let text = "\(client) \(sent.count) " + String(repeating: "x", count: length)
    let message = Message(.text(text), to: "\(1 - client)")
    let priority = Priority.allCases[length % 4]
    if (try? clients[client].send(message, priority: priority, in: sessions[client], at: now)) != nil {
      sent.insert(text)
    }
  }

  private mutating func open(_ index: Int) {
    guard !wires[index].isOpen else { return }
    wires[index].isOpen = true
    wires[index].serverID = server.accepted(from: Self.remote, at: now)
    clients[wires[index].client].opened(wires[index].clientID, local: Self.remote, at: now)
  }

  /// Everything that waits arrives.
  private mutating func flow() {
    for _ in 0..<4 {
      for index in wires.indices where index < wires.count && wires[index].isOpen {
        arrive(index, up: true, .max)
        if index < wires.count { arrive(index, up: false, .max) }
      }
      resolve()
    }
  }

  private mutating func arrive(_ index: Int, up: Bool, _ most: Int) {
    guard wires[index].isOpen, let serverID = wires[index].serverID else { return }
    let waiting = up ? wires[index].up : wires[index].down
    let offered = Array(waiting.prefix(most))
    guard !offered.isEmpty else { return }
    let intake =
      up
      ? server.received(offered.span.bytes, on: serverID, at: now)
      : clients[wires[index].client].received(offered.span.bytes, on: wires[index].clientID, at: now)
    if intake.consumed < 0 || intake.consumed > offered.count { fail("\(intake.consumed) of \(offered.count) read") }
    if intake.consumed < offered.count, intake.wanted <= offered.count - intake.consumed {
      fail("\(intake.wanted) wanted of \(offered.count - intake.consumed) that are there")
    }
    if up { wires[index].up.removeFirst(intake.consumed) } else { wires[index].down.removeFirst(intake.consumed) }
  }

  private mutating func spoil(_ index: Int, _ up: Bool, _ place: Int, _ mask: UInt8) {
    isHonest = false
    if up, !wires[index].up.isEmpty { wires[index].up[place % wires[index].up.count] ^= mask }
    if !up, !wires[index].down.isEmpty { wires[index].down[place % wires[index].down.count] ^= mask }
  }

  private mutating func inject(_ index: Int, _ up: Bool, _ bytes: [UInt8]) {
    isHonest = false
    if up { wires[index].up += bytes } else { wires[index].down += bytes }
  }

  /// A frame with a right checksum that nobody sent.
  private mutating func forge(_ index: Int, _ up: Bool, _ script: inout Script) {
    let client = wires[index].client
    let kind = FrameKind(rawValue: UInt16(script.byte() & 7))
    let (version, labels) = (script.byte(), script.byte())
    let session = labels & 128 == 0 ? clients[client].wireID(of: sessions[client]) ?? 0 : UInt16(labels)
    let sequence = SequenceNumber(rawValue: script.u32())
    let body = script.take(Int(script.byte()))
    let header = FrameHeader(
      version: ProtocolVersion(version & 128 == 0 ? 1 : version & 3, version & 3), kind: kind, sequence: sequence,
      time: 1,
      encryption: labels & 1, compression: labels >> 1 & 1, session: session, bodyCount: UInt32(body.count),
      checksum: Checksum.of(body.span.bytes))
    var bytes: [UInt8] = []
    header.append(to: &bytes)
    inject(index, up, bytes + body)
  }

  private mutating func close(_ index: Int, _ how: UInt8) {
    let wire = wires.remove(at: index)
    let reason: CloseReason = [.finished, .reset, .refused, .timedOut][Int(how >> 5) & 3]
    if let serverID = wire.serverID { server.closed(serverID, because: reason, at: now) }
    clients[wire.client].closed(wire.clientID, because: reason, at: now)
  }

  private mutating func turn(_ client: Int, _ what: UInt8) {
    switch what & 3 {
    case 0: try? clients[client].connect(sessions[client], at: now)
    case 1: try? clients[client].disconnect(sessions[client], at: now)
    case 2: clients[client].forceDisconnect(sessions[client], at: now)
    default: clients[client].setMode(ApplicationMode.allCases[Int(what) >> 2 & 1 == 0 ? 0 : 1], at: now)
    }
  }

  private mutating func pass(_ nanoseconds: Int64) {
    now = now.advanced(byNanoseconds: nanoseconds)
    for index in clients.indices {
      for _ in 0..<100 where clients[index].deadline.map({ $0 <= now }) ?? false {
        clients[index].deadlineReached(at: now)
        resolve()
      }
      if let deadline = clients[index].deadline, deadline <= now { fail("a client's deadline stays in the past") }
    }
    for _ in 0..<100 where server.deadline.map({ $0 <= now }) ?? false {
      server.deadlineReached(at: now)
      resolve()
    }
    if let deadline = server.deadline, deadline <= now { fail("the server's deadline stays in the past") }
  }

  // MARK: what the cores ask for

  private mutating func resolve() {
    for _ in 0..<10_000 {
      var isBusy = false
      for index in clients.indices {
        if let command = clients[index].nextCommand() {
          isBusy = true
          perform(command, client: index)
        }
        clients[index].take(&inbox)
        hear(client: index)
      }
      if let command = server.nextCommand() {
        isBusy = true
        perform(command)
      }
      server.take(&inbox)
      hear(client: nil)
      if !isBusy { return }
    }
    fail("commands without an end")
  }

  private mutating func perform(_ command: TransportCommand, client: Int) {
    switch command {
    case .open(let id, _, _): wires.append(Wire(client: client, clientID: id))
    case .write(let id):
      guard let index = wires.firstIndex(where: { $0.client == client && $0.clientID == id }) else { return }
      var bytes: [UInt8] = []
      _ = clients[client].drain(id, at: now) { pieces in
        pieces.forEach { piece in
          piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
          return piece.byteCount
        }
      }
      wires[index].up += bytes
    case .measure(let id): clients[client].measured(TransportFacts(), on: id, at: now)
    case .close(let id), .abort(let id):
      if let index = wires.firstIndex(where: { $0.client == client && $0.clientID == id }) { close(index, 0) }
    }
  }

  private mutating func perform(_ command: TransportCommand) {
    switch command {
    case .open: fail("a server opens a connection")
    case .write(let id):
      guard let index = wires.firstIndex(where: { $0.serverID == id }) else { return }
      var bytes: [UInt8] = []
      _ = server.drain(id, at: now) { pieces in
        pieces.forEach { piece in
          piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
          return piece.byteCount
        }
      }
      wires[index].down += bytes
    case .measure(let id): server.measured(TransportFacts(), on: id, at: now)
    case .close(let id), .abort(let id):
      if let index = wires.firstIndex(where: { $0.serverID == id }) { close(index, 0) }
    }
  }

  private mutating func hear(client: Int?) {
    for case .message(let message) in inbox.events {
      if let stored = message.stored, let client {
        let bytes = bodies[client].reader(of: stored.body)?.read(at: 0, count: stored.byteCount)
        if isHonest, bytes?.allSatisfy({ $0 == bytes?.first }) != true { fail("a file is not what was sent") }
        bodies[client].remove(stored.body)
      }
      guard case .text(let text)? = try? inbox.content(of: message).content else { continue }
      told.append("\(client ?? 9) \(text)")
      if let client { try? clients[client].markRead(message.sequence, in: message.session, at: now) }
    }
  }

  // MARK: what must be so

  /// A server's counters are forgotten with its sessions, and numbers of the article's code say not where they begin.
  func checkMessages() {
    guard isHonest, server.sessionsEvicted + server.sessionsExpired == 0,
      case .racing = clients[0].configuration.resend
    else { return }
    if Set(told).count < told.count { fail("a message was told twice: \(told.sorted())") }
    for text in told where !sent.contains(String(text.dropFirst(2))) { fail("nobody sent \(text)") }
  }
}
