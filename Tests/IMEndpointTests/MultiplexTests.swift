import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct MultiplexTests {
  @Test func manySessionsOnOneConnection() throws {
    let simulation = Simulation(seed: 1)
    var arrived: [SessionID: [UInt8]] = [:]
    simulation.onServerEvent = { event, inbox in
      guard case .message(let message) = event else { return }
      arrived[message.session, default: []].append(inbox.body(of: message).first ?? 0)
    }
    let (client, first) = try simulation.addClient()
    let others = [SessionKind.media, .signalling, .chat].map {
      simulation.clients[client].addSession($0, at: simulation.moment)
    }
    for session in others { try simulation.clients[client].connect(session, at: simulation.moment) }
    for (index, session) in ([first] + others).enumerated() {
      for number in 0..<50 {
        try simulation.clients[client].send(body: [UInt8(index * 50 + number)], in: session, at: simulation.moment)
      }
    }
    simulation.settle(client: client)
    simulation.run(until: 1_002)
    #expect(simulation.opens == 1 && simulation.server.sessionCount == 4)
    let wanted: [[UInt8]] = (0..<4).map { index in (0..<50).map { number in UInt8(index * 50 + number) } }
    #expect(arrived.values.sorted { $0[0] < $1[0] } == wanted)
    let numbers = ([first] + others).compactMap { simulation.clients[client].wireID(of: $0) }
    #expect(Set(numbers).count == 4)
  }

  @Test func oneEndsAlone() throws {
    let simulation = Simulation(seed: 1)
    let (client, first) = try simulation.addClient()
    let second = simulation.clients[client].addSession(.media, at: simulation.moment)
    try simulation.clients[client].connect(second, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_001)
    #expect(simulation.server.connectionCount == 1)
    simulation.clients[client].forceDisconnect(second, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_002)
    #expect(simulation.clients[client].state(of: second) == .disconnected)
    #expect(simulation.clients[client].state(of: first) == .connected)
    #expect(simulation.clients[client].connectionCount == 1 && simulation.opens == 1)
    let left = simulation.server.sessions.indices.filter { simulation.server.sessions[$0].linkMask == 0 }
    #expect(left.count == 1)
    // Its messages wait for it, those of the other go on.
    try simulation.clients[client].send(body: [1], in: second, at: simulation.moment)
    try simulation.clients[client].send(body: [2], in: first, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_003)
    #expect(simulation.server.metrics.messagesReceived == 1)
    try simulation.clients[client].connect(second, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_004)
    #expect(simulation.server.metrics.messagesReceived == 2 && simulation.server.sessionCount == 2)
  }

  @Test func oneIsRefusedAlone() throws {
    var server = ServerConfiguration(seed: 1)
    server.maximumSessions = 1
    let simulation = Simulation(server: server, seed: 1)
    var outcomes: [SessionID: HandshakeOutcome] = [:]
    simulation.onClientEvent = { _, event, _ in
      if case .handshake(let id, let outcome) = event { outcomes[id] = outcome }
    }
    let (client, first) = try simulation.addClient()
    simulation.run(until: 1_001)
    let second = simulation.clients[client].addSession(at: simulation.moment)
    try simulation.clients[client].connect(second, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_002)
    #expect(outcomes[first] == .agreed(.current, .all.subtracting(.durable)))
    #expect(outcomes[second] == .refused(HandshakeRefusal(.full, version: .current)))
    #expect(simulation.clients[client].state(of: first) == .connected)
    #expect(simulation.clients[client].state(of: second) == .disconnected)
  }

  /// A film under way holds words up for as long as the buffer takes to empty, not for as long as the film takes.
  @Test func chatDoesNotWaitForMedia() throws {
    let simulation = Simulation(Conditions(rate: 100_000), seed: 1)
    var chatAt = 0.0
    var films = 0
    simulation.onServerEvent = { event, inbox in
      guard case .message(let message) = event else { return }
      if message.byteCount == 1 { chatAt = simulation.now } else { films += 1 }
    }
    let (client, chat) = try simulation.addClient()
    let media = simulation.clients[client].addSession(.media, at: simulation.moment)
    try simulation.clients[client].connect(media, at: simulation.moment)
    simulation.sendsAtMost = 65_536
    for _ in 0..<40 {
      try simulation.clients[client].send(
        body: [UInt8](repeating: 1, count: 60_000), category: .media, in: media, at: simulation.moment)
    }
    simulation.settle(client: client)
    simulation.run(until: 1_005)
    try simulation.clients[client].send(body: [1], in: chat, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_040)
    #expect(films == 40)
    #expect(chatAt > 1_005 && chatAt < 1_009, "\(chatAt)")
  }

  /// Frames are told apart by session, so the same number in two sessions is two messages.
  @Test func numbersBelongToSessions() {
    var server = ServerCore(ServerConfiguration(seed: 1))
    guard let id = server.accepted(from: Simulation.address, at: .seconds(1)) else { return }
    var bytes: [UInt8] = []
    for session: UInt16 in [1, 2, 1] {
      FrameHeader(kind: .data, sequence: SequenceNumber(.normal, 77), time: 0, session: session).append(to: &bytes)
    }
    _ = server.received(bytes.span.bytes, on: id, at: .seconds(1))
    #expect(server.metrics.messagesReceived == 2 && server.metrics.duplicatesReceived == 1)
  }
}
