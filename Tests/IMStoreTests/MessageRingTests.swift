import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMOutput
@testable import IMStore

/// Messages that go through a ring on their way to the writer: each goes once, in order as far as the ring goes.
@Suite struct MessageRingTests {
  private static let plan = MadePlan.tjp()
  private nonisolated(unsafe) static let kind = {
    let kind = UnsafeMutablePointer<FrameKind>.allocate(capacity: 1)
    kind.initialize(to: FrameKind())
    return UnsafePointer(kind)
  }()
  private static let info = ConnectionInfo(
    told: 1, client: Endpoint(address: IPAddress(v4: 1), port: 1), server: Endpoint(address: IPAddress(v4: 2), port: 2))

  /// A ring, and what has come out of it.
  private struct Line: ~Copyable {
    var ring: MessageRing
    var batch = StoreBatch()
    var ids: [UInt32] { batch.messages.map(\.exchange.id) }

    init(mostWaiting: Int = 1_000_000) { ring = MessageRing(mostWaiting: mostWaiting) }

    mutating func begin(_ number: UInt32) {
      while ring.isNextDue(before: number) { ring.moveNext(to: &batch) }
      let first = FirstCopy(
        Frame(kind: MessageRingTests.kind), MessageRingTests.info, .clientToServer, MessageRingTests.plan, capture: 0,
        place: nil)
      ring.begin(first, exchange(number, .pending), flags: 0, unknownType: nil, texts: nil)
    }

    mutating func decide(_ number: UInt32, _ fate: Fate = .acked) {
      ring.decide(exchange(number, fate), nil, to: &batch)
      while ring.isNextDue { ring.moveNext(to: &batch) }
    }

    mutating func finish(_ number: UInt32, _ fate: Fate = .acked) {
      ring.finish(exchange(number, fate), nil, to: &batch)
    }

    mutating func end() {
      while !ring.isEmpty { ring.moveNext(to: &batch) }
    }

    /// Message `number`, which came at as many microseconds.
    private func exchange(_ number: UInt32, _ fate: Fate) -> Exchange {
      var kept = KeptExchange(
        number: number, session: 0, direction: .clientToServer, firstAt: Timestamp(microseconds: Int64(number)),
        flow: 0, connection: 1, bodyCount: 0, end: 0, fingerprint: 0, clock: 0, flags: .good, plan: 0, kind: 0)
      kept.outcome.decide(fate)
      return Exchange(kept, sequence: UInt64(number), id: number, rest: ExchangeRest())
    }
  }

  @Test(arguments: [1, 10, 63, 500, 16_000])
  func whatIsDecidedWithinARingComesInOrder(_ distance: Int) {
    var random = SeededRandom(UInt64(distance)), line = Line()
    let count = 100_000
    var due: [Int: [UInt32]] = [:]
    for number in 0..<count {
      line.begin(UInt32(number))
      due[number + Int(random.next() % UInt64(distance)), default: []].append(UInt32(number))
      for number in due.removeValue(forKey: number) ?? [] { line.decide(number) }
    }
    for number in due.sorted(by: { $0.key < $1.key }).flatMap(\.value) { line.decide(number) }
    for number in 0..<UInt32(count) { line.finish(number) }
    line.end()
    let ids = line.ids
    #expect(ids.sorted().elementsEqual(0..<UInt32(count)))
    #expect(line.batch.messages.allSatisfy { $0.exchange.fate == .acked })
    #expect(line.batch.changes.isEmpty)
    // From where half of a number is more than the distance, nothing comes late.
    let resolved = ids.filter { Int($0) > 4 * distance }
    let isSettled = zip(resolved, resolved.dropFirst()).allSatisfy { $0 < $1 }
    #expect(isSettled)
    let isInOrder = ids.elementsEqual(0..<UInt32(count))
    if distance < MessageRing.least { #expect(isInOrder) }
  }

  @Test func oneThatStaysOpenHoldsUpNoMoreThanARing() {
    var line = Line()
    let open: UInt32 = 200_000
    for number in UInt32(0)..<400_000 {
      line.begin(number)
      if number != open { line.decide(number) }
      #expect(line.batch.messages.count >= Int(number) / 2 - Int(MessageRing.least))
      if number == 399_000 { line.decide(open, .unanswered) }
    }
    let ids = line.ids
    #expect(ids.filter { $0 != open }.elementsEqual((0..<400_000).filter { $0 != open }))
    #expect(line.batch.messages.first { $0.exchange.id == open }?.exchange.fate == .unanswered)
    #expect(line.batch.changes.isEmpty)
  }

  @Test func beyondThoseThatMayWaitOneGoesAsItIs() {
    var line = Line(mostWaiting: 10)
    for number in UInt32(0)..<100_000 {
      line.begin(number)
      if number >= 30 { line.decide(number) }
    }
    let pending = line.batch.messages.filter { $0.exchange.fate == .pending }.map(\.exchange.id)
    #expect(pending == Array(10..<30))
    for number in UInt32(0)..<30 { line.decide(number, .unanswered) }
    #expect(line.batch.changes.map(\.exchange.id) == Array(10..<30))
    #expect(line.batch.changes.allSatisfy { $0.exchange.fate == .unanswered })
    #expect(line.ids.sorted().elementsEqual(0..<100_000))
  }

  @Test func whatComesBehindARowChangesIt() throws {
    var line = Line()
    for number in UInt32(0)..<1_000 {
      line.begin(number)
      line.decide(number)
    }
    line.ring.add(10, TimedFrame(copyAt: 2_000, .bad, flags: 2))
    line.ring.add(10, TimedFrame(answerAt: 2_001))
    line.finish(9)
    line.finish(10)
    let change = try #require(line.batch.changes.first)
    #expect(line.batch.changes.count == 1)
    #expect(change.exchange.id == 10)
    #expect(change.later.copies == [2_000])
    #expect(change.later.checksums == [.bad])
    #expect(change.later.answers == [2_001])
    #expect(change.later.flags == 2)
  }

  @Test func listsGrowByWhatARowLacks() {
    #expect(MessageLists.adding(["7"], to: nil, first: "5") == "[5,7]")
    #expect(MessageLists.adding(["7", "8"], to: "[5,6]", first: nil) == "[5,6,7,8]")
    #expect(MessageLists.adding(["7"], to: nil, first: nil) == "[7]")
    #expect(MessageLists.adding([], to: nil, first: "5") == nil)
    let full = "[" + (0..<1_000).map { "\($0)" }.joined(separator: ",") + "]"
    #expect(MessageLists.adding(["7"], to: full, first: nil) == full)
  }

  @Test func placesAreSortedByKeyAndThenAsTheyStand() {
    #expect([UInt32](arrayLiteral: 3, 1, 3, 0, .max, 1).sortedPlaces == [3, 1, 5, 0, 2, 4])
  }
}
