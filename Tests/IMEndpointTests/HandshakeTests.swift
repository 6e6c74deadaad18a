import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct HandshakeTests {
  private func outcome(
    client version: ProtocolVersion = .current, _ features: Features = .all, server own: ProtocolVersion = .current,
    _ offered: Features = .all, _ faults: ServerFaults = ServerFaults(), message: Bool = true
  ) throws -> (outcomes: [HandshakeOutcome], states: [ConnectionState], arrived: Int, simulation: Simulation) {
    var server = ServerConfiguration(seed: 1)
    server.speech.version = own
    server.speech.features = offered
    server.faults = faults
    let simulation = Simulation(server: server, seed: 1)
    var (outcomes, states, arrived): ([HandshakeOutcome], [ConnectionState], Int) = ([], [], 0)
    simulation.onClientEvent = { _, event, _ in
      if case .handshake(_, let outcome) = event { outcomes.append(outcome) }
      if case .connection(_, let state, _, _) = event { states.append(state) }
    }
    simulation.onServerEvent = { event, _ in if case .message = event { arrived += 1 } }
    var configuration = simulation.configuration()
    configuration.speech.version = version
    configuration.speech.features = features
    let (client, session) = try simulation.addClient(configuration)
    if message { try simulation.clients[client].send(Message(.text("hello")), in: session, at: simulation.moment) }
    simulation.run(until: 1_020)
    return (outcomes, states, arrived, simulation)
  }

  @Test func theBytesOfTheQuestion() {
    let request = HandshakeRequest(version: .current, features: [.basic, .encryption, .receipts])
    #expect(request.encoded == [0, 1, 0, 0, 0, 4, 1, 0, 0, 0x0b])
    #expect(HandshakeRequest(decoding: request.encoded.span.bytes) == request)
    let full = HandshakeRequest(
      version: ProtocolVersion(1, 7), features: .all, identity: ClientIdentity(high: 3, low: .max), user: "名",
      unsettled: UnsettledNumbers([1, 2, 3, 4, 0xfe_ffff], epoch: .max - 1))
    #expect(HandshakeRequest(decoding: full.encoded.span.bytes) == full)
    for count in 0..<full.encoded.count { _ = HandshakeRequest(decoding: Array(full.encoded.prefix(count)).span.bytes) }
    let refused = HandshakeResponse.refused(HandshakeRefusal(.full, version: ProtocolVersion(2, 1)))
    #expect(HandshakeResponse(decoding: refused.encoded.span.bytes) == refused)
  }

  @Test func bothDoWhatBothCan() throws {
    let run = try outcome(
      client: .current, [.basic, .compression, .receipts], server: .current, [.basic, .receipts, .groups])
    #expect(run.outcomes == [.agreed(.current, [.basic, .receipts])])
    #expect(run.states == [.connecting, .connected] && run.arrived == 1)
  }

  @Test(arguments: [(0, 3, 0), (3, 0, 0), (2, 2, 2)]) func theLowerMinorIsSpoken(client: Int, server: Int, both: Int)
    throws
  {
    let run = try outcome(client: ProtocolVersion(1, UInt8(client)), server: ProtocolVersion(1, UInt8(server)))
    #expect(run.outcomes == [.agreed(ProtocolVersion(1, UInt8(both)), .all.subtracting(.durable))])
    #expect(run.arrived == 1)
  }

  @Test(arguments: [(1, 2), (2, 1), (3, 1)]) func anotherMajorIsRefusedWithTheReason(client: Int, server: Int) throws {
    let run = try outcome(client: ProtocolVersion(UInt8(client), 0), server: ProtocolVersion(UInt8(server), 4))
    #expect(run.outcomes == [.refused(HandshakeRefusal(.version, version: ProtocolVersion(UInt8(server), 4)))])
    #expect(run.states == [.connecting, .connected, .disconnected] && run.arrived == 0)
    // Whoever was refused for its version does not try again.
    #expect(run.simulation.opens == 1)
  }

  @Test func aServerMaySayNo() throws {
    var faults = ServerFaults()
    faults.refusal = .unwelcome
    let run = try outcome(faults)
    #expect(
      run.outcomes == [.refused(HandshakeRefusal(.unwelcome, version: .current))] && run.states.last == .disconnected)
  }

  private func outcome(_ faults: ServerFaults) throws -> (
    outcomes: [HandshakeOutcome], states: [ConnectionState], arrived: Int, simulation: Simulation
  ) { try outcome(client: .current, .all, server: .current, .all, faults) }

  @Test func aServerThatNeverAnswersIsTold() throws {
    var faults = ServerFaults()
    faults.silentAfter = 0
    let run = try outcome(client: .current, .all, server: .current, .all, faults, message: false)
    #expect(run.outcomes == [.unanswered])
  }

  /// The article's own client and server never come to an end of this: both want twelve bytes of ten.
  @Test func theSeedsWayOfSpeakingIsUnderstood() throws {
    let simulation = Simulation(seed: 1)
    var outcomes: [HandshakeOutcome] = []
    var delivered = 0
    simulation.onClientEvent = { _, event, _ in
      if case .handshake(_, let outcome) = event { outcomes.append(outcome) }
      if case .progress(_, _, .accepted) = event { delivered += 1 }
    }
    var configuration = simulation.configuration()
    configuration.useSeedPolicy()
    let (client, session) = try simulation.addClient(configuration)
    for _ in 0..<5 { try simulation.clients[client].send(Message(.text("hello")), in: session, at: simulation.moment) }
    simulation.settle(client: client)
    simulation.run(until: 1_002)
    #expect(outcomes == [.agreed(.current, [.basic, .receipts])] && delivered == 5)
    // The server's messages are acknowledged by frames with numbers of their own.
    guard let peer = simulation.server.sessions.indices.first.map({ simulation.server.id($0) }) else { return }
    for _ in 0..<5 { try simulation.server.send(Message(.text("hi")), to: peer, at: simulation.moment) }
    simulation.settleServer()
    simulation.run(until: 1_003)
    #expect(simulation.server.metrics.messagesAcknowledged == 5)
  }

  @Test func compressionComesWithTheAgreement() throws {
    let simulation = Simulation(seed: 1)
    var texts: [String] = []
    simulation.onServerEvent = { event, inbox in
      guard case .message(let message) = event, let content = try? inbox.content(of: message).content else { return }
      if case .text(let text) = content { texts.append(text) }
    }
    let (client, session) = try simulation.addClient()
    let text = String(repeating: "the same words again and again, ", count: 40)
    try simulation.clients[client].send(Message(.text(text)), in: session, at: simulation.moment)
    simulation.run(until: 1_001)
    let before = simulation.clients[client].metrics.bytesSent
    try simulation.clients[client].send(Message(.text(text)), in: session, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_002)
    #expect(texts == [text, text])
    #expect(before > 1_280 && simulation.clients[client].metrics.bytesSent - before < 200)
  }

  @Test func afterADayItIsAskedAnew() {
    var handshake = HandshakeProgress()
    #expect(handshake.isExpired(at: .seconds(0)))
    handshake.phase = .agreed(at: .seconds(10))
    #expect(!handshake.isExpired(at: .seconds(86_409)) && handshake.isExpired(at: .seconds(86_410)))
    handshake.lostAt = .seconds(100)
    #expect(!handshake.isExpired(at: .seconds(399)) && handshake.isExpired(at: .seconds(400)))
  }
}
