import Testing

@testable import IMEndpoint

/// What one run over a simulated network has come to.
struct Outcome {
  var sent: [UInt32] = []
  var arrived: [UInt32: Int] = [:]
  var latencies: [Double] = []
  var delivered = 0
  var failed = 0
  var opens = 0
  var duplicates: UInt64 = 0
  var retries: UInt64 = 0
  var bytes = 0

  var lost: Int { sent.count { arrived[$0] == nil } }
  var twice: Int { arrived.values.count { $0 > 1 } }
  var mean: Double { latencies.isEmpty ? 0 : latencies.reduce(0, +) / Double(latencies.count) }
  func percentile(_ part: Double) -> Double {
    let sorted = latencies.sorted()
    return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * part))]
  }
}

/// Sends numbered messages at a steady rate and follows each to its end.
func deliver(
  _ conditions: Conditions, sessions: Int = 10, perSecond: Double = 2, seconds: Double = 60, drain: Double = 120,
  seed: UInt64, hasFacts: Bool = true, _ adjust: (inout ClientConfiguration) -> Void = { _ in },
  during: (Simulation) -> Void = { _ in }
) throws -> Outcome {
  let simulation = Simulation(conditions, seed: seed)
  simulation.hasFacts = hasFacts
  var outcome = Outcome()
  var sentAt: [[MessageID: Double]] = Array(repeating: [:], count: sessions)
  simulation.onServerEvent = { event, inbox in
    guard case .message(let message) = event else { return }
    let number = inbox.body(of: message).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    outcome.arrived[number, default: 0] += 1
  }
  simulation.onClientEvent = { client, event, _ in
    guard case .progress(let id, _, let state) = event else { return }
    if state == .delivered, let at = sentAt[client].removeValue(forKey: id) {
      outcome.delivered += 1
      outcome.latencies.append(simulation.now - at)
    }
    if state == .failed { outcome.failed += 1 }
  }
  let start = simulation.now
  for index in 0..<sessions {
    var configuration = simulation.configuration(index)
    configuration.seed = configuration.seed &+ seed &* 7_919
    adjust(&configuration)
    let (client, session) = try simulation.addClient(configuration)
    let count = Int(seconds * perSecond)
    for step in 0..<count {
      simulation.after((Double(step) + Double(index) / Double(sessions)) / perSecond) {
        let number = UInt32(index * 100_000 + step)
        let body = TLV.bigEndian(number) + [UInt8](repeating: 7, count: 196)
        guard let id = try? simulation.clients[client].send(body: body, in: session, at: simulation.moment) else {
          return
        }
        sentAt[client][id] = simulation.now
        outcome.sent.append(number)
        simulation.settle(client: client)
      }
    }
  }
  during(simulation)
  simulation.run(until: start + seconds + drain) {
    outcome.sent.count == Int(seconds * perSecond) * sessions && sentAt.allSatisfy(\.isEmpty)
  }
  outcome.opens = simulation.opens
  outcome.bytes = simulation.bytesOnWire
  outcome.duplicates = simulation.server.metrics.duplicatesReceived
  outcome.retries = simulation.clients.reduce(0) { $0 + $1.metrics.messagesRetried }
  return outcome
}

@Suite struct DeliveryTests {
  @Test func withoutLossNothingIsOpenedAndNothingSentTwice() throws {
    let outcome = try deliver(Conditions(), seed: 1)
    #expect(outcome.lost == 0 && outcome.twice == 0 && outcome.delivered == 1_200)
    #expect(outcome.opens == 10)
    #expect(outcome.retries == 0)
    #expect(outcome.mean < 0.015)
  }

  @Test(arguments: [UInt64(1), 2, 3, 4, 5])
  func threeOfTenSegmentsLost(seed: UInt64) throws {
    let outcome = try deliver(Conditions(loss: 0.3), seed: seed)
    print(
      "30 %:", seed, outcome.mean, outcome.percentile(0.99), outcome.latencies.max() ?? 0, outcome.opens,
      outcome.duplicates, outcome.retries)
    #expect(outcome.lost == 0 && outcome.twice == 0 && outcome.delivered == outcome.sent.count)
    #expect(outcome.duplicates > 0)
  }

  @Test(arguments: [UInt64(1), 2, 3, 4, 5])
  func halfOfTheSegmentsLost(seed: UInt64) throws {
    let outcome = try deliver(Conditions(loss: 0.5), seed: seed)
    print(
      "50 %:", seed, outcome.mean, outcome.percentile(0.99), outcome.latencies.max() ?? 0, outcome.opens,
      outcome.duplicates, outcome.retries)
    #expect(outcome.lost == 0 && outcome.twice == 0 && outcome.delivered == outcome.sent.count)
    #expect(outcome.duplicates > 0)
  }
}
