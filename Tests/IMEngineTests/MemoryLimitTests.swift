import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// Everything that grows with the input is bounded together; what is oldest goes first, and a sound connection among all
/// the others does not notice.
@Suite struct MemoryLimitTests {
  /// What fills the tables.
  enum Flood: String, CaseIterable {
    /// SYNs without an answer.
    case halfOpen
    /// Connections with one message, and one with an answer, that never close.
    case open, answered
    /// Data behind a hole that nobody fills.
    case held
    /// Long frames of which a part comes.
    case unfinished
    /// Data of no protocol.
    case unknown
    /// A server of its own for each connection.
    case servers
    /// One connection on which a client gives itself a new name with each frame.
    case sessions
    /// First fragments.
    case fragments
    /// Connections of which each packet is captured twice.
    case copies
    /// Connections with a heartbeat, behind a balancer's header, with a hole: each has something that few have.
    case beating, proxied, holed
    /// Connections that are refused: all at once, or so slowly that their ends were told.
    case refused, refusedSlowly
  }

  static let server: UInt32 = 0xcb00_710a
  static let limit = 4 << 20

  /// Packets of one source of the flood, the `i`th.
  private static func packets(_ flood: Flood) -> (_ i: UInt32) -> [[UInt8]] {
    let port: UInt16 = flood == .sessions ? 1_883 : 8_080
    var syn = FloodPacket(.syn, sourcePort: 4_000, destinationPort: port)
    var answer = FloodPacket([.syn, .ack], sourcePort: port, destinationPort: 4_000)
    var refusal = FloodPacket([.rst, .ack], sourcePort: port, destinationPort: 4_000)
    func client(_ payload: [UInt8]) -> FloodPacket {
      FloodPacket([.psh, .ack], payload: payload, sourcePort: 4_000, destinationPort: port)
    }
    let message = TJPFrameBuilder(text: "one of many", sequence: 7, session: 9).bytes
    var long = TJPFrameBuilder(type: TJPType.data, sequence: 7, body: [UInt8](repeating: 120, count: 9_000))
    long.claimedLength = 9_000_000
    let payload =
      switch flood {
      case .unfinished: long.bytes
      case .copies: [UInt8](repeating: 0x58, count: 1)
      case .unknown: [UInt8](repeating: 0x58, count: 3_000)
      case .held: [UInt8](repeating: 0x58, count: 9_000)
      case .beating: TJPFrameBuilder.heartbeat(sequence: 0x0100_0001, session: 9).bytes
      case .proxied:
        ProxyHeaderBuilder.binary(
          Endpoint(address: IPAddress(v4: 0x0a09_0807), port: 5_000),
          Endpoint(address: IPAddress(v4: 0x0a09_0806), port: 80)) + message
      default: message
      }
    var data = client(payload)
    let ack = TJPFrameBuilder.echoACK(of: 7, session: 9).bytes
    var reply = FloodPacket([.psh, .ack], payload: ack, sourcePort: port, destinationPort: 4_000)
    var fragment = [UInt8](hex: "020000000001 020000000002 0800 4500") + [5, 0xdc, 0, 0, 0x20, 0, 64, 6, 0, 0]
    fragment += [UInt8](repeating: 1, count: 8 + 1_480)
    return { i in
      let address = 0x0a00_0000 + i
      let server = flood == .servers ? Self.server &+ 0x0100_0000 &+ i : Self.server
      switch flood {
      case .halfOpen:
        syn.set(from: address, to: server, sequence: i &* 977)
        return [syn.bytes]
      case .refused, .refusedSlowly:
        syn.set(from: address, to: server, sequence: 99)
        refusal.set(from: server, to: address, sequence: 0, acknowledgment: 100)
        return [syn.bytes, refusal.bytes]
      case .sessions:
        let connect = MQTTPacketBuilder.connect(clientID: "client-\(1_000_000 + Int(i))-with-a-long-name")
        var named = client(connect)
        named.set(
          from: 0x0a00_0000, to: server, sequence: 100 &+ i &* UInt32(connect.count), acknowledgment: 500)
        guard i == 0 else { return [named.bytes] }
        syn.set(from: address, to: server, sequence: 99)
        answer.set(from: server, to: address, sequence: 499, acknowledgment: 100)
        return [syn.bytes, answer.bytes, named.bytes]
      case .fragments:
        fragment.overwrite(at: 18, big: UInt16(truncatingIfNeeded: i))
        fragment.overwrite(at: 26, big: address)
        return [fragment]
      case .open, .answered, .held, .unfinished, .unknown, .servers, .copies, .beating, .proxied, .holed:
        syn.set(from: address, to: server, sequence: 99)
        answer.set(from: server, to: address, sequence: 499, acknowledgment: 100)
        data.set(from: address, to: server, sequence: flood == .held ? 200 : 100, acknowledgment: 500)
        if flood == .copies { return [syn.bytes, syn.bytes, answer.bytes, answer.bytes, data.bytes, data.bytes] }
        if flood == .holed {
          // The server has what the capture lacks.
          reply.set(from: server, to: address, sequence: 500, acknowledgment: 100 &+ UInt32(message.count) &+ 50)
          let hole = data.bytes
          data.set(from: address, to: server, sequence: 150 &+ UInt32(message.count), acknowledgment: 500)
          return [syn.bytes, answer.bytes, hole, reply.bytes, data.bytes]
        }
        guard flood == .answered else { return [syn.bytes, answer.bytes, data.bytes] }
        reply.set(from: server, to: address, sequence: 500, acknowledgment: 100 &+ UInt32(message.count))
        return [syn.bytes, answer.bytes, data.bytes, reply.bytes]
      }
    }
  }

  /// What must have been forgotten.
  private static func expected(_ flood: Flood) -> Eviction {
    switch flood {
    case .halfOpen: .halfOpen
    case .refused, .refusedSlowly: .ended
    case .open, .answered, .copies, .beating, .proxied, .holed: .connection
    case .held, .unfinished, .unknown: .held
    case .servers: .server
    case .sessions: .session
    case .fragments: .datagram
    }
  }

  private static func count(_ flood: Flood) -> UInt32 {
    switch flood {
    case .halfOpen, .refused, .refusedSlowly: 30_000
    case .open, .answered, .servers, .copies, .beating, .proxied, .holed: 8_000
    case .held, .unfinished, .unknown: 2_000
    case .sessions: 25_000
    case .fragments: 3_000
    }
  }

  @Test(arguments: Flood.allCases) func staysBelowTheLimit(_ flood: Flood) {
    let chat = HonestChat(500, server: Endpoint(address: IPAddress(v4: Self.server), port: 8_080))
    var options = EngineOptions(plans: Plans.both)
    options.memory = Self.limit
    options.sinkCost = (200, 0, 16 << 10)
    options.needs = [.frames, .resolved, .connections, .issues]
    let heard = Recorder()
    var engine = Engine(options: options, sink: heard)
    let count = Self.count(flood)
    let make = Self.packets(flood)
    var time: Int64 = 1_700_000_000_000_000
    var said = 0
    var first: UInt64 = 1
    var most = 0
    for start in stride(from: UInt32(0), to: count, by: 500) {
      var packets: [TimedPacket] = []
      for i in start..<min(count, start + 500) {
        for bytes in make(i) {
          packets.append(TimedPacket(timestamp: Timestamp(microseconds: time), bytes: bytes))
          time += flood == .refusedSlowly ? 500 : 10
        }
        // The sound connection speaks at even distances.
        while said < chat.packets.count, said * Int(count) < Int(i + 1) * chat.packets.count {
          packets.append(TimedPacket(timestamp: Timestamp(microseconds: time), bytes: chat.packets[said]))
          said += 1
          time += 10
        }
      }
      let batch = CaptureBuilder(packets).batch(firstNumber: first)
      first += UInt64(packets.count)
      engine.process(batch.bytes.span.bytes, batch.records.span)
      most = max(most, engine.memoryBytes)
    }
    engine.finish()
    let ledger = engine.totals
    #expect(most <= Self.limit + 256 << 10, "\(most) bytes were held")
    #expect(ledger.evicted[Self.expected(flood)] > 0)
    let sound = honestConnection(heard)
    let honest = heard.frames.filter { $0.connection == sound }
    #expect(honest.count == 1_000)
    // Each connection has one last report, however it ended.
    let final = heard.reports.filter(\.isFinal)
    #expect(UInt64(final.count) == ledger.connections)
    #expect(Set(final.map(\.info.serial)).count == final.count)
  }

  /// The connection with the most frames.
  private func honestConnection(_ heard: Recorder) -> UInt32? {
    var counts: [UInt32: Int] = [:]
    for frame in heard.frames where frame.bytes.first == 0xde { counts[frame.connection, default: 0] += 1 }
    return counts.max { $0.value < $1.value }?.key
  }

  /// A hole every third byte, 20,000 of them, in both orders: each is kept, no byte is lost, and it does not take long.
  @Test(arguments: [false, true]) func manyHoles(_ reversed: Bool) {
    var segment = FloodPacket([.psh, .ack], payload: [0x7a, 0x7a], sourcePort: 4_000, destinationPort: 8_080)
    var packets: [TimedPacket] = []
    func add(_ bytes: [UInt8]) {
      packets.append(TimedPacket(timestamp: Timestamp(microseconds: Int64(packets.count) * 10), bytes: bytes))
    }
    var syn = FloodPacket(.syn, sourcePort: 4_000, destinationPort: 8_080)
    syn.set(from: 1, to: 2, sequence: 99)
    add(syn.bytes)
    var answer = FloodPacket([.syn, .ack], sourcePort: 8_080, destinationPort: 4_000)
    answer.set(from: 2, to: 1, sequence: 499, acknowledgment: 100)
    add(answer.bytes)
    let places = Array(UInt32(0)..<20_000)
    for i in reversed ? places.reversed() : places {
      segment.set(from: 1, to: 2, sequence: 101 + i * 3, acknowledgment: 500)
      add(segment.bytes)
    }
    let clock = ContinuousClock()
    let begun = clock.now
    let run = Run(packets)
    #expect(clock.now - begun < .seconds(20))
    #expect(run.reassembly.gapBytes[Int(GapReason.unseen.rawValue)] == 20_000)
    #expect(run.ledger.unreadBytes + run.ledger.strayBytes == 40_000)
    run.expectLedgerAddsUp()
  }

  /// Packets whose times run backwards cost no more than others, and are counted.
  @Test func backwards() {
    var syn = FloodPacket(.syn, sourcePort: 4_000, destinationPort: 8_080)
    var packets: [TimedPacket] = []
    for i in 0..<UInt32(20_000) {
      syn.set(from: 0x0a00_0000 + i, to: Self.server, sequence: i)
      packets.append(TimedPacket(timestamp: Timestamp(milliseconds: Int64(20_000 - i)), bytes: syn.bytes))
    }
    let run = Run(packets)
    #expect(run.ledger.connections == 20_000)
    #expect(run.ledger.clockBackwards == 19_999)
    run.expectLedgerAddsUp()
  }

  /// Times at both ends of what can be written: nothing traps, no duration is negative.
  @Test func strangeTimes() {
    let times = [
      Timestamp(seconds: 0, fraction: 0), Timestamp(seconds: 4_294_967_295, fraction: 4_294_967_295_000),
      Timestamp(nanoseconds: .max), Timestamp(nanoseconds: .min), Timestamp(seconds: 1_700_000_000, fraction: 0),
      .distantFuture, .distantPast,
    ]
    let chat = HonestChat(20, server: Endpoint(address: IPAddress(v4: Self.server), port: 8_080))
    for shift in times.indices {
      let packets = chat.packets.enumerated().map { i, bytes in
        TimedPacket(timestamp: times[(i + shift) % times.count], bytes: bytes)
      }
      let run = Run(packets)
      #expect(run.ledger.segments == UInt64(packets.count))
      for report in run.heard.reports {
        #expect(report.serverHandshake ?? .zero >= .zero)
        #expect(report.clientHandshake ?? .zero >= .zero)
      }
      run.expectLedgerAddsUp("\(shift)")
    }
  }
}
