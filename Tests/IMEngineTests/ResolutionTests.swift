import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Fates told in batches are those that are told one by one, in the same order.
@Suite struct SettlementTests {
  /// Keeps both kinds, as far as they come.
  private final class Listener: EngineSink {
    var single: [Exchange] = []
    var batches: [[Resolution]] = []
    var all: [Resolution] { batches.flatMap { $0 } }

    func resolved(_ exchange: borrowing Exchange) { single.append(copy exchange) }
    func resolved(_ batch: Span<Resolution>) {
      var part: [Resolution] = []
      for i in batch.indices { part.append(batch[i]) }
      batches.append(part)
    }
  }

  /// A sink that wants to hear nothing of what it is told.
  private final class Deaf: EngineSink {}

  /// One client and server, of whose messages some are answered at once, some late, some never, and of some the capture lacks the answer.
  private static func packets() -> [TimedPacket] {
    Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      for n in UInt32(1)...1_500 {
        let now = Int64(n) * 20
        talk.send(Scene.text(n), .clientToServer, at: Scene.ms(now))
        if n % 5 == 0 { talk.send(Scene.text(100_000 + n), .serverToClient, at: Scene.ms(now + 1)) }
        switch n % 7 {
        case 1: break
        case 2: talk.send(TJPFrameBuilder.echoACK(of: n).bytes, .serverToClient, at: Scene.ms(now + 8_000))
        case 3:
          talk.send(Scene.text(n), .clientToServer, at: Scene.ms(now + 5))
          talk.send(TJPFrameBuilder.echoACK(of: n).bytes, .serverToClient, at: Scene.ms(now + 10))
        case 4:
          for lost in talk.send(TJPFrameBuilder.echoACK(of: n).bytes, .serverToClient, at: Scene.ms(now + 10)) {
            talk.drop(lost)
          }
        default: talk.send(TJPFrameBuilder.echoACK(of: n).bytes, .serverToClient, at: Scene.ms(now + 10))
        }
      }
    }
  }

  @Test func batchesAndSingles() {
    let packets = Self.packets()
    let (one, many) = (Listener(), Listener())
    lead(packets, Plans.both, needs: .resolved, into: one)
    lead(packets, Plans.both, needs: .resolutions, into: many)
    #expect(one.batches.isEmpty && many.single.isEmpty)
    #expect(many.batches.count > 3 && many.batches.allSatisfy { $0.count <= 512 })
    #expect(many.all.count == one.single.count)
    var differences = 0
    for (resolution, exchange) in zip(many.all, one.single) {
      let expected = Resolution(exchange, endpoint: resolution.endpoint)
      let isSame =
        resolution.fate == exchange.fate && resolution.outcome.cause == exchange.cause
        && resolution.roundTrip == exchange.roundTrip && resolution.direction == exchange.direction
        && resolution.kind == exchange.kind && resolution.plan == exchange.plan && resolution.status == exchange.status
        && resolution.flags == exchange.flags && expected.roundTrip == resolution.roundTrip
        && expected.fate == resolution.fate && expected.isPlain == resolution.isPlain
      differences += isSame ? 0 : 1
    }
    #expect(differences == 0)
    // All fates that the capture was made of are among them.
    let fates = Set(one.single.map(\.fate.name))
    #expect(fates.isSuperset(of: ["acked", "acked_after_retry", "unanswered", "unknown"]), "\(fates)")
  }

  /// Whoever counts plain ones by their place counts what the others say of themselves.
  @Test func plainOnes() {
    let heard = Listener()
    lead(Self.packets(), Plans.both, needs: .resolutions, into: heard)
    var plain = 0
    for resolution in heard.all {
      var place = resolution
      let found = withUnsafePointer(to: &place) { Resolution.plain($0) }
      #expect((found != nil) == (resolution.fate == .acked && !resolution.flags.contains(.late)))
      guard let found else { continue }
      plain += 1
      #expect(found.direction == resolution.direction)
      #expect((found.roundTrip == .max ? nil : .microseconds(Int64(found.roundTrip))) == resolution.roundTrip)
    }
    #expect(plain > 500)
  }

  /// An answer that comes late is told beside what had been told when the time was over.
  @Test func late() throws {
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
      talk.send(Scene.text(2), .clientToServer, at: Scene.ms(20_000))
      talk.send(TJPFrameBuilder.echoACK(of: 1).bytes, .serverToClient, at: Scene.ms(20_010))
    }
    let heard = Listener()
    lead(packets, Plans.both, needs: .resolutions, into: heard)
    try #require(heard.all.count == 3)
    let (first, second) = (heard.all[0], heard.all[1])
    #expect(first.fate == .unanswered && first.roundTrip == nil && !first.isPlain)
    #expect(second.fate == .acked && second.roundTrip == .seconds(20) && !second.isPlain)
    let before = second.beforeLate
    #expect(before.fate == first.fate && before.outcome.cause == first.outcome.cause)
    #expect(before.roundTrip == nil && before.flags == first.flags && before.kind == first.kind)
    #expect(heard.all[2].fate == .pending)
  }

  /// What a sink wants to hear changes nothing of what is counted, and a sink may leave everything unsaid.
  @Test(arguments: [Chat.tjp, .mqtt5]) func ignoresSignals(_ chat: Chat) {
    var packets = chat.talk(.across).packets
    packets.remove(at: packets.count / 2)
    let all: EngineOptions.Needs = [
      .frames, .resolved, .resolutions, .finished, .issues, .connections, .progress, .undecoded,
    ]
    let (heard, told) = (Recorder(), lead(packets, Plans.both, needs: all, into: Deaf()))
    let known = lead(packets, Plans.both, needs: all, into: heard)
    #expect(told.decodedBytes == known.decodedBytes && told.strayBytes == known.strayBytes)
    #expect(told.issues.indices.allSatisfy { told.issues[$0] == known.issues[$0] } && told.tlvs == known.tlvs)
    #expect(!heard.frames.isEmpty)
  }
}
