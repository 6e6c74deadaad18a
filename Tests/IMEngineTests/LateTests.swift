import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Segments that come after their place in the stream was given up as a gap.
///
/// What they bring is decoded after all, once, with what stood in front of the gap and behind it: nothing is lost.
@Suite struct LateTests {
  /// Each segment in turn comes 200 ms after its acknowledgment; a hole is given up after 50.
  @Test(arguments: Chat.all) func oneSegmentLate(_ chat: Chat, _ shape: Chat.Shape) {
    let talk = chat.talk(shape)
    for piece in LongRun.some(talk.pieces) {
      let run = Run(delayed(talk, [piece]))
      expect(run, talk, "\(piece)")
      if !run.gaps.isEmpty {
        #expect(run.gaps.map(\.byteCount) == [UInt64(piece.range.count)], "\(piece)")
        #expect(run.reassembly.lateBytes == UInt64(piece.range.count), "\(piece)")
        #expect(run.reassembly.retransmissions == 0, "\(piece)")
        #expect(run.reassembly.repeatedBytes == 0, "\(piece)")
      }
    }
  }

  /// The same, and the late segment comes twice: the second copy is a repetition.
  @Test(arguments: Chat.all) func lateAndRepeated(_ chat: Chat, _ shape: Chat.Shape) {
    let talk = chat.talk(shape)
    for piece in LongRun.some(talk.pieces.dropLast(15)) {
      let run = Run(delayed(talk, [piece, piece]))
      expect(run, talk, "\(piece)")
      #expect(run.reassembly.lateBytes == UInt64(piece.range.count), "\(piece)")
      #expect(run.reassembly.retransmissions == 1, "\(piece)")
      #expect(run.reassembly.repeatedBytes == UInt64(piece.range.count), "\(piece)")
    }
  }

  /// Three segments in a row are given up; then they come in any order, or only some of them.
  @Test(arguments: [[0, 1, 2], [2, 1, 0], [1, 0, 2], [1], [2], [0, 2], [2, 0], [1, 1, 0]])
  func threeSegmentsLate(_ order: [Int]) {
    for (chat, shape) in Chat.all {
      let talk = chat.talk(shape)
      for direction in [Direction.clientToServer, .serverToClient] {
        let pieces = talk.pieces.filter { $0.direction == direction }
        for first in LongRun.some(0..<max(0, pieces.count - 9)) {
          let three = Array(pieces[first..<first + 3])
          let run = Run(delayed(talk, order.map { three[$0] }, missing: three))
          let came = Set(order).map { three[$0].range }
          let lost = three.map(\.range).filter { !came.contains($0) }
          let what: Comment = "\(chat) \(shape) \(direction) \(first)"
          let problem = difference(run.said, talk.messages(without: lost.map { (direction, $0) }).said)
          #expect(problem == nil, what)
          #expect(run.reassembly.lateBytes == UInt64(came.reduce(0) { $0 + $1.count }), what)
          run.expectLedgerAddsUp(what)
        }
      }
    }
  }

  /// Two segments of one direction, some time from each other, change places: nothing is lost, and every message that was
  /// answered is answered.
  @Test(arguments: Chat.all) func farNeighboursSwapped(_ chat: Chat, _ shape: Chat.Shape) {
    let talk = chat.talk(shape)
    let clean = fates(Run(talk.packets))
    for direction in [Direction.clientToServer, .serverToClient] {
      let pieces = talk.pieces.filter { $0.direction == direction }
      for step in [1, 2, 4] {
        for (a, b) in LongRun.some(Array(zip(pieces, pieces.dropFirst(step)))) {
          var packets = talk.packets
          packets[a.packet] = TimedPacket(talk.packets[b.packet], at: talk.packets[a.packet].timestamp)
          packets[b.packet] = TimedPacket(talk.packets[a.packet], at: talk.packets[b.packet].timestamp)
          let run = Run(packets)
          expect(run, talk, "\(a) and \(b)")
          #expect(fates(run) == clean, "\(a) and \(b)")
        }
      }
    }
  }

  /// Each segment in turn comes a second late, behind the answers to what it holds: they answer it all the same, and there
  /// is no round trip to measure.
  @Test(arguments: Chat.all) func lateMessageIsAnswered(_ chat: Chat, _ shape: Chat.Shape) {
    let talk = chat.talk(shape)
    let clean = fates(Run(talk.packets))
    for piece in LongRun.some(talk.pieces) {
      let run = Run(delayed(talk, [piece], by: 1_000_000_000))
      #expect(fates(run) == clean, "\(piece)")
      for exchange in run.heard.finished where exchange.ackedAt < exchange.firstAt {
        #expect(exchange.roundTrip == nil, "\(piece)")
      }
    }
  }

  /// Fates by type and number, sorted.
  private func fates(_ run: Run) -> [String] {
    run.heard.finished.map { "\($0.direction) \($0.kind) \($0.sequence < 1 << 40 ? $0.sequence : 0) \($0.fate)" }
      .sorted()
  }

  /// Many directions with gaps at once: the table forgets the oldest and the engine stays true.
  @Test func manyGaps() {
    var packets: [TimedPacket] = []
    for i in 0..<1_500 {
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0x0a00_0000 + UInt32(i)), port: 4_000), server: Talk.server(8_080))
      talk.open(at: Timestamp(milliseconds: 1_700_000_000_000))
      var late = 0
      for n in 0..<3 {
        let sent = talk.send(
          TJPFrameBuilder(text: "message \(n)", sequence: UInt32(n)).bytes, .clientToServer,
          at: Timestamp(milliseconds: 1_700_000_000_100 + Int64(n) * 100))
        if n == 1 { late = sent[0] }
      }
      talk.duplicate(late, at: Timestamp(milliseconds: 1_700_000_001_000))
      talk.drop(late)
      packets += talk.packets
    }
    packets.sort { $0.timestamp < $1.timestamp }
    let run = Run(packets)
    run.expectLedgerAddsUp()
    #expect(run.gaps.count == 1_500)
    #expect(run.frames.count == 3_000 + GapRegionTable.maximumSides)
  }

  /// A talk with some segments taken out of their places and put behind, 200 ms after the last of
  /// them or so long.
  private func delayed(_ talk: Talk, _ late: [Talk.Piece], missing: [Talk.Piece]? = nil, by wait: Int64 = 200_000_000)
    -> [TimedPacket]
  {
    let all = talk.packets
    let gone = Set((missing ?? late).map(\.packet))
    var packets = all.indices.filter { !gone.contains($0) }.map { all[$0] }
    let last = gone.max().map { all[$0].timestamp } ?? .distantPast
    for (i, piece) in late.enumerated() {
      let time = last.advanced(by: wait + Int64(i) * 10_000)
      packets.insert(
        all[piece.packet].sentAgain(at: time, UInt8(i)), at: packets.firstIndex { $0.timestamp > time } ?? packets.count
      )
    }
    return packets
  }

  private func expect(
    _ run: Run, _ talk: Talk, _ what: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let problem = difference(run.said, talk.messages.said)
    #expect(problem == nil, "\(what)", sourceLocation: sourceLocation)
    run.expectLedgerAddsUp("\(what)", sourceLocation: sourceLocation)
  }
}
