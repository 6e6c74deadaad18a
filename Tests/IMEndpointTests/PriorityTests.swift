import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct PriorityTests {
  private func message(_ id: UInt64, _ priority: Priority, at seconds: Double = 0, bytes: Int = 1) -> QueuedMessage {
    QueuedMessage(
      id: MessageID(rawValue: id), kind: .data, category: .normal, priority: priority, compression: 0,
      body: [UInt8](repeating: 0, count: bytes), acceptedAt: .seconds(seconds))
  }

  private func letters(
    _ queues: inout PriorityQueues, isWeak: Bool = false, isIdle: Bool = true, at seconds: Double = 0,
    limit: Int = 1_000
  )
    -> String
  {
    var letters = ""
    while letters.count < limit, let next = queues.next(isWeak: isWeak, isIdle: isIdle, at: .seconds(seconds)) {
      letters += ["u", "h", "n", "l"][Int(next.priority.rawValue)]
    }
    return letters
  }

  private func expect(_ found: String, _ wanted: String) { #expect(found == wanted) }

  @Test func theHigherGoesFirst() {
    var queues = PriorityQueues()
    for (index, priority) in [Priority.low, .normal, .urgent, .high, .low, .urgent].enumerated() {
      queues.append(message(UInt64(index), priority))
    }
    expect(letters(&queues), "uuhnll")
    #expect(queues.isEmpty && queues.byteCount == 0)
  }

  @Test func nobodyStarves() {
    var queues = PriorityQueues()
    for index in 0..<40 { queues.append(message(UInt64(index), .urgent)) }
    queues.append(message(100, .low))
    queues.append(message(101, .low))
    #expect(
      letters(&queues) == String(repeating: "u", count: 16) + "l" + String(repeating: "u", count: 16) + "l" + "uuuuuuuu"
    )
  }

  /// On a weak network what is low waits until nothing else is under way, five seconds at most, and then goes one a second.
  @Test func lowWaitsOnAWeakNetwork() {
    var queues = PriorityQueues()
    for index in 0..<3 { queues.append(message(UInt64(index), .low)) }
    expect(letters(&queues, isWeak: true, isIdle: false, at: 4.9), "")
    #expect(queues.lowDeadline(after: .seconds(4.9)) == .seconds(5))
    #expect(queues.lowDeadline(after: .seconds(5)) == nil)
    expect(letters(&queues, isWeak: true, isIdle: false, at: 5), "l")
    expect(letters(&queues, isWeak: true, isIdle: false, at: 5.9), "")
    expect(letters(&queues, isWeak: true, isIdle: false, at: 6), "l")
    expect(letters(&queues, isWeak: true, isIdle: true, at: 6.1, limit: 1), "l")
  }

  /// A low message that a full window holds back, too, is not waited for in a loop.
  @Test func noDeadlineStaysInThePast() throws {
    let simulation = Simulation(seed: 1)
    let (client, session) = try simulation.addClient()
    simulation.run(until: simulation.now + 1)
    for _ in 0..<200 { simulation.clients[client].heartbeat.sampled(5_000_000_000) }
    #expect(simulation.clients[client].quality.isWeak)
    for link in 0..<8 { simulation.clients[client].links[link].window.sent(64 << 20) }
    try simulation.clients[client].send(body: [1], priority: .low, in: session, at: simulation.moment)
    let later = simulation.moment.advanced(by: .seconds(6))
    simulation.clients[client].deadlineReached(at: later)
    #expect(simulation.clients[client].waiting(in: session).queued == 1)
    #expect(simulation.clients[client].deadline.map { $0 > later } ?? true)
  }

  @Test func queuesAreBoundedAndSayWhenThereIsRoom() throws {
    let simulation = Simulation(seed: 1)
    var rooms: [Priority] = []
    simulation.onClientEvent = { _, event, _ in if case .room(_, let priority) = event { rooms.append(priority) } }
    let (client, _) = try simulation.addClient(connects: false)
    let strategy = SessionStrategy(queues: QueueLimits(messages: 4, bytes: 100), windowMessages: 2)
    let session = simulation.clients[client].addSession(.chat, strategy: strategy, at: simulation.moment)
    for _ in 0..<4 {
      try simulation.clients[client].send(body: [1], priority: .normal, in: session, at: simulation.moment)
    }
    #expect(throws: SendError.queueFull(.normal)) {
      try simulation.clients[client].send(body: [1], priority: .normal, in: session, at: simulation.moment)
    }
    try simulation.clients[client].send(body: [1], priority: .urgent, in: session, at: simulation.moment)
    #expect(throws: SendError.queueFull(.urgent)) {
      try simulation.clients[client].send(
        body: [UInt8](repeating: 0, count: 96), priority: .urgent, in: session, at: simulation.moment)
    }
    // No body is too long of itself before its length needs more than four bytes.
    #expect(throws: SendError.queueFull(.normal)) {
      try simulation.clients[client].send(
        body: [UInt8](repeating: 0, count: 64 * 1_048_576 + 1), in: session, at: simulation.moment)
    }
    #expect(OutgoingTransfer.most == 4_294_967_295)
    try simulation.clients[client].connect(session, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_005)
    #expect(Set(rooms) == [.normal, .urgent])
    #expect(simulation.clients[client].waiting(in: session) == (0, 0))
  }

  /// What is urgent overtakes what waits in the queues, over a connection that is full.
  @Test func urgentOvertakes() throws {
    let simulation = Simulation(seed: 1)
    var firstBytes: [UInt8] = []
    simulation.onServerEvent = { event, inbox in
      if case .message(let message) = event { firstBytes.append(inbox.body(of: message).first ?? 0) }
    }
    let (client, _) = try simulation.addClient(connects: false)
    let session = simulation.clients[client].addSession(
      .chat, strategy: SessionStrategy(windowMessages: 2), at: simulation.moment)
    try simulation.clients[client].connect(session, at: simulation.moment)
    for _ in 0..<20 { try simulation.clients[client].send(body: [1], in: session, at: simulation.moment) }
    try simulation.clients[client].send(body: [2], priority: .urgent, in: session, at: simulation.moment)
    simulation.settle(client: client)
    simulation.run(until: 1_005)
    #expect(firstBytes.count == 21 && firstBytes.prefix(3).contains(2))
  }
}
