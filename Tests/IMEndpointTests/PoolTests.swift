import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct PoolTests {
  private var limits: PoolLimits {
    var limits = PoolLimits()
    limits.perKind = 2
    limits.uses = 3
    return limits
  }

  private func expect(
    _ pool: inout Pool<SessionKind, Int>, _ kind: SessionKind, _ answer: Pool<SessionKind, Int>.Answer,
    isHealthy: (Int) -> Bool = { _ in true }
  ) {
    let found = pool.acquire(kind, isHealthy: isHealthy)
    #expect(found == answer)
  }

  @Test func acquireReleaseAcquire() {
    var pool = Pool<SessionKind, Int>(limits: limits)
    expect(&pool, .chat, .make)
    pool.add(1, .chat)
    expect(&pool, .chat, .make)
    pool.add(2, .chat)
    expect(&pool, .chat, .exhausted)
    expect(&pool, .media, .make)
    #expect([1, 2].map { pool.release($0, isHealthy: true, at: .seconds(Double($0))) } == [true, true])
    // The one used last.
    expect(&pool, .chat, .reuse(2))
    expect(&pool, .chat, .exhausted) { $0 != 1 }
    expect(&pool, .chat, .reuse(1))
  }

  @Test func whatIsWornOrIllIsNotKept() {
    var pool = Pool<SessionKind, Int>(limits: limits)
    pool.add(1, .chat)
    for _ in 0..<2 {
      #expect([1].map { pool.release($0, isHealthy: true, at: .seconds(1)) } == [true])
      expect(&pool, .chat, .reuse(1))
    }
    #expect([1, 9].map { pool.release($0, isHealthy: true, at: .seconds(1)) } == [false, false])
    pool.add(2, .chat)
    #expect([2].map { pool.release($0, isHealthy: false, at: .seconds(1)) } == [false])
    #expect(pool.count(.chat) == 0)
  }

  @Test func idleOnesAreClosed() {
    var pool = Pool<SessionKind, Int>()
    pool.add(1, .chat)
    pool.add(2, .chat)
    pool.add(3, .chat)
    #expect(pool.deadline == nil)
    _ = pool.release(1, isHealthy: true, at: .seconds(0))
    _ = pool.release(2, isHealthy: true, at: .seconds(100))
    #expect(pool.deadline == .seconds(60))
    #expect([59.0, 60].map { pool.sweep(at: .seconds($0)) { _ in true } } == [[], []])
    #expect(pool.deadline == .seconds(120))
    #expect([300.0].map { pool.sweep(at: .seconds($0)) { _ in true } } == [[1]])
    #expect([360.0].map { pool.sweep(at: .seconds($0)) { $0 != 2 } } == [[2]])
    #expect(pool.deadline == nil && pool.count(.chat) == 1)
  }

  @Test func aClientsSessionsArePooled() throws {
    let simulation = Simulation(seed: 1)
    let (client, _) = try simulation.addClient(connects: false)
    guard let first = simulation.clients[client].acquireSession(.chat, at: simulation.moment) else {
      Issue.record("no session")
      return
    }
    simulation.settle(client: client)
    simulation.run(until: 1_001)
    #expect(simulation.clients[client].state(of: first) == .connected)
    simulation.clients[client].releaseSession(first, at: simulation.moment)
    let more = (0..<6).map { _ in simulation.clients[client].acquireSession(.chat, at: simulation.moment) }
    #expect(more.first == first && more.prefix(5).allSatisfy { $0 != nil } && more.last == .some(nil))
    simulation.clients[client].releaseSession(first, at: simulation.moment)
    simulation.run(until: 1_400)
    #expect(simulation.clients[client].state(of: first) == .disconnected)
    // The place of a session that was closed is used again.
    let sixth = simulation.clients[client].acquireSession(.chat, at: simulation.moment)
    #expect(sixth == first && simulation.opens == 1)
  }
}
