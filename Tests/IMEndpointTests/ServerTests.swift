import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct ServerTests {
  private func chat(_ conditions: Conditions = Conditions(), seed: UInt64 = 1) throws -> (Simulation, [SessionID]) {
    var server = ServerConfiguration(seed: 1)
    server.service = .forward
    let simulation = Simulation(conditions, server: server, seed: seed)
    let sessions = try (0..<2).map { _ in try simulation.addClient().session }
    simulation.run(until: 1_001)
    return (simulation, sessions)
  }

  @Test func messagesAndReceiptsBetweenUsers() throws {
    let (simulation, sessions) = try chat()
    var life: [MessageState] = []
    var heard: [Message] = []
    simulation.onClientEvent = { client, event, inbox in
      if client == 0, case .progress(_, _, let state) = event { life.append(state) }
      if client == 1, case .message(let message) = event, let content = try? inbox.content(of: message) {
        heard.append(content)
        simulation.after(1) {
          try? simulation.clients[1].markRead(message.sequence, in: message.session, at: simulation.moment)
          simulation.settle(client: 1)
        }
      }
    }
    // No client writes under another name.
    try simulation.clients[0].send(
      Message(.text("hello"), to: "user1", from: "somebody"), in: sessions[0], at: simulation.moment)
    simulation.settle(client: 0)
    simulation.run(until: 1_003)
    #expect(heard == [Message(.text("hello"), to: "user1", from: "user0")])
    #expect(life.filter { $0 != .failed } == [.created, .sending, .sent, .accepted, .delivered, .read])
    try simulation.clients[0].send(Message(.text("to whom?")), in: sessions[0], at: simulation.moment)
    simulation.settle(client: 0)
    simulation.run(until: 1_004)
    #expect(simulation.server.undeliverable == 1)
  }

  /// Who writes to somebody who was never there, or who has left and comes back as another client: nothing is lost, nothing
  /// comes twice, and what was read is told.
  @Test func whoComesLaterGetsWhatWaits() throws {
    let (simulation, sessions) = try chat()
    var heard: [Int: [Message]] = [:]
    var read = 0
    simulation.onClientEvent = { client, event, inbox in
      if case .progress(_, _, .read) = event { read += 1 }
      guard case .message(let message) = event, let content = try? inbox.content(of: message) else { return }
      heard[client, default: []].append(content)
      simulation.after(0.1) {
        try? simulation.clients[client].markRead(message.sequence, in: message.session, at: simulation.moment)
        simulation.settle(client: client)
      }
    }
    func say(_ word: String) throws {
      try simulation.clients[0].send(Message(.text(word), to: "late"), in: sessions[0], at: simulation.moment)
      simulation.settle(client: 0)
      simulation.run(until: simulation.now + 1)
    }
    func come(_ identity: UInt64) throws -> (client: Int, session: SessionID) {
      var configuration = simulation.configuration()
      configuration.identity = ClientIdentity(high: 2, low: identity)
      configuration.user = "late"
      let new = try simulation.addClient(configuration)
      simulation.run(until: simulation.now + 1)
      return new
    }
    let (one, two, three) = ("before anybody came", "while no one was there", "behind a lost connection")
    try say(one)
    let first = try come(1)
    #expect(heard[first.client] == [Message(.text(one), to: "late", from: "user0")])
    // It leaves in order, and another client comes by the name.
    try simulation.clients[first.client].disconnect(first.session, at: simulation.moment)
    simulation.settle(client: first.client)
    simulation.run(until: simulation.now + 2)
    try say(two)
    let second = try come(2)
    #expect(heard[second.client]?.map(\.content) == [.text(two)])
    // It loses its connection and comes back itself: what waited comes once, and a third client gets nothing old.
    simulation.clients[second.client].forceDisconnect(second.session, at: simulation.moment)
    simulation.settle(client: second.client)
    simulation.run(until: simulation.now + 1)
    try say(three)
    try simulation.clients[second.client].connect(second.session, at: simulation.moment)
    simulation.settle(client: second.client)
    simulation.run(until: simulation.now + 2)
    #expect(heard[second.client]?.map(\.content) == [.text(two), .text(three)])
    let third = try come(3)
    #expect(heard[third.client] == nil)
    #expect(heard[first.client]?.count == 1)
    #expect(read == 3)
    #expect(simulation.server.undeliverable == 0)
  }

  @Test func whoIsAwayGetsItLater() throws {
    let (simulation, sessions) = try chat()
    var heard: [Message] = []
    simulation.onClientEvent = { client, event, inbox in
      if client == 1, case .message(let message) = event, let content = try? inbox.content(of: message) {
        heard.append(content)
      }
    }
    simulation.clients[1].forceDisconnect(sessions[1], at: simulation.moment)
    simulation.settle(client: 1)
    simulation.run(until: 1_002)
    for word in ["one", "two", "three"] {
      try simulation.clients[0].send(Message(.text(word), to: "user1"), in: sessions[0], at: simulation.moment)
    }
    simulation.settle(client: 0)
    simulation.run(until: 1_600)
    #expect(heard.isEmpty)
    try simulation.clients[1].connect(sessions[1], at: simulation.moment)
    simulation.settle(client: 1)
    simulation.run(until: 1_602)
    #expect(heard.map(\.content) == [.text("one"), .text("two"), .text("three")])
  }

  /// Both ways over a network that loses three of ten segments and is away at times: all arrive, each once.
  @Test(arguments: [UInt64(1), 2, 3]) func bothWaysOverALossyNetwork(seed: UInt64) throws {
    let (simulation, sessions) = try chat(seed: seed)
    simulation.conditions = Conditions(loss: 0.3, outages: [1_010...1_012, 1_020...1_026])
    var heard: [[Int]] = [[], []]
    var read = 0
    simulation.onClientEvent = { client, event, inbox in
      if case .progress(_, _, .read) = event { read += 1 }
      guard case .message(let message) = event, let content = try? inbox.content(of: message),
        case .text(let text) = content.content
      else { return }
      heard[client].append(Int(text) ?? -1)
      try? simulation.clients[client].markRead(message.sequence, in: message.session, at: simulation.moment)
    }
    for step in 0..<60 {
      for client in 0..<2 {
        simulation.after(Double(step) * 0.5) {
          let message = Message(.text("\(step)"), to: "user\(1 - client)")
          _ = try? simulation.clients[client].send(message, in: sessions[client], at: simulation.moment)
          simulation.settle(client: client)
        }
      }
    }
    simulation.run(until: 1_200) { heard[0].count >= 60 && heard[1].count >= 60 && read >= 120 }
    simulation.run(until: simulation.now + 5)
    #expect(heard.map { $0.sorted() } == [Array(0..<60), Array(0..<60)])
    #expect(read == 120)
  }

  @Test func echo() throws {
    var server = ServerConfiguration(seed: 1)
    server.service = .echo
    let simulation = Simulation(server: server, seed: 1)
    var back: [UInt8] = []
    simulation.onClientEvent = { _, event, inbox in
      if case .message(let message) = event { back += inbox.body(of: message) }
    }
    let (client, session) = try simulation.addClient()
    for number in 0..<10 {
      try simulation.clients[client].send(body: [UInt8(number)], in: session, at: simulation.moment)
    }
    simulation.settle(client: client)
    simulation.run(until: 1_002)
    #expect(back == Array(0..<10))
    #expect(simulation.server.metrics.messagesAcknowledged == 10)
  }

  /// A server that has started anew counts from anywhere: what it sends is not taken for what the one before has sent.
  @Test(arguments: UInt64(11)...18) func aServerThatStartsAnew(seed: UInt64) throws {
    let simulation = Simulation(seed: 1)
    var heard: [UInt8] = []
    simulation.onClientEvent = { _, event, inbox in
      if case .message(let message) = event { heard += inbox.body(of: message) }
    }
    simulation.onServerEvent = { event, inbox in
      guard case .message(let message) = event else { return }
      _ = try? simulation.server.send(body: Array(inbox.body(of: message)), to: message.session, at: simulation.moment)
    }
    let (client, session) = try simulation.addClient()
    for number in 0..<100 {
      simulation.after(Double(number) * 0.1) {
        _ = try? simulation.clients[client].send(body: [UInt8(number)], in: session, at: simulation.moment)
        simulation.settle(client: client)
      }
    }
    simulation.after(5.05) {
      simulation.resetAll()
      simulation.server = ServerCore(ServerConfiguration(seed: seed))
    }
    simulation.run(until: 1_020)
    #expect(heard.sorted() == Array(0..<100))
  }

  private func run(_ faults: ServerFaults, count: Int = 20, until end: Double = 1_030) throws -> (
    Simulation, delivered: Int
  ) {
    var server = ServerConfiguration(seed: 1)
    server.faults = faults
    let simulation = Simulation(server: server, seed: 1)
    var delivered = 0
    simulation.onClientEvent = { _, event, _ in if case .progress(_, _, .accepted) = event { delivered += 1 } }
    let (client, session) = try simulation.addClient()
    for number in 0..<count {
      simulation.after(Double(number) * 0.1) {
        _ = try? simulation.clients[client].send(body: [UInt8(number)], in: session, at: simulation.moment)
        simulation.settle(client: client)
      }
    }
    simulation.run(until: end)
    return (simulation, delivered)
  }

  @Test func faultDuplicateAcknowledgments() throws {
    var faults = ServerFaults()
    faults.repeatsAcknowledgments = 2
    let (simulation, delivered) = try run(faults)
    #expect(delivered == 20 && simulation.clients[0].metrics.duplicateAcknowledgments == 40)
  }

  @Test func faultSlow() throws {
    var faults = ServerFaults()
    faults.acknowledgmentDelay = .milliseconds(400)
    let (simulation, delivered) = try run(faults)
    #expect(delivered == 20)
    // Slow is not lost: no second connection.
    #expect(simulation.opens == 1)
  }

  @Test func faultWrongChecksums() throws {
    var faults = ServerFaults()
    faults.damagesEvery = 4
    let (simulation, delivered) = try run(faults)
    #expect(delivered == 20 && simulation.clients[0].metrics.parseErrors > 0)
    #expect(simulation.server.metrics.messagesReceived == 20)
  }

  @Test func faultSilent() throws {
    var faults = ServerFaults()
    faults.silentAfter = 6
    let (simulation, delivered) = try run(faults, until: 1_120)
    // Each connection answers six frames, the handshake and five messages, until all are through.
    #expect(delivered == 20 && simulation.opens > 1)
  }

  @Test func faultClosing() throws {
    var faults = ServerFaults()
    faults.closesAfter = 6
    let (simulation, delivered) = try run(faults)
    #expect(delivered == 20 && simulation.server.metrics.messagesReceived == 20)
  }

  @Test func sessionsAreBounded() {
    var configuration = ServerConfiguration(seed: 1)
    configuration.maximumSessions = 10
    var server = ServerCore(configuration)
    for session: UInt16 in 0..<30 {
      guard let id = server.accepted(from: Simulation.address, at: .seconds(Double(session))) else { continue }
      let body = HandshakeRequest(
        version: .current, features: .all, identity: ClientIdentity(high: 1, low: UInt64(session)), secret: .random()
      ).encoded
      var bytes: [UInt8] = []
      FrameHeader(control: body, SequenceNumber(.control, 1), version: .current, time: 0, session: session)
        .append(to: &bytes)
      bytes += body
      FrameHeader(kind: .data, sequence: SequenceNumber(.normal, 1), time: 0, session: session).append(to: &bytes)
      _ = server.received(bytes.span.bytes, on: id, at: .seconds(Double(session)))
      server.closed(id, because: .finished, at: .seconds(Double(session)))
    }
    #expect(server.sessionCount == 10 && server.sessionsEvicted == 20 && server.connectionCount == 0)
    #expect(server.sessions.count <= 11)
    // Those that are left are forgotten when nothing has been heard of them for long enough.
    let end = Instant.seconds(30).advanced(by: configuration.memory)
    server.deadlineReached(at: end)
    #expect(server.sessionCount == 0 && server.sessionsExpired == 10 && server.sessionsEvicted == 20)
    #expect(server.devices.allSatisfy { !$0.isKnown })
  }

  /// Who does not say who it is cannot be told from anybody else: its sessions end with their connection.
  @Test func aSessionWithoutASecretIsItsConnections() {
    var server = ServerCore(ServerConfiguration(seed: 1))
    for identity in [nil, ClientIdentity(high: 1, low: 2)] {
      guard let id = server.accepted(from: Simulation.address, at: .seconds(1)),
        let other = server.accepted(from: Simulation.address, at: .seconds(1))
      else { return }
      let body = HandshakeRequest(version: .current, features: .all, identity: identity).encoded
      var bytes: [UInt8] = []
      FrameHeader(control: body, SequenceNumber(.control, 1), version: .current, time: 0, session: 9).append(to: &bytes)
      bytes += body
      for connection in [id, other] { _ = server.received(bytes.span.bytes, on: connection, at: .seconds(1)) }
      #expect(server.sessionCount == 2)
      for connection in [id, other] { server.closed(connection, because: .finished, at: .seconds(2)) }
      #expect(server.sessionCount == 0 && server.devices.allSatisfy { !$0.isKnown })
    }
  }

  @Test func oneConnectionDoesNotFillTheServer() {
    var server = ServerCore(ServerConfiguration(seed: 1))
    guard let id = server.accepted(from: Simulation.address, at: .seconds(1)) else { return }
    var bytes: [UInt8] = []
    for session: UInt16 in 0..<500 {
      FrameHeader(kind: .data, sequence: SequenceNumber(.normal, 1), time: 0, session: session).append(to: &bytes)
    }
    _ = server.received(bytes.span.bytes, on: id, at: .seconds(1))
    #expect(server.sessionCount == 64 && server.metrics.messagesReceived == 64)
  }

  @Test func whoDoesNotReadIsLeft() {
    var server = ServerCore(ServerConfiguration(seed: 1))
    guard let id = server.accepted(from: Simulation.address, at: .seconds(1)) else { return }
    var bytes: [UInt8] = []
    for counter: UInt32 in 1...10_000 {
      FrameHeader(kind: .data, sequence: SequenceNumber(.normal, counter), time: 0, session: 1).append(to: &bytes)
    }
    var rounds = 0
    while server.connectionCount > 0, rounds < 100 {
      _ = server.received(bytes.span.bytes, on: id, at: .seconds(1))
      rounds += 1
    }
    // 4 MiB of acknowledgments of 28 bytes.
    #expect(rounds == 15)
  }

  @Test func connectionsThatSayNothingAreClosed() {
    var server = ServerCore(ServerConfiguration(seed: 1))
    let id = server.accepted(from: Simulation.address, at: .seconds(1))
    #expect(server.deadline == .seconds(16))
    server.deadlineReached(at: .seconds(16))
    let command = server.nextCommand()
    #expect(command == id.map { .abort($0) } && server.connectionCount == 0)
  }

  @Test func metricsUnderTheArticlesNames() throws {
    let simulation = Simulation(seed: 1)
    let (client, session) = try simulation.addClient()
    for _ in 0..<7 { try simulation.clients[client].send(Message(.text("hi")), in: session, at: simulation.moment) }
    simulation.settle(client: client)
    simulation.run(until: 1_050)
    let values = Dictionary(
      simulation.clients[client].metrics.values.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    #expect(values["message_send_total"] == 7 && values["message_acked_total"] == 7)
    #expect(values["connection_attempts"] == 1 && values["connection_success"] == 1)
    #expect(values["heartbeat_send"] == 1 && values["heartbeat_loss"] == 0)
    #expect(values["rtt"].map { abs($0 - 0.01) < 0.001 } == true)
    #expect(values["bytes_send"] == Double(simulation.server.metrics.bytesReceived))
    #expect(values["bytes_received"] == Double(simulation.server.metrics.bytesSent))
    #expect(values["message_retried_total"] == 0 && values["parse_errors_total"] == 0)
  }
}
