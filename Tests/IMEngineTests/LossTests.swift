import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// A capture with something missing loses the messages that were in it, and no other.
///
/// The oracle is the list of messages that the test wrote and the bytes of each segment.
@Suite struct LossTests {
  /// Each segment in turn is not in the capture; its receiver acknowledged it all the same.
  @Test(arguments: Chat.all) func oneSegmentMissing(_ chat: Chat, _ shape: Chat.Shape) {
    let talk = chat.talk(shape)
    let packets = talk.packets
    for piece in LongRun.some(talk.pieces) {
      var left = packets
      left.remove(at: piece.packet)
      let run = Run(left)
      expect(run, talk, losing: [(piece.direction, piece.range)], "\(piece)")
      #expect(run.gaps.map(\.details) == [.gap(.captureLoss)], "\(piece)")
      #expect(run.gaps.map(\.direction) == [piece.direction], "\(piece)")
      #expect(run.gaps.map(\.byteCount) == [UInt64(piece.range.count)], "\(piece)")
      #expect(run.gaps.map(\.streamOffset) == [UInt64(piece.range.lowerBound)], "\(piece)")
      #expect(run.heard.reports.map(\.gapBytes) == [UInt64(piece.range.count)], "\(piece)")
    }
  }

  /// The network lost the segment: nobody acknowledges it before its copy comes.
  @Test(arguments: Chat.all) func oneSegmentRetransmitted(_ chat: Chat, _ shape: Chat.Shape) {
    let talk = chat.talk(shape)
    for piece in LongRun.some(talk.pieces) where piece.packet + 1 < talk.packets.count {
      // The capture stands before the loss: it sees both copies.
      var both = talk.packets
      both.insert(both[piece.packet].sentAgain(at: both[piece.packet + 1].timestamp), at: piece.packet + 2)
      let seenTwice = Run(both)
      expect(seenTwice, talk, losing: [], "twice: \(piece)")
      #expect(seenTwice.reassembly.retransmissions == 1, "twice: \(piece)")
      #expect(seenTwice.reassembly.repeatedBytes == UInt64(piece.range.count), "twice: \(piece)")
      #expect(seenTwice.gaps.isEmpty, "twice: \(piece)")
      // The capture stands behind it: it sees the second only, late by less than its patience.
      var late = talk.packets
      let packet = late.remove(at: piece.packet)
      let time = packet.timestamp.advanced(by: 30_000_000)
      let place = late.firstIndex { $0.timestamp > time } ?? late.count
      late.insert(TimedPacket(packet, at: time), at: place)
      let seenOnce = Run(late)
      expect(seenOnce, talk, losing: [], "late: \(piece)")
      #expect(seenOnce.gaps.isEmpty, "late: \(piece)")
    }
  }

  /// The last segments of the capture are missing, whether the connection closed or the capture just ended.
  @Test(arguments: Chat.all) func tailMissing(_ chat: Chat, _ shape: Chat.Shape) throws {
    let talk = chat.talk(shape)
    for direction in [Direction.clientToServer, .serverToClient] {
      let last = try #require(talk.pieces.last { $0.direction == direction })
      for end in [talk.packets.count, last.packet + 2] {
        var left = [TimedPacket](talk.packets[..<end])
        left.remove(at: last.packet)
        var lost = [(last.direction, last.range)]
        for piece in talk.pieces where piece.packet >= end { lost.append((piece.direction, piece.range)) }
        let run = Run(left)
        expect(run, talk, losing: lost, "\(last) of \(end)")
        #expect(run.gaps.map(\.byteCount) == [UInt64(last.range.count)], "\(last) of \(end)")
      }
    }
  }

  /// The capture begins at each packet in turn, without the connection's beginning.
  @Test(arguments: Chat.all) func beginsInTheMiddle(_ chat: Chat, _ shape: Chat.Shape) {
    let talk = chat.talk(shape)
    for first in LongRun.some(1..<talk.packets.count) {
      let lost = talk.pieces.filter { $0.packet < first }.map { ($0.direction, $0.range) }
      let run = Run([TimedPacket](talk.packets[first...]))
      expect(run, talk, losing: lost, "from packet \(first)")
      #expect(run.gaps.isEmpty, "from packet \(first)")
    }
  }

  /// Neighbouring segments change places.
  @Test(arguments: Chat.all) func neighboursSwapped(_ chat: Chat, _ shape: Chat.Shape) {
    let talk = chat.talk(shape)
    for (a, b) in LongRun.some(Array(zip(talk.pieces, talk.pieces.dropFirst()))) {
      var packets = talk.packets
      packets[a.packet] = TimedPacket(talk.packets[b.packet], at: talk.packets[a.packet].timestamp)
      packets[b.packet] = TimedPacket(talk.packets[a.packet], at: talk.packets[b.packet].timestamp)
      let run = Run(packets)
      expect(run, talk, losing: [], "\(a) and \(b)")
      #expect(run.gaps.isEmpty, "\(a) and \(b)")
    }
  }

  /// Several segments at random are missing, in both directions, and at times the beginning too.
  @Test(arguments: Chat.all) func severalMissing(_ chat: Chat, _ shape: Chat.Shape) {
    let talk = chat.talk(shape)
    for seed in 0..<LongRun.times(20, of: 60) {
      var random = SeededRandom(UInt64(seed))
      let first = seed % 3 == 0 ? Int.random(in: 1..<talk.packets.count / 2, using: &random) : 0
      let missing = talk.pieces.filter { $0.packet >= first }.shuffled(using: &random).prefix(2 + seed % 5)
      let dropped = Set(missing.map(\.packet))
      let left = talk.packets.indices.filter { $0 >= first && !dropped.contains($0) }.map { talk.packets[$0] }
      let lost = talk.pieces.filter { $0.packet < first || dropped.contains($0.packet) }.map {
        ($0.direction, $0.range)
      }
      expect(Run(left), talk, losing: lost, "seed \(seed)")
    }
  }

  private func expect(
    _ run: Run, _ talk: Talk, losing lost: [(direction: Direction, range: Range<Int>)], _ what: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    let problem = difference(run.said, talk.messages(without: lost).said)
    #expect(problem == nil, "\(what)", sourceLocation: sourceLocation)
    run.expectLedgerAddsUp("\(what)", sourceLocation: sourceLocation)
  }
}
