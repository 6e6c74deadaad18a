import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Packets that one capture holds twice: a mirror port, a bridge, an interface called `any`. They are neither TCP's
/// retransmissions nor the protocol's copies.
@Suite struct CopyTests {
  /// How one packet comes to be in a capture twice.
  enum Way: CaseIterable {
    /// A mirror port that shows what comes in and what goes out.
    case mirror
    /// A router in between: another hop limit, and the header's checksum with it.
    case routed
    /// Two interfaces with another link header each.
    case anotherLink

    /// The packet as the second capture point sees it.
    func copy(_ packet: TimedPacket, after nanoseconds: Int64) -> TimedPacket {
      var copy = TimedPacket(packet, at: packet.timestamp.advanced(by: nanoseconds))
      switch self {
      case .mirror: break
      case .routed:
        if copy.bytes[14] >> 4 == 4 {
          copy.bytes[22] -= 1
          copy.bytes.refreshIPv4Checksum()
        } else {
          copy.bytes[21] -= 1
        }
      case .anotherLink:
        let isIPv6 = copy.bytes[14] >> 4 == 6
        copy.bytes.replaceSubrange(
          0..<14, with: [0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0, isIPv6 ? 0x86 : 8, isIPv6 ? 0xdd : 0])
        copy.linkType = 113
      }
      return copy
    }
  }

  /// A chat of which every packet is captured twice is the chat; each second packet is counted once, as that.
  @Test(arguments: Way.allCases, [20_000, 900_000] as [Int64]) func everyPacketTwice(_ way: Way, _ distance: Int64) {
    for (chat, shape) in Chat.all {
      let talk = chat.talk(shape)
      let both = talk.packets.flatMap { [$0, way.copy($0, after: distance)] }
        .sorted { $0.timestamp < $1.timestamp }
      let (once, twice) = (Run(talk.packets), Run(both))
      let what: Comment = "\(chat) \(shape)"
      #expect(difference(twice.said, talk.messages.said) == nil, what)
      #expect(twice.reassembly.copies == UInt64(talk.packets.count), what)
      #expect(twice.reassembly.retransmissions == 0, what)
      #expect(twice.heard.finished.allSatisfy { $0.copies <= 1 }, what)
      #expect(twice.heard.reports.map(\.retransmissions) == once.heard.reports.map(\.retransmissions), what)
      #expect(
        twice.heard.reports.map { $0.segments[0].duplicateAcks }
          == once.heard.reports.map { $0.segments[0].duplicateAcks }, what)
      #expect(twice.heard.reports.map { $0.packets[0] } == once.heard.reports.map { $0.packets[0] }, what)
      #expect(twice.heard.reports.map { $0.wireBytes[1] } == once.heard.reports.map { $0.wireBytes[1] }, what)
      #expect(twice.heard.reports.map(\.synCount) == once.heard.reports.map(\.synCount), what)
      twice.expectLedgerAddsUp(what)
    }
  }

  /// Resets, also one that refuses, and acknowledgments that repeat one another and come between one another's copies.
  @Test(arguments: Way.allCases) func resetsAndRepeatedAcknowledgments(_ way: Way) {
    let packets = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
      for i in 0..<4 { talk.acknowledge(.serverToClient, at: Scene.ms(20).advanced(by: Int64(i) * 100_000)) }
      talk.close(.reset(by: .serverToClient), at: Scene.ms(40))
    }
    let both = packets.flatMap { [$0, way.copy($0, after: 350_000)] }.sorted { $0.timestamp < $1.timestamp }
    let (once, twice) = (Run(packets), Run(both))
    #expect(twice.reassembly.copies == UInt64(packets.count))
    #expect(twice.heard.reports.map { $0.segments[1].duplicateAcks } == [4])
    #expect(once.heard.reports.map { $0.segments[1].duplicateAcks } == [4])
    #expect(twice.heard.reports.map(\.reason) == [.reset])
    twice.expectLedgerAddsUp()
  }

  /// The copies come in a burst behind the packets, as an interface that hands on many at once lets them.
  @Test func inBursts() {
    let talk = Chat.all[0].0.talk(Chat.all[0].1)
    for size in [2, 3, 8, 40] {
      var packets: [TimedPacket] = []
      var clock = Timestamp(milliseconds: 1_700_000_000_000)
      for first in stride(from: 0, to: talk.packets.count, by: size) {
        let burst = talk.packets[first..<min(first + size, talk.packets.count)]
        for packet in [burst, burst].joined() {
          packets.append(TimedPacket(packet, at: clock))
          clock = clock.advanced(by: 5_000)
        }
      }
      let run = Run(packets)
      #expect(difference(run.said, talk.messages.said) == nil, "\(size)")
      #expect(run.reassembly.copies == UInt64(talk.packets.count), "\(size)")
      #expect(run.reassembly.retransmissions == 0, "\(size)")
    }
  }

  /// None of many is missed when one other packet stands between the two.
  @Test func ofMany() {
    let talk = Scene.talk { talk in
      talk.open(at: Scene.ms(0))
      for i in 0..<6_000 { talk.send(Scene.text(UInt32(i + 1)), .clientToServer, at: Scene.ms(Int64(10 + 20 * i))) }
    }
    var packets: [TimedPacket] = []
    for first in stride(from: 0, to: talk.count, by: 2) {
      let pair = Array(talk[first..<min(first + 2, talk.count)])
      for (place, packet) in (pair + pair).enumerated() {
        packets.append(TimedPacket(packet, at: pair[0].timestamp.advanced(by: Int64(place) * 50_000)))
      }
    }
    #expect(Run(packets).reassembly.copies == UInt64(talk.count))
  }

  /// What is sent twice is not captured twice: it has another identification, or comes later.
  @Test func sentTwice() {
    let talk = Chat.all[0].0.talk(Chat.all[0].1)
    for piece in talk.pieces {
      let packet = talk.packets[piece.packet]
      let again: [(String, TimedPacket, UInt64)] = [
        ("another identification", packet.sentAgain(at: packet.timestamp.advanced(by: 20_000)), 0),
        ("later", TimedPacket(packet, at: packet.timestamp.advanced(by: 15_000_000)), 0),
        ("the same", TimedPacket(packet, at: packet.timestamp.advanced(by: 2_000_000)), 1),
      ]
      for (what, other, copies) in again {
        let run = Run((talk.packets + [other]).sorted { $0.timestamp < $1.timestamp })
        #expect(run.reassembly.copies == copies, "\(what) \(piece)")
        #expect(run.reassembly.retransmissions == 1 - copies, "\(what) \(piece)")
        run.expectLedgerAddsUp()
      }
    }
  }

  /// Without an identification, a second copy that two duplicate acknowledgments asked for is a retransmission, however
  /// soon it comes; and duplicate acknowledgments between which something came are not one.
  @Test func askedForAgain() {
    for isIPv6 in [false, true] {
      let (client, server) = isIPv6 ? OnePacket.v6 : OnePacket.v4
      var talk = ConversationBuilder(
        client: Endpoint(address: client, port: 40_001), server: Endpoint(address: server, port: 8_080))
      talk.acknowledges = false
      talk.segmentSize = 100
      talk.spacing = 50_000
      talk.open(at: Scene.ms(0))
      let known = talk.next
      let sent = talk.send([UInt8](repeating: 7, count: 400), .clientToServer, at: Scene.ms(10))
      for i in 0..<3 {
        talk.append(
          .serverToClient, .ack, sequence: known[1], acknowledgment: known[0],
          at: Scene.ms(10).advanced(by: Int64(i) * 50_000 + 60_000))
      }
      let again = talk.packets.first { $0.timestamp == Scene.ms(10) }
      guard let again else { return }
      _ = sent
      let packets = talk.packets + [again.sentAgain(at: Scene.ms(10).advanced(by: 400_000))]
      let run = Run(packets.sorted { $0.timestamp < $1.timestamp })
      let report = run.heard.reports.first
      #expect(report?.segments[0].fast == 1, "IPv6 \(isIPv6)")
      #expect(report?.segments[1].duplicateAcks == 3, "IPv6 \(isIPv6)")
      #expect(run.reassembly.copies == 0, "IPv6 \(isIPv6)")
    }
  }

  /// Those ask for no acknowledgment that has the same number: two of it are one that was captured twice.
  @Test func anAcknowledgmentIsAskedForByNobody() {
    var talk = ConversationBuilder(
      client: Endpoint(address: OnePacket.v6.0, port: 40_001), server: Endpoint(address: OnePacket.v6.1, port: 8_080))
    talk.acknowledges = false
    talk.open(at: Scene.ms(0))
    talk.send(Scene.text(1), .clientToServer, at: Scene.ms(10))
    let news = talk.send(Scene.text(2), .serverToClient, at: Scene.ms(20))
    for i in 0..<4 { talk.acknowledge(.serverToClient, at: Scene.ms(30 + 5 * Int64(i))) }
    talk.acknowledge(.clientToServer, at: Scene.ms(60))
    var packets = talk.packets
    for place in [news[0], packets.count - 1] {
      packets.append(TimedPacket(talk.packets[place], at: talk.packets[place].timestamp.advanced(by: 1_000)))
    }
    let run = Run(packets.sorted { $0.timestamp < $1.timestamp })
    #expect(run.reassembly.copies == 2)
    #expect(run.heard.reports.map { $0.segments[0].duplicateAcks } == [0])
  }
}
