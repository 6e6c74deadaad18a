import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct ReconnectTests {
  private func delays(_ policy: ReconnectPolicy, _ reason: DisconnectReason, count: Int, path: NetworkPath.Kind = .wifi)
    -> [Double?]
  {
    var reconnector = Reconnector(policy: policy)
    var random = SeededGenerator(seed: 5)
    return (0..<count).map { _ in
      let answer = reconnector.lost(reason, path: path, at: .seconds(0), &random)
      reconnector.began()
      if case .attempt(let at) = answer { return Double(at.nanoseconds) / 1e9 }
      return nil
    }
  }

  @Test func delaysGrowToACap() {
    var policy = ReconnectPolicy()
    policy.steadyPart = 1
    #expect(delays(policy, .refused, count: 8) == [1, 1, 2, 4, 8, 16, 30, 30])
    #expect(delays(policy, .network, count: 4) == [0, 1, 2, 4])
    policy.steadyPart = 0.5
    for (drawn, full) in zip(delays(policy, .network, count: 8).dropFirst(), [1.0, 2, 4, 8, 16, 30, 30]) {
      #expect(drawn.map { $0 >= full / 2 && $0 <= full } == true)
    }
    var far = Reconnector(policy: policy)
    for _ in 0..<100_000 { far.began() }
    var random = SeededGenerator(seed: 1)
    if case .attempt(let at) = far.lost(.network, path: .wifi, at: .seconds(0), &random) { #expect(at <= .seconds(30)) }
  }

  /// 2 s * 2^n and up to one more, 30 at most, also before the first attempt.
  @Test func theSeedsDelays() {
    var configuration = ClientConfiguration(server: Simulation.address, seed: 1)
    configuration.useSeedPolicy()
    for (drawn, base) in zip(delays(configuration.reconnect, .network, count: 6).dropFirst(1), [2.0, 4, 8, 16, 30]) {
      #expect(drawn.map { $0 >= base && $0 <= min(30, base + 1) } == true)
    }
    #expect(delays(configuration.reconnect, .network, count: 1)[0].map { $0 >= 2 && $0 <= 3 } == true)
  }

  @Test(arguments: DisconnectReason.allCases) func whatEachReasonLeadsTo(_ reason: DisconnectReason) {
    let first = delays(ReconnectPolicy(), reason, count: 1)[0]
    switch reason {
    case .requested, .version, .rejected: #expect(first == nil)
    case .closedByPeer: #expect(first.map { $0 < 1 } == true)
    case .refused, .secureChannel: #expect(first.map { $0 >= 0.5 && $0 <= 1 } == true)
    default: #expect(first == 0)
    }
  }

  @Test func theNetworkDecides() {
    #expect(delays(ReconnectPolicy(), .network, count: 1, path: .wifi) == [0])
    #expect(delays(ReconnectPolicy(), .network, count: 1, path: .cellular) == [1])
    #expect(delays(ReconnectPolicy(), .network, count: 2, path: .none) == [5, 5])
  }

  @Test func attemptsAreCountedUntilOneSucceeds() throws {
    var policy = ReconnectPolicy()
    policy.maximumAttempts = 3
    var reconnector = Reconnector(policy: policy)
    var random = SeededGenerator(seed: 5)
    for _ in 0..<3 {
      #expect(reconnector.lost(.network, path: .wifi, at: .seconds(0), &random) != .giveUp(attempts: 3))
      reconnector.began()
    }
    #expect(reconnector.lost(.network, path: .wifi, at: .seconds(0), &random) == .giveUp(attempts: 3))
    reconnector.succeeded()
    #expect(reconnector.lost(.network, path: .wifi, at: .seconds(0), &random) == .attempt(at: .seconds(0)))
  }

  @Test func theApplicationIsToldAndMayAskAgain() throws {
    let simulation = Simulation(seed: 1)
    simulation.isListening = false
    var gaveUp: [Int] = []
    var delivered = 0
    simulation.onClientEvent = { _, event, _ in
      if case .gaveUp(let attempts) = event { gaveUp.append(attempts) }
      if case .progress(_, _, .accepted) = event { delivered += 1 }
    }
    var configuration = simulation.configuration()
    configuration.reconnect.maximumAttempts = 4
    let (client, session) = try simulation.addClient(configuration)
    try simulation.clients[client].send(Message(.text("still here")), in: session, at: simulation.moment)
    simulation.run(until: 1_100)
    #expect(gaveUp == [4] && simulation.opens == 4)
    #expect(simulation.clients[client].state(of: session) == .disconnected)
    simulation.isListening = true
    try simulation.clients[client].connect(session, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_101)
    #expect(delivered == 1)
  }

  /// Seconds from the network's return to the first acknowledgment, for ten clients that keep sending.
  private func returnTimes(outage: ClosedRange<Double>, loss: Double = 0, seed: UInt64) throws -> [Double] {
    var first = [Double?](repeating: nil, count: 10)
    let simulation = Simulation(Conditions(outages: [outage]), seed: seed)
    simulation.onClientEvent = { client, event, _ in
      if case .progress(_, _, .accepted) = event, simulation.now > outage.upperBound, first[client] == nil {
        first[client] = simulation.now - outage.upperBound
      }
    }
    for _ in 0..<10 {
      let (client, session) = try simulation.addClient()
      for step in 0..<120 {
        simulation.after(Double(step) / 2) {
          _ = try? simulation.clients[client].send(
            body: [UInt8](repeating: 1, count: 100), in: session, at: simulation.moment)
          simulation.settle(client: client)
        }
      }
    }
    simulation.after(outage.upperBound - simulation.now) { simulation.conditions.loss = loss }
    simulation.run(until: 1_080)
    #expect(simulation.clients.allSatisfy { $0.metrics.messagesAcknowledged == 120 })
    return first.compactMap { $0 }
  }

  @Test(arguments: [3.0, 20]) func afterAnOutage(seconds: Double) throws {
    let times = try returnTimes(outage: 1_005...1_005 + seconds, seed: 3)
    #expect(times.count == 10)
    #expect(times.reduce(0, +) / 10 < 0.4 && times.max() ?? 9 < 1, "\(times)")
  }

  @Test(arguments: [3.0, 20]) func afterAnOutageOnALossyNetwork(seconds: Double) throws {
    let times = try returnTimes(outage: 1_005...1_005 + seconds, loss: 0.3, seed: 3)
    #expect(times.count == 10)
    #expect(times.reduce(0, +) / 10 < 1 && times.max() ?? 9 < 3, "\(times)")
  }

  /// From Wi-Fi to cellular: the connections of the path before are left, the session and its messages stay.
  @Test func aChangeOfAddress() throws {
    let simulation = Simulation(Conditions(delay: 0.02), seed: 2)
    var bodies: [UInt8] = []
    simulation.onServerEvent = { event, inbox in
      if case .message(let message) = event { bodies.append(inbox.body(of: message).first ?? 0) }
    }
    let (client, session) = try simulation.addClient()
    simulation.clients[client].pathChanged(to: NetworkPath(.wifi, number: 1), at: simulation.moment)
    for number in 0..<60 {
      simulation.after(Double(number) * 0.1) {
        _ = try? simulation.clients[client].send(body: [UInt8(number)], in: session, at: simulation.moment)
        simulation.settle(client: client)
      }
    }
    simulation.after(2) {
      simulation.stall()
      simulation.clients[client].pathChanged(to: NetworkPath(.cellular, number: 2), at: simulation.moment)
      simulation.settle(client: client)
    }
    simulation.run(until: 1_010)
    #expect(bodies.sorted() == (0..<60).map { UInt8($0) })
    #expect(simulation.server.sessionCount == 1 && simulation.clients[client].connectionCount >= 1)
    // Cellular waits for a second.
    #expect(simulation.openTimes.first { $0 > 1_002 }.map { $0 >= 1_003 && $0 < 1_003.1 } == true)
  }

  @Test func withoutAPathALookEveryFiveSeconds() throws {
    let simulation = Simulation(Conditions(outages: [1_002...1_040]), seed: 2)
    let (client, session) = try simulation.addClient()
    simulation.run(until: 1_002.1)
    simulation.clients[client].pathChanged(to: .none, at: simulation.moment)
    simulation.settle(client: client)
    #expect(simulation.clients[client].state(of: session) == .disconnected)
    let before = simulation.opens
    simulation.run(until: 1_032.2)
    #expect((3...6).contains(simulation.opens - before))
    simulation.run(until: 1_041)
    simulation.clients[client].pathChanged(to: .wifi, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_041.05)
    #expect(simulation.clients[client].state(of: session) == .connected)
  }

  /// All clients of a server that restarts come back, and not all at once.
  @Test func aServerRestarts() throws {
    let simulation = Simulation(seed: 9)
    for _ in 0..<200 { _ = try simulation.addClient() }
    simulation.run(until: 1_001)
    #expect(simulation.clients.allSatisfy { $0.connectionCount == 1 })
    let before = simulation.openTimes.count
    simulation.isListening = false
    simulation.resetAll()
    simulation.run(until: 1_004)
    simulation.isListening = true
    simulation.run(until: 1_060)
    #expect(simulation.clients.allSatisfy { $0.connectionCount == 1 })
    var tenths: [Int: Int] = [:]
    for time in simulation.openTimes.dropFirst(before) { tenths[Int(time * 10), default: 0] += 1 }
    // 200 in one moment without the spread.
    #expect(tenths.values.max() ?? 999 <= 50, "\(tenths)")
  }

  @Test func firstConnectOverALossyNetwork() throws {
    var times: [Double] = []
    for seed in 0..<100 {
      let simulation = Simulation(Conditions(loss: 0.3), seed: UInt64(seed) + 500)
      simulation.onClientEvent = { _, event, _ in
        if case .connection(_, .connected, _, _) = event { times.append(simulation.now - 1_000) }
      }
      _ = try simulation.addClient()
      simulation.run(until: 1_030) { !times.isEmpty && times.count > seed }
    }
    #expect(times.count == 100)
    let mean = times.reduce(0, +) / 100
    #expect(mean < 0.3, "\(mean)")
  }

  /// What was under way when the connection broke is sent again before what was said while there was none.
  @Test func theOrderSurvivesAReconnect() throws {
    var now = Instant.seconds(1_000)
    var core = ClientCore(ClientConfiguration(server: Simulation.address, seed: 3))
    let session = core.addSession(at: now)
    try core.connect(session, at: now)
    func open() throws -> ConnectionID {
      for _ in 0..<100 {
        while let command = core.nextCommand() {
          guard case .open(let id, _, _) = command else { continue }
          core.opened(id, local: nil, at: now)
          return id
        }
        now = try #require(core.deadline)
        core.deadlineReached(at: now)
      }
      throw CancellationError()
    }
    func written(on connection: ConnectionID) -> String {
      var bytes: [UInt8] = []
      _ = core.drain(connection, at: now) { pieces in
        pieces.forEach { piece in
          piece.withUnsafeBytes { bytes.append(contentsOf: $0) }
          return piece.byteCount
        }
      }
      return String(decoding: bytes, as: UTF8.self)
    }
    let first = try open()
    try core.send(Message(.text("said first")), in: session, at: now)
    #expect(written(on: first).contains("said first"))
    core.closed(first, because: .reset, at: now)
    try core.send(Message(.text("said second")), in: session, at: now)
    let text = written(on: try open())
    let places = ["said first", "said second"].compactMap { text.firstRange(of: $0)?.lowerBound }
    #expect(places.count == 2 && places == places.sorted())
  }
}
