import IMEndpoint
import IMWire

/// Numbers that follow from a seed, so that a failing case can be run again.
struct TestGenerator: RandomNumberGenerator {
  var state: UInt64
  init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }
  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state &* 0x2545_f491_4f6c_dd1d
  }
  mutating func chance(_ probability: Double) -> Bool { Double(next() >> 11) / Double(1 << 53) < probability }
}

/// What the network does to segments.
struct Conditions {
  /// One way.
  var delay = 0.005
  /// Share of segments lost, each way.
  var loss = 0.0
  /// Nothing passes in these times.
  var outages: [ClosedRange<Double>] = []
  /// Bytes a second that pass each way, of all connections; 0: as many as there are.
  var rate = 0.0

  func isOut(_ time: Double) -> Bool { outages.contains { $0.contains(time) } }
}

/// Clients and one server over a simulated network with its own clock.
///
/// A connection is a model of TCP: segments arrive in order, a lost one is sent again after 0.2 s, then twice as long, and
/// holds up those behind it; so the kernel's facts can be given, too. SYNs are repeated after 1, 3 and 7 s.
final class Simulation {
  struct Segment {
    var bytes: [UInt8]
    var sentAt: Double
    var arrivesAt: Double
    var timeouts: [Double]

    /// How often the kernel has sent it again at `time` though nothing was lost: its timer begins at 0.2 s, and a queue is
    /// longer.
    func needless(at time: Double) -> Int {
      guard timeouts.isEmpty else { return 0 }
      var (count, end) = (0, sentAt + 0.2)
      while end <= time {
        count += 1
        end += 0.2 * Double(1 << min(count, 10))
      }
      return count
    }
  }

  final class Pipe {
    var segments: [Segment] = []
    var lastArrival = 0.0
    var retransmissions = 0
    var needless = 0
    /// Bytes that have arrived and were not consumed.
    var unread: [UInt8] = []
  }

  final class Connection {
    let client: Int
    let clientID: ConnectionID
    var serverID: ConnectionID?
    var isOpen = false
    var isGone = false
    var isStalled = false
    var usedAt = 0.0
    let up = Pipe()
    let down = Pipe()
    init(client: Int, clientID: ConnectionID) {
      self.client = client
      self.clientID = clientID
    }
  }

  var conditions: Conditions
  var clients: [ClientCore] = []
  var server: ServerCore
  var random: TestGenerator
  var now = 1_000.0
  private var queue: [(time: Double, order: Int, action: () -> Void)] = []
  private var order = 0
  private(set) var connections: [Connection] = []
  /// Whether the server listens; otherwise connects are refused.
  var isListening = true
  /// Whether the transport can say facts.
  var hasFacts = true
  var onClientEvent: (Int, EndpointEvent, Inbox) -> Void = { _, _, _ in }
  var onServerEvent: (EndpointEvent, Inbox) -> Void = { _, _ in }
  /// Called after the server was called, before what it asks for is done.
  var onServerTurn: (inout ServerCore) -> Void = { _ in }
  private(set) var opens = 0
  /// When the line up and the line down are free again.
  private var lineFreeAt = [0.0, 0.0]
  /// When each connection was asked for.
  private(set) var openTimes: [Double] = []
  private(set) var bytesOnWire = 0
  private var inbox = Inbox()
  /// A translator of addresses on the way forgets a connection that was silent for so long; `nil`: never.
  var forgetsAfter: Double?
  /// What a socket takes at once; the rest waits until that has left.
  var sendsAtMost = Int.max
  /// When the server reads nothing.
  var serverPauses: [ClosedRange<Double>] = []

  init(
    _ conditions: Conditions = Conditions(), server: ServerConfiguration = ServerConfiguration(seed: 7), seed: UInt64
  ) {
    self.conditions = conditions
    self.server = ServerCore(server)
    random = TestGenerator(seed)
    self.server.setWallClock(unixSeconds: 1_700_000_000, at: moment)
  }

  static let address = Endpoint(address: IPAddress(v4: 0x0a4d_0001), port: 8080)

  var moment: Instant { .seconds(now) }

  func configuration(_ index: Int = 0) -> ClientConfiguration {
    ClientConfiguration(
      server: Self.address, identity: ClientIdentity(high: 1, low: UInt64(index + 1)), user: "user\(index)",
      seed: UInt64(index) &* 977 &+ 13)
  }

  /// Adds a client with one session, connecting.
  func addClient(_ configuration: ClientConfiguration? = nil, connects: Bool = true) throws -> (
    client: Int, session: SessionID
  ) {
    let index = clients.count
    clients.append(ClientCore(configuration ?? self.configuration(index)))
    clients[index].setWallClock(unixSeconds: 1_700_000_000, at: moment)
    let session = clients[index].addSession(at: moment)
    if connects { try clients[index].connect(session, at: moment) }
    settle(client: index)
    return (index, session)
  }

  func after(_ delay: Double, _ action: @escaping () -> Void) {
    order += 1
    queue.append((now + max(0, delay), order, action))
    var child = queue.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard isBefore(child, parent) else { break }
      queue.swapAt(child, parent)
      child = parent
    }
  }

  private func isBefore(_ a: Int, _ b: Int) -> Bool {
    (queue[a].time, queue[a].order) < (queue[b].time, queue[b].order)
  }

  private func popFirst() -> (time: Double, order: Int, action: () -> Void) {
    let first = queue[0]
    let last = queue.removeLast()
    if !queue.isEmpty {
      queue[0] = last
      var parent = 0
      while true {
        var least = parent
        for child in [2 * parent + 1, 2 * parent + 2] where child < queue.count && isBefore(child, least) {
          least = child
        }
        if least == parent { break }
        queue.swapAt(parent, least)
        parent = least
      }
    }
    return first
  }

  /// Lets time pass until `end`, or until `isDone`.
  func run(until end: Double, _ isDone: () -> Bool = { false }) {
    while !isDone() {
      let deadlines = clients.indices.compactMap { index in clients[index].deadline.map { ($0, index) } }
      let nextClient = deadlines.min { $0.0 < $1.0 }
      let serverAt = server.deadline.map { Double($0.nanoseconds) / 1e9 } ?? .infinity
      let clientAt = nextClient.map { Double($0.0.nanoseconds) / 1e9 } ?? .infinity
      let eventAt = queue.first?.time ?? .infinity
      let next = max(now, min(serverAt, clientAt, eventAt))
      guard next <= end else { break }
      now = next
      if eventAt <= min(serverAt, clientAt) {
        popFirst().action()
      } else if clientAt <= serverAt, let client = nextClient?.1 {
        clients[client].deadlineReached(at: max(moment, nextClient?.0 ?? moment))
        settle(client: client)
      } else {
        server.deadlineReached(at: max(moment, server.deadline ?? moment))
        settleServer()
      }
    }
    if now < end, end.isFinite, !isDone() { now = end }
  }

  // MARK: what cores ask for

  func settle(client index: Int) {
    while true {
      clients[index].take(&inbox)
      let events = inbox
      for event in events.events { onClientEvent(index, event, events) }
      guard let command = clients[index].nextCommand() else {
        if clients[index].hasEvents { continue }
        return
      }
      perform(command, client: index)
    }
  }

  func settleServer() {
    while true {
      onServerTurn(&server)
      server.take(&inbox)
      let events = inbox
      for event in events.events { onServerEvent(event, events) }
      guard let command = server.nextCommand() else {
        if server.hasEvents { continue }
        return
      }
      switch command {
      case .write(let id):
        guard let connection = find(server: id) else { continue }
        _ = server.drain(id, at: moment) { self.write($0, connection.down, connection, isUp: false) }
      case .close(let id), .abort(let id): if let connection = find(server: id) { closeFromServer(connection) }
      case .open, .measure: break
      }
    }
  }

  private func find(client: Int, _ id: ConnectionID) -> Connection? {
    connections.last { $0.client == client && $0.clientID == id && !$0.isGone }
  }

  private func find(server id: ConnectionID) -> Connection? { connections.last { $0.serverID == id && !$0.isGone } }

  private func perform(_ command: TransportCommand, client index: Int) {
    switch command {
    case .open(let id, _, _): open(Connection(client: index, clientID: id))
    case .write(let id):
      guard let connection = find(client: index, id) else { return }
      _ = clients[index].drain(id, at: moment) { self.write($0, connection.up, connection, isUp: true) }
    case .measure(let id):
      guard hasFacts, let connection = find(client: index, id) else { return }
      clients[index].measured(facts(connection), on: id, at: moment)
    case .close(let id):
      guard let connection = find(client: index, id) else { return }
      _ = clients[index].drain(id, at: moment) { self.write($0, connection.up, connection, isUp: true) }
      end(connection, tellsServerAfter: max(conditions.delay, connection.up.lastArrival - now))
      clients[index].closed(id, because: .requested, at: moment)
    case .abort(let id):
      guard let connection = find(client: index, id) else { return }
      end(
        connection, tellsServerAfter: random.chance(conditions.loss) || conditions.isOut(now) ? nil : conditions.delay)
    }
  }

  private func end(_ connection: Connection, tellsServerAfter delay: Double?) {
    connection.isGone = true
    guard let id = connection.serverID, let delay else { return }
    after(delay) { [self] in
      server.closed(id, because: .finished, at: moment)
      settleServer()
    }
  }

  private func closeFromServer(_ connection: Connection) {
    if let id = connection.serverID { server.closed(id, because: .requested, at: moment) }
    connection.serverID = nil
    // What was written before goes ahead.
    after(max(conditions.delay, connection.down.lastArrival - now)) { [self] in
      guard !connection.isGone else { return }
      connection.isGone = true
      clients[connection.client].closed(connection.clientID, because: .finished, at: moment)
      settle(client: connection.client)
    }
  }

  /// Nothing passes on the connections that there are now, for ever.
  func stall() { for connection in connections { connection.isStalled = true } }

  private func passes(at time: Double) -> Bool { !conditions.isOut(time) && !random.chance(conditions.loss) }

  private func open(_ connection: Connection) {
    opens += 1
    openTimes.append(now)
    connections.append(connection)
    for attempt in [0.0, 1, 3, 7, 15] {
      guard passes(at: now + attempt), passes(at: now + attempt + conditions.delay) else { continue }
      let leaves = attempt == 0 ? leave(60, isUp: true) : now + attempt
      after(leaves - now + conditions.delay) { [self] in
        guard !connection.isGone else { return }
        if !isListening {
          connection.isGone = true
          after(conditions.delay) { [self] in
            clients[connection.client].closed(connection.clientID, because: .refused, at: moment)
            settle(client: connection.client)
          }
          return
        }
        let remote = Endpoint(address: IPAddress(v4: UInt32(0x0a00_0000 + connection.client)), port: 40_000)
        connection.serverID = server.accepted(from: remote, at: moment)
        settleServer()
        after(leave(60, isUp: false) - now + conditions.delay) { [self] in
          guard !connection.isGone else { return }
          connection.isOpen = true
          connection.usedAt = now
          clients[connection.client].opened(connection.clientID, local: nil, at: moment)
          settle(client: connection.client)
        }
      }
      return
    }
    after(31) { [self] in
      guard !connection.isGone else { return }
      connection.isGone = true
      clients[connection.client].closed(connection.clientID, because: .timedOut, at: moment)
      settle(client: connection.client)
    }
  }

  /// The server stops and starts: all its connections are reset.
  func resetAll() {
    for connection in connections where !connection.isGone && connection.isOpen {
      connection.isGone = true
      if let id = connection.serverID { server.closed(id, because: .reset, at: moment) }
      after(conditions.delay) { [self] in
        clients[connection.client].closed(connection.clientID, because: .reset, at: moment)
        settle(client: connection.client)
      }
    }
    settleServer()
  }

  /// A client's process ends: its connections are closed, and it is not told.
  func forget(client: Int) {
    for connection in connections where connection.client == client && !connection.isGone {
      connection.isGone = true
      if let id = connection.serverID { server.closed(id, because: .reset, at: moment) }
    }
    clients[client] = ClientCore(configuration(client))
    settleServer()
  }

  // MARK: bytes

  /// When so many bytes that are sent now have left, behind all that was sent before.
  private func leave(_ count: Int, isUp: Bool) -> Double {
    bytesOnWire += count
    guard conditions.rate > 0 else { return now }
    let line = isUp ? 0 : 1
    lineFreeAt[line] = max(now, lineFreeAt[line]) + Double(count) / conditions.rate
    return lineFreeAt[line]
  }

  private func write(_ pieces: OutgoingPieces, _ pipe: Pipe, _ connection: Connection, isUp: Bool) -> Int {
    var data: [UInt8] = []
    for place in 0..<pieces.count {
      pieces.withPiece(place) { bytes in bytes.withUnsafeBytes { data.append(contentsOf: $0) } }
    }
    if sendsAtMost < .max {
      let waiting = Int(max(0, lineFreeAt[isUp ? 0 : 1] - now) * conditions.rate)
      data = Array(data.prefix(max(0, sendsAtMost - waiting)))
      if data.count < pieces.byteCount { again(connection, isUp: isUp) }
    }
    if let limit = forgetsAfter, connection.isOpen, now - connection.usedAt > limit { connection.isStalled = true }
    if !connection.isStalled { connection.usedAt = now }
    for start in stride(from: 0, to: data.count, by: 1_400) {
      send([UInt8](data[start..<min(data.count, start + 1_400)]), pipe, connection, isUp: isUp)
    }
    return data.count
  }

  /// The connection is writable a little later.
  private func again(_ connection: Connection, isUp: Bool) {
    after(0.05) { [self] in
      guard !connection.isGone else { return }
      if isUp {
        _ = clients[connection.client].drain(connection.clientID, at: moment) {
          self.write($0, connection.up, connection, isUp: true)
        }
      } else if let id = connection.serverID {
        _ = server.drain(id, at: moment) { self.write($0, connection.down, connection, isUp: false) }
      }
    }
  }

  private func send(_ bytes: [UInt8], _ pipe: Pipe, _ connection: Connection, isUp: Bool) {
    let leaves = leave(bytes.count + 40, isUp: isUp)
    var (attempt, wait) = (leaves, 0.2)
    var timeouts: [Double] = []
    while connection.isStalled || !passes(at: attempt), timeouts.count < 15 {
      attempt += wait
      wait = min(wait * 2, 120)
      timeouts.append(attempt)
    }
    pipe.retransmissions += timeouts.count
    let arrival = max(pipe.lastArrival, attempt + conditions.delay)
    pipe.lastArrival = arrival
    pipe.segments.append(Segment(bytes: bytes, sentAt: now, arrivesAt: arrival, timeouts: timeouts))
    after(arrival - now) { [self] in
      guard !connection.isGone, !connection.isStalled else { return }
      pipe.unread += bytes
      if isUp, let pause = serverPauses.first(where: { $0.contains(now) }) {
        after(pause.upperBound - now + 1e-6) { [self] in if !connection.isGone { deliver(connection, isUp: true) } }
      } else {
        deliver(connection, isUp: isUp)
      }
    }
  }

  private func deliver(_ connection: Connection, isUp: Bool) {
    let pipe = isUp ? connection.up : connection.down
    guard !pipe.unread.isEmpty else { return }
    let bytes = pipe.unread
    let intake: Intake
    if isUp {
      guard let id = connection.serverID else { return }
      intake = server.received(bytes.span.bytes, on: id, at: moment)
    } else {
      intake = clients[connection.client].received(bytes.span.bytes, on: connection.clientID, at: moment)
    }
    pipe.unread.removeFirst(intake.consumed)
    if isUp { settleServer() } else { settle(client: connection.client) }
  }

  private func facts(_ connection: Connection) -> TransportFacts {
    let pipe = connection.up
    let waiting = pipe.segments.filter { $0.arrivesAt + conditions.delay > now }
    let arrived = pipe.segments.filter { $0.arrivesAt + conditions.delay <= now }
    pipe.needless += arrived.reduce(0) { $0 + $1.needless(at: $1.arrivesAt + conditions.delay) }
    pipe.segments = waiting
    let first = waiting.first
    let timeouts = first.map { segment in segment.timeouts.count { $0 <= now } + segment.needless(at: now) } ?? 0
    let queue = max(0, lineFreeAt[0] - now)
    return TransportFacts(
      unacknowledged: UInt32(waiting.count), retransmits: UInt32(timeouts), backoff: UInt32(timeouts),
      totalRetransmits: UInt32(pipe.retransmissions + pipe.needless + (first?.needless(at: now) ?? 0)),
      needlessRetransmits: UInt32(pipe.needless), outOfOrder: UInt32(connection.down.retransmissions),
      roundTrip: .seconds(2 * conditions.delay + queue), shortestRoundTrip: .seconds(2 * conditions.delay))
  }
}
