import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// What sinks are told of single exchanges, and what is made without packets, says what the packets say.
@Suite struct ExchangeTests {
  /// Keeps the exchanges as they begin, and the notes.
  private final class Watcher: EngineSink {
    var begun: [Exchange] = []
    var finished: [Exchange] = []
    var notes: [(note: FrameNote, at: Timestamp)] = []

    func frame(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
      body: RawSpan, tlvs: Span<TLVRef>
    ) {
      notes.append((note, frame.timestamp))
      guard note.copy == 1 else { return }
      begun.append(Exchange(begun: frame, note, connection: connection.serial, plan: connection.plan, direction))
    }
    func finished(_ exchange: borrowing Exchange) { finished.append(copy exchange) }
  }

  private static func watch(_ packets: [TimedPacket]) -> Watcher {
    let watcher = Watcher()
    lead(packets, Plans.both, needs: [.frames, .finished], into: watcher)
    return watcher
  }

  /// An exchange that has just begun is the one that is told in the end, without what came behind its first copy.
  @Test(arguments: Chat.allCases) func begun(_ chat: Chat) {
    let watcher = Self.watch(chat.talk(.several).packets)
    let finished = Dictionary(uniqueKeysWithValues: watcher.finished.map { ($0.id, $0) })
    #expect(watcher.begun.count > 20 && watcher.begun.count == finished.count)
    for begun in watcher.begun {
      guard let told = finished[begun.id] else {
        Testing.Issue.record("\(begun.id) was never told")
        continue
      }
      #expect(begun.firstAt == told.firstAt && begun.direction == told.direction && begun.session == told.session)
      #expect(begun.connection == told.connection && begun.bodyCount == told.bodyCount)
      #expect(begun.kind == told.kind && begun.plan == told.plan)
      #expect(!begun.isAnswered && begun.copies == 1 && begun.latency == nil && begun.ackedAt == .distantPast)
      #expect(begun.lastAt == begun.firstAt && !begun.flags.contains(.resolved))
      // Types without numbers get one of our own when they are tracked.
      if told.sequence < 1 << 32, told.fate != .unacknowledged { #expect(begun.sequence == told.sequence) }
    }
  }

  /// What an endpoint knows of its own messages is what a capture of the same traffic says of them.
  @Test(
    arguments: [
      ("one copy, one answer", 1, 80), ("two copies, one answer", 2, 1_280), ("no answer", 1, nil),
      ("three copies, no answer", 3, nil),
    ] as [(String, Int, Int64?)])
  func told(_ name: String, _ copies: Int, _ answerAfter: Int64?) throws {
    let sent: Int64 = 100
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      var message = TJPFrameBuilder(text: "once", sequence: 1)
      for copy in 0..<copies {
        message.timestamp += UInt32(copy)
        talk.send(message.bytes, .clientToServer, at: Scene.ms(sent + Int64(copy) * 1_200))
      }
      if let answerAfter {
        talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Scene.ms(sent + answerAfter))
      }
      talk.acknowledge(.clientToServer, at: Scene.ms(sent + 30_000))
    }
    let captured = try #require(Run(packets).heard.finished.first)
    let end = answerAfter.map { Scene.ms(sent + $0) } ?? Scene.ms(sent + Int64(copies - 1) * 1_200)
    let fate: Fate = answerAfter == nil ? .unanswered : copies > 1 ? .ackedAfterRetry : .acked
    let told = Exchange(
      told: fate, role: captured.kind, direction: .clientToServer, id: 9, connection: 4, sentAt: Scene.ms(sent),
      decidedAt: end, copies: copies)
    #expect(captured.fate == fate, "\(name)")
    #expect(told.fate == captured.fate && told.copies == captured.copies && told.repeats == captured.repeats)
    #expect(told.latency == captured.latency && told.roundTrip == captured.roundTrip)
    #expect(told.firstAt == captured.firstAt && told.ackedAt == captured.ackedAt)
    #expect(told.flags.contains(.resolved) && told.sequence == 9 && told.connection == 4)
  }

  /// The note of a frame: an answer's time from the first copy, a round trip only of one copy, the time to the receipt.
  @Test func notes() throws {
    let receipt = TJPFrameBuilder(
      type: TJPType.receipt, sequence: 900, body: TLVBuilder().field(0x10, [0, 0, 0, 1]).bytes)
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(100))
      talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Scene.ms(130))
      talk.send(Scene.text(2), .clientToServer, at: Scene.ms(200))
      talk.send(Scene.text(2), .clientToServer, at: Scene.ms(1_300))
      talk.send(TJPFrameBuilder.echoACK(of: 2).bytes, .serverToClient, at: Scene.ms(1_450))
      talk.send(receipt.bytes, .serverToClient, at: Scene.ms(2_100))
    }
    let notes = Self.watch(packets).notes.map(\.note)
    try #require(notes.count == 6)
    #expect(notes.map(\.isAck) == [false, true, false, false, true, false])
    #expect(notes.map { $0.latency?.milliseconds } == [nil, 30, nil, nil, 1_250, nil])
    #expect(notes.map { $0.roundTrip?.milliseconds } == [nil, 30, nil, nil, nil, nil])
    #expect(notes.map { $0.receiptLatency(.read)?.milliseconds } == [nil, nil, nil, nil, nil, 2_000])
    #expect(notes.map(\.isRetry) == [false, false, false, true, false, false])
    #expect(notes.map(\.ackOf) == [nil, 1, nil, nil, 2, nil])
  }

  /// Statuses come off the wire: those behind the last number that there is have none, and the known ones keep theirs.
  @Test func statuses() {
    var table = StatusTable()
    func code(_ number: UInt64) -> StatusCode { StatusCode(plan: 3, list: 0, number: number) }
    for number in 0..<UInt64(70_000) {
      let (place, isNew) = table.place(code(number))
      guard number < 65_535 ? place == UInt16(number + 1) && isNew : place == 0 && !isNew else {
        Testing.Issue.record("\(number) has the place \(place)")
        return
      }
    }
    for number in [0, 1, 40_000, 65_534] as [UInt64] {
      #expect(table.place(code(number)) == (UInt16(number + 1), false))
    }
    #expect(table.place(code(65_535)) == (0, false))
  }

  /// Entries come out when they are due, to a tenth of a second and the time between two looks, however many there are and
  /// whichever were taken out.
  @Test func waitingOnes() {
    var waiting = WaitingExchanges()
    var random = SeededRandom(5)
    var model: [UInt32: Int64] = [:]
    var link: UInt32 = 0
    for now in stride(from: Int64(0), through: 60_000, by: 50) {
      for _ in 0..<(now < 45_000 ? random.next() % 20 : 0) {
        link += 1
        let due = now + 6_000 + Int64(random.next() % 5_000)
        model[link] = due
        waiting.add(link, due: Scene.ms(due))
      }
      if now == 20_000 {
        waiting.removeAll { $0 % 3 == 0 }
        model = model.filter { $0.key % 3 != 0 }
      }
      while let found = waiting.popDue(Scene.ms(now)) {
        guard let due = model.removeValue(forKey: found) else {
          Testing.Issue.record("\(found) came twice, or had been taken out")
          return
        }
        #expect(due <= now && now - due <= 150, "due at \(due), came at \(now)")
      }
      #expect(waiting.count == model.count)
    }
    #expect(link > 5_000 && model.isEmpty)
  }
}
