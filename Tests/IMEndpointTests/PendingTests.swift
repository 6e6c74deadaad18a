import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

@Suite struct PendingTests {
  private func insert(_ table: inout PendingTable, _ number: UInt32, at seconds: Double = 0) -> Int32 {
    table.insert(
      SequenceNumber(rawValue: number), id: MessageID(rawValue: UInt64(number) + 1), kind: .data, priority: .normal,
      compression: 0, checksum: 0, body: [UInt8](repeating: 0, count: Int(number % 7)), acceptedAt: .seconds(seconds),
      at: .seconds(seconds))
  }

  private func order(_ table: PendingTable) -> [UInt32] {
    var numbers: [UInt32] = []
    var place = table.first
    while place >= 0 {
      numbers.append(table[place].sequence.rawValue)
      place = table.after(place)
    }
    return numbers
  }

  @Test func whatWasSentLastStandsLast() {
    var table = PendingTable()
    let places = [5, 6, 7, 8].map { insert(&table, $0) }
    table.sent(places[1], on: 1, at: .seconds(1))
    table.sent(places[0], on: 2, at: .seconds(2))
    #expect(order(table) == [7, 8, 6, 5])
    #expect(table[places[0]].carriers == 2 && table[places[0]].transmissions == 1)
    table.remove(places[3])
    #expect(order(table) == [7, 6, 5])
    table.dropCarriers(2)
    #expect(table[places[0]].carriers == 0 && table[places[1]].carriers == 1)
  }

  /// A dictionary says what the table has to say, over long runs of inserting, finding and taking out.
  @Test(arguments: [UInt64(1), 2, 3]) func theSameAsADictionary(seed: UInt64) {
    var random = TestGenerator(seed)
    var table = PendingTable()
    var model: [UInt32: UInt64] = [:]
    var sequence: [UInt32] = []
    for step in 0..<20_000 {
      if model.count < 900, random.chance(0.55) {
        let category = UInt32.random(in: 0..<5, using: &random) << 24
        let number = category | UInt32.random(in: 0..<4_000, using: &random)
        guard model[number] == nil else { continue }
        _ = insert(&table, number)
        model[number] = UInt64(number) + 1
        sequence.append(number)
      } else if let number = sequence.randomElement(using: &random) {
        guard let place = table.find(SequenceNumber(rawValue: number)) else {
          Issue.record("\(number) is not there")
          return
        }
        #expect(table[place].id.rawValue == model[number])
        table.remove(place)
        model[number] = nil
        sequence.removeAll { $0 == number }
        #expect(table.find(SequenceNumber(rawValue: number)) == nil)
      }
      if step % 1_000 == 0 { #expect(order(table) == sequence) }
    }
    #expect(table.count == model.count)
    #expect(table.byteCount == model.keys.reduce(0) { $0 + Int($1 % 7) })
  }

  /// A set says what the filter has to say, as long as numbers are within the window; also round the end of the circle.
  @Test(arguments: [UInt32(500), 0xfe_ff00, 0]) func aFilterPassesEachNumberOnce(start: UInt32) {
    var random = TestGenerator(UInt64(start) + 1)
    var filter = DuplicateFilter()
    filter.settle(before: start)
    var seen: Set<UInt32> = []
    var base: UInt32 = 0
    for _ in 0..<40_000 {
      if random.chance(0.3) { base += 1 }
      let step = base + UInt32.random(in: 0..<600, using: &random)
      let number = (start + step) % SequenceNumber.modulus
      let isFirst = filter.insert(number)
      #expect(isFirst == seen.insert(number).inserted)
    }
    #expect(filter.byteCount <= 4_096)
  }

  @Test func whatIsSettledAndWhatIsFarBelowCountsAsSeen() {
    var filter = DuplicateFilter()
    filter.settle(before: 1_000)
    #expect([999, 1_002, 1_000, 1_000].map { filter.insert($0) } == [false, true, true, false])
    #expect([1_001].map { filter.insert($0) } == [true])
    #expect(filter.byteCount == 0)
    #expect([1_002 + DuplicateFilter.window * 3, 1_003].map { filter.insert($0) } == [true, false])
    // A later announcement never opens what was closed.
    filter.settle(before: 900)
    #expect([950].map { filter.insert($0) } == [false])
  }

  @Test func aSenderThatDoesNotSayWhereItBeginsLosesNothing() {
    var filter = DuplicateFilter()
    #expect([5_000, 4_990, 4_990, 5_001].map { filter.insert($0) } == [true, true, false, true])
  }

  @Test func aBudgetFollowsTheAnswers() {
    var budget = ResendBudget(perAcknowledgment: 0.5, perConnection: 2, limit: 3, initially: 1)
    #expect((0..<2).map { _ in budget.take() } == [true, false])
    budget.acknowledged()
    #expect((0..<1).map { _ in budget.take() } == [false])
    budget.acknowledged()
    #expect((0..<2).map { _ in budget.take() } == [true, false])
    for _ in 0..<100 { budget.acknowledged() }
    budget.connected()
    #expect(budget.allowed == 3)
  }

  @Test func anAnswerIsOverdueByTheShortRoundTrips() {
    var roundTrips = RoundTrips()
    for step in 1...20 { roundTrips.add(Int64(step) * 1_000_000, at: .seconds(Double(step))) }
    #expect(roundTrips.short == 2_000_000)
    // Of samples within a millisecond the first counts.
    roundTrips.add(1, at: .seconds(20.0001))
    #expect(roundTrips.short == 2_000_000)
    roundTrips.reset()
    #expect(roundTrips.isEmpty)
  }

  /// All that was sent before the connection broke arrives once, whether it had arrived before or not.
  @Test func whatIsUnacknowledgedSurvivesAReconnect() throws {
    let simulation = Simulation(Conditions(delay: 0.05), seed: 4)
    var bodies: [[UInt8]] = []
    simulation.onServerEvent = { event, inbox in
      if case .message(let message) = event { bodies.append(Array(inbox.body(of: message))) }
    }
    let (client, session) = try simulation.addClient()
    simulation.run(until: 1_002)
    for number in 0..<50 {
      simulation.after(Double(number) * 0.01) {
        _ = try? simulation.clients[client].send(body: [UInt8(number)], in: session, at: simulation.moment)
        simulation.settle(client: client)
      }
    }
    simulation.after(0.27) { simulation.resetAll() }
    simulation.run(until: 1_020)
    #expect(bodies.map { $0[0] }.sorted() == Array(0..<50))
    #expect(simulation.server.metrics.duplicatesReceived > 0)
    #expect(simulation.server.sessionCount == 1)
  }
}
