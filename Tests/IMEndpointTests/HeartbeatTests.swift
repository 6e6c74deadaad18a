import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct HeartbeatTests {
  @Test(arguments: [
    (50.0, 0.0, NetworkQuality.excellent), (99, 0.019, .excellent), (100, 0, .good), (50, 0.02, .good),
    (299, 0.049, .good),
    (300, 0, .fair), (10, 0.05, .fair), (500, 0, .poor), (10, 0.10, .poor), (800, 0, .bad), (10, 0.15, .bad),
  ]) func levels(milliseconds: Double, loss: Double, level: NetworkQuality) {
    #expect(NetworkQuality(roundTrip: .seconds(milliseconds / 1_000), loss: loss) == level)
  }

  @Test func nothingMeasuredIsUnknown() {
    #expect(NetworkQuality(roundTrip: nil, loss: 0) == .unknown && NetworkQuality(roundTrip: nil, loss: 1) == .bad)
  }

  @Test func laterSamplesWeighMore() {
    var window = QualityWindow()
    window.answered(after: 100_000_000)
    window.answered(after: 200_000_000)
    // (1.0 * 100 + 1.2 * 200) / 2.2
    #expect(window.roundTrip.map { abs($0.wholeNanoseconds - 154_545_454) <= 1 } == true)
    for _ in 0..<10 { window.answered(after: 40_000_000) }
    #expect(window.roundTrip == .milliseconds(40) && window.quality == .excellent)
    window.lost()
    #expect(window.loss == 0.1)
  }

  /// The article's words: the worse the network, the shorter; and its code, which does the opposite.
  @Test func intervalsByQuality() {
    var policy = HeartbeatPolicy()
    func interval(
      _ quality: NetworkQuality, _ mode: ApplicationMode = .foreground, _ roundTrip: Duration = .milliseconds(50)
    )
      -> Duration?
    { policy.interval(mode: mode, quality: quality, roundTrip: roundTrip) }
    #expect([.excellent, .good, .fair, .poor, .bad].map { interval($0) } == [36, 30, 24, 18, 15].map { .seconds($0) })
    #expect(interval(.unknown) == .seconds(30))
    #expect(interval(.good, .background) == .seconds(90) && interval(.bad, .background) == .seconds(45))
    #expect(interval(.good, .lowPower) == .seconds(60) && interval(.good, .suspended) == nil)
    policy.strategy = .aggressive
    #expect(interval(.good) == .seconds(24))
    policy.strategy = .conservative
    #expect(interval(.good) == .seconds(36))
    policy.strategy = .custom(2)
    #expect(interval(.good) == .seconds(60))
    policy.strategy = .custom(.nan)
    #expect(interval(.good) == .seconds(30))
    policy.strategy = .balanced
    policy.rule = .seed
    #expect(interval(.excellent) == .seconds(30) && interval(.poor) == .seconds(75) && interval(.bad) == .seconds(45))
    #expect(interval(.good, .foreground, .milliseconds(250)) == .seconds(37.5))
  }

  @Test func anAnswerMayTakeThreeRoundTrips() {
    let policy = HeartbeatPolicy()
    #expect(policy.timeout(roundTrip: nil) == .seconds(15) && policy.timeout(roundTrip: .seconds(4)) == .seconds(15))
    #expect(policy.timeout(roundTrip: .seconds(6)) == .seconds(18))
  }

  /// When heartbeats go out on a quiet connection, as a line: a character a second, `h` for a heartbeat.
  private func line(
    _ seconds: Int, _ adjust: (inout ClientConfiguration) -> Void = { _ in }, _ during: (Simulation) -> Void = { _ in }
  )
    throws -> String
  {
    let simulation = Simulation(seed: 1)
    var configuration = simulation.configuration()
    configuration.heartbeat.jitter = 0
    configuration.heartbeat.foreground = .init(base: .seconds(10), minimum: .seconds(4), maximum: .seconds(60))
    configuration.heartbeat.background = .init(base: .seconds(20), minimum: .seconds(4), maximum: .seconds(60))
    configuration.heartbeat.rule = .seed
    adjust(&configuration)
    _ = try simulation.addClient(configuration)
    during(simulation)
    var line = ""
    var beats: UInt64 = 0
    for second in 1...seconds {
      simulation.run(until: 1_000.5 + Double(second))
      line += simulation.clients[0].metrics.heartbeatsSent > beats ? "h" : "-"
      beats = simulation.clients[0].metrics.heartbeatsSent
    }
    return line
  }

  private func at(_ seconds: Double, _ simulation: Simulation, _ action: @escaping (inout ClientCore, Instant) -> Void)
  {
    simulation.after(seconds) {
      action(&simulation.clients[0], simulation.moment)
      simulation.settle(client: 0)
    }
  }

  @Test func drawnTimelines() throws {
    // Nothing is measured before the first: 1.5 times the base; then an excellent network.
    #expect(try line(40) == "--------------h---------h---------h-----")
    #expect(try line(30) { $0.beatsOnConnect = true } == "h--------h---------h---------h")
    // What the application sends counts as a sign of life.
    #expect(
      try line(40) { _ in
      } _: { simulation in
        at(12, simulation) { client, now in
          _ = try? client.send(body: [1], in: SessionID(place: 0), at: now)
        }
      } == "--------------------------h---------h---")
  }

  @Test func modes() throws {
    #expect(
      try line(50) {
        $0.beatsOnConnect = true
      } _: { simulation in
        at(12, simulation) { $0.setMode(.background, at: $1) }
        at(40, simulation) { $0.setMode(.foreground, at: $1) }
      } == "h--------h---------------------h-------h---------h")
    #expect(
      try line(40) {
        $0.beatsOnConnect = true
      } _: { simulation in
        at(12, simulation) { $0.setMode(.suspended, at: $1) }
        at(30, simulation) { $0.setMode(.foreground, at: $1) }
      } == "h--------h-------------------h---------h")
  }

  @Test func jitterIsATenth() {
    var timer = HeartbeatTimer(policy: HeartbeatPolicy())
    var random = SeededGenerator(seed: 4)
    var lengths: [Double] = []
    for _ in 0..<500 {
      timer.start(beatsAtOnce: false, at: .seconds(0), &random)
      lengths.append(Double(timer.due?.nanoseconds ?? 0) / 1e9)
    }
    #expect(lengths.allSatisfy { (27...33).contains($0) })
    #expect(lengths.contains { $0 < 27.5 } && lengths.contains { $0 > 32.5 })
  }

  @Test func silenceIsLearned() {
    var silence = SilenceLimit()
    #expect(silence.limit == nil)
    silence.answered(after: 30_000_000_000)
    #expect(silence.limit == nil)
    silence.died(after: 90_000_000_000)
    #expect(silence.limit == 60_000_000_000)
    silence.answered(after: 60_000_000_000)
    #expect(silence.limit == 75_000_000_000)
    silence.died(after: 50_000_000_000)
    #expect(silence.limit == 40_000_000_000)
    silence.answered(after: 45_000_000_000)
    // So near that trying on is not worth a connection.
    #expect(silence.limit == 45_000_000_000)
    silence.answered(after: 55_000_000_000)
    #expect(silence.limit == nil)
    // A death after a short silence was not the silence's.
    silence.died(after: 9_000_000_000)
    #expect(silence.limit == nil)
  }

  /// A translator of addresses forgets connections after 60 s of silence: the client finds out and stays under that.
  @Test func aPathThatForgetsIsKeptAwake() throws {
    let simulation = Simulation(seed: 1)
    var configuration = simulation.configuration()
    configuration.heartbeat.foreground = .init(base: .seconds(90), minimum: .seconds(15), maximum: .seconds(300))
    let (client, _) = try simulation.addClient(configuration)
    simulation.forgetsAfter = 60
    simulation.run(until: 3_200)
    let limit = simulation.clients[client].heartbeat.silence.limit
    #expect(limit.map { $0 < 60_000_000_000 && $0 > 40_000_000_000 } == true)
    let disconnects = simulation.clients[client].metrics.disconnects
    let beats = simulation.clients[client].metrics.heartbeatsSent
    #expect(disconnects > 0)
    simulation.run(until: 6_000)
    #expect(simulation.clients[client].metrics.disconnects == disconnects)
    #expect(simulation.clients[client].metrics.heartbeatsSent - beats > 40)
  }

  @Test func aServerThatFallsSilentIsLeft() throws {
    var server = ServerConfiguration(seed: 1)
    server.faults.silentAfter = 1
    let simulation = Simulation(server: server, seed: 1)
    var reasons: [DisconnectReason] = []
    simulation.onClientEvent = { _, event, _ in
      if case .connection(_, .disconnected, _, let reason?) = event { reasons.append(reason) }
    }
    var configuration = simulation.configuration()
    configuration.beatsOnConnect = true
    configuration.maximumConnections = 1
    _ = try simulation.addClient(configuration)
    simulation.run(until: 1_014)
    #expect(reasons.isEmpty)
    simulation.run(until: 1_017)
    #expect(reasons == [.heartbeatTimeout])
  }
}
