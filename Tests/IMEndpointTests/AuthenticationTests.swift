import IMWire
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// Who may come is the application's to say.
@Suite struct AuthenticationTests {
  /// Runs two clients with these tokens against a server that wants `right` of each; what each was told, and what arrived.
  private func run(_ tokens: [[UInt8]?]) throws -> (outcomes: [[HandshakeOutcome]], arrived: Int, Simulation) {
    let simulation = Simulation(seed: 5)
    simulation.server.authenticates = { $0.user?.hasPrefix("user") == true && $0.tokenIs(Array("right".utf8)) }
    var outcomes = tokens.map { _ in [HandshakeOutcome]() }
    var arrived = 0
    simulation.onClientEvent = { client, event, _ in
      if case .handshake(_, let outcome) = event { outcomes[client].append(outcome) }
    }
    simulation.onServerEvent = { event, _ in if case .message = event { arrived += 1 } }
    for (place, token) in tokens.enumerated() {
      var configuration = simulation.configuration(place)
      configuration.token = token
      let (client, session) = try simulation.addClient(configuration)
      try simulation.clients[client].send(Message(.text("hello")), in: session, at: simulation.moment)
    }
    simulation.run(until: simulation.now + 5)
    return (outcomes, arrived, simulation)
  }

  @Test func onlyTheRightTokenIsLetIn() throws {
    let (outcomes, arrived, simulation) = try run([
      Array("right".utf8), Array("wrong".utf8), nil, Array("righ".utf8), [], [UInt8](repeating: 7, count: 5_000),
    ])
    #expect(outcomes[0] == [.agreed(.current, outcomes[0].first?.features ?? [])] && arrived == 1)
    for refused in outcomes.dropFirst() {
      #expect(refused == [.refused(HandshakeRefusal(.unwelcome, version: .current))])
    }
    #expect(simulation.server.sessionCount == 1 && simulation.server.connectionCount == 1)
  }

  /// Without a handshake there is no session, whatever is sent, and the connection ends as one that never says anything.
  @Test func framesWithoutAHandshakeCountForNothing() {
    var server = ServerCore(ServerConfiguration(seed: 1))
    server.authenticates = { _ in false }
    guard let id = server.accepted(from: Simulation.address, at: .seconds(1)) else { return }
    var bytes: [UInt8] = []
    FrameHeader(kind: .data, sequence: SequenceNumber(.normal, 1), time: 0, session: 3).append(to: &bytes)
    FrameHeader(kind: .heartbeat, sequence: SequenceNumber(.heartbeat, 1), time: 0, session: 3).append(to: &bytes)
    _ = server.received(bytes.span.bytes, on: id, at: .seconds(2))
    #expect(server.sessionCount == 0 && server.metrics.messagesReceived == 0)
    server.deadlineReached(at: Instant.seconds(2).advanced(by: server.configuration.handshakeTimeout))
    #expect(server.connectionCount == 0)
  }
}

extension HandshakeOutcome {
  fileprivate var features: Features? {
    if case .agreed(_, let features) = self { features } else { nil }
  }
}
