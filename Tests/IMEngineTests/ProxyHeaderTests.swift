import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// PROXY headers in front of a connection's first frame.
@Suite struct ProxyHeaderTests {
  private static let phone = Endpoint(address: IPAddress(v4: 0xc000_024d), port: 50_110)
  private static let front = Endpoint(address: IPAddress(v4: 0xc633_6401), port: 443)
  private static let six = Endpoint(address: IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 7), port: 50_111)
  private static let sixFront = Endpoint(address: IPAddress(v6High: 0x2001_0db8_0000_0000, v6Low: 1), port: 443)

  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var bytes: [UInt8]
    /// Whether it can be believed, and the client that it names then.
    var isGood = true
    var client: Endpoint?
    var testDescription: String { name }

    init(_ name: String, _ bytes: [UInt8], isGood: Bool = true, client: Endpoint? = nil) {
      self.name = name
      self.bytes = bytes
      self.isGood = isGood
      self.client = client
    }

    init(_ name: String, line: String, isGood: Bool = true, client: Endpoint? = nil) {
      self.init(name, [UInt8](line.utf8), isGood: isGood, client: client)
    }
  }

  /// CRC-32C of the header with the field's four bytes zero, by the published check value's own definition.
  private static func summed(_ good: Bool) -> [UInt8] {
    var header = ProxyHeaderBuilder.binary(phone, front, tlvs: ProxyHeaderBuilder.tlv(3, [0, 0, 0, 0]))
    var sum: UInt32 = .max
    for byte in header {
      for bit in 0..<8 {
        let isSet = (sum ^ UInt32(byte >> UInt8(bit))) & 1 == 1
        sum = isSet ? sum >> 1 ^ 0x82f6_3b78 : sum >> 1
      }
    }
    header.removeLast(4)
    header.append(big: good ? ~sum : sum)
    return header
  }

  static let cases = [
    Case("v1 TCP4", ProxyHeaderBuilder.line(phone, front), client: phone),
    Case("v1 TCP6", ProxyHeaderBuilder.line(six, sixFront), client: six),
    Case("v1 unknown", line: "PROXY UNKNOWN\r\n"),
    Case("v1 unknown with addresses", line: "PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n"),
    Case("v1 port too large", line: "PROXY TCP4 192.0.2.1 192.0.2.2 65536 1\r\n", isGood: false),
    Case("v1 leading zero", line: "PROXY TCP4 192.0.2.1 192.0.2.2 01 1\r\n", isGood: false),
    Case("v1 wrong family", line: "PROXY TCP6 192.0.2.1 192.0.2.2 1 1\r\n", isGood: false),
    Case("v1 two spaces", line: "PROXY TCP4  192.0.2.1 192.0.2.2 1 1\r\n", isGood: false),
    Case("v1 without CR", line: "PROXY TCP4 192.0.2.1 192.0.2.2 1 1\n", isGood: false),
    Case("v1 of 107 bytes", line: "PROXY UNKNOWN " + String(repeating: "x", count: 91) + "\r\n"),
    Case("v1 of 108 bytes", line: "PROXY UNKNOWN " + String(repeating: "x", count: 92) + "\r\n", isGood: false),
    Case("v2 TCP4", ProxyHeaderBuilder.binary(phone, front), client: phone),
    Case("v2 TCP6", ProxyHeaderBuilder.binary(six, sixFront), client: six),
    Case("v2 UNIX", ProxyHeaderBuilder.binary(family: 0x31, [UInt8](repeating: 0x2f, count: 216))),
    Case("v2 unspecified", ProxyHeaderBuilder.binary(family: 0, [])),
    Case("v2 local", ProxyHeaderBuilder.binary(command: 0x20, family: 0, [])),
    Case("v2 local with addresses", ProxyHeaderBuilder.binary(command: 0x20, family: 0x11, [UInt8](1...12))),
    Case(
      "v2 with TLVs",
      ProxyHeaderBuilder.binary(
        phone, front,
        tlvs: ProxyHeaderBuilder.tlv(1, [0x68, 0x32]) + ProxyHeaderBuilder.tlv(0x20, [1, 0, 0, 0, 0])
          + ProxyHeaderBuilder.tlv(4, [])), client: phone),
    Case("v2 with a right CRC-32C", summed(true), client: phone),
    Case("v2 with a wrong CRC-32C", summed(false), isGood: false),
    Case("v2 of version 3", ProxyHeaderBuilder.binary(command: 0x31, family: 0x11, [UInt8](1...12)), isGood: false),
    Case("v2 of an unknown command", ProxyHeaderBuilder.binary(command: 0x22, family: 0, []), isGood: false),
    Case("v2 of an unknown family", ProxyHeaderBuilder.binary(family: 0x41, [UInt8](1...12)), isGood: false),
    Case("v2 too short for its family", ProxyHeaderBuilder.binary(family: 0x21, [UInt8](1...12)), isGood: false),
    Case(
      "v2 with a TLV beyond its end",
      ProxyHeaderBuilder.binary(phone, front, tlvs: [1, 0, 9, 0x68]), isGood: false),
  ]

  private static let messages = [
    MQTTPacketBuilder.connect(clientID: "phone"), MQTTPacketBuilder.publish("a/b", [1, 2, 3], qos: 1, packetID: 7),
    MQTTPacketBuilder.pingreq,
  ]

  /// A connection whose client says the header, and then messages, cut at `cuts`.
  private func run(_ stream: [UInt8], cuts: [Int] = []) -> Run {
    Run(CutStreams.connection(0, .mqtt, stream, cuts: cuts)) { $0.verifiesChecksums = false }
  }

  @Test(arguments: cases) func header(_ header: Case) {
    let stream = header.bytes + Self.messages.joined()
    let run = run(stream)
    run.expectLedgerAddsUp()
    #expect(run.frames.filter { $0.direction == .clientToServer }.map(\.bytes) == Self.messages)
    #expect(run.frames.first?.streamOffset == UInt64(header.bytes.count))
    #expect(run.ledger.strayBytes == UInt64(header.bytes.count))
    #expect(run.ledger.carrierBytes == (header.isGood ? UInt64(header.bytes.count) : 0))
    #expect(run.issues.filter { $0.kind == .proxyHeader }.map(\.streamOffset) == (header.isGood ? [] : [0]))
    let peer = Endpoint(address: IPAddress(v4: 0x0a00_0000), port: 40_000)
    #expect(run.heard.reports.map(\.info.client) == [header.client ?? peer])
    #expect(run.heard.reports.map(\.info.peer) == [peer])
    #expect(run.heard.carriers.count == (header.isGood ? 1 : 0))
    let destination = header.client.map { $0.address.isIPv6 ? Self.sixFront : Self.front }
    #expect(run.heard.reports.map { $0.carrier?.destination } == [destination])
  }

  /// However the header is cut, it is the same one; and so are the messages behind it.
  @Test(arguments: cases.filter(\.isGood)) func everyCut(_ header: Case) {
    let stream = header.bytes + Self.messages.joined()
    for cut in 1..<stream.count {
      let run = run(stream, cuts: [cut])
      run.expectLedgerAddsUp("\(cut)")
      #expect(run.frames.filter { $0.direction == .clientToServer }.map(\.bytes) == Self.messages, "\(cut)")
      #expect(run.ledger.carrierBytes == UInt64(header.bytes.count), "\(cut)")
    }
    let run = run(stream, cuts: Array(1..<stream.count))
    #expect(run.frames.filter { $0.direction == .clientToServer }.map(\.bytes) == Self.messages)
    #expect(run.ledger.carrierBytes == UInt64(header.bytes.count))
  }

  /// A header that its connection's end cuts is told with its offset.
  @Test(arguments: [ProxyHeaderBuilder.line(phone, front), ProxyHeaderBuilder.binary(six, sixFront)])
  func everyPrefix(_ header: [UInt8]) {
    for count in 1..<header.count {
      var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
      talk.open(at: Scene.ms(0))
      talk.send([UInt8](header[..<count]), .clientToServer, at: Scene.ms(10))
      talk.close(.fin(by: .clientToServer), at: Scene.ms(20))
      let run = Run(talk.packets)
      run.expectLedgerAddsUp("\(count)")
      #expect(run.issues.filter { $0.kind == .proxyHeader }.count == (count < 6 ? 0 : 1), "\(count)")
      #expect(run.ledger.carrierBytes == 0)
    }
  }

  /// A session is its client's, not the load balancer's: two clients behind one are not taken for one that came back.
  @Test func sessions() {
    var packets: [TimedPacket] = []
    for (i, client) in [Self.phone, Self.six].enumerated() {
      let front = client.address.isIPv6 ? Self.sixFront : Self.front
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0x0a00_0005), port: UInt16(40_000 + i)), server: Talk.server(8_080))
      let at = Int64(i) * 1_000
      talk.open(at: Scene.ms(at))
      // Numbers of another category tell nothing: the address decides.
      let frame =
        i == 0
        ? TJPFrameBuilder.heartbeat(sequence: 0x0100_0001, session: 5).bytes
        : TJPFrameBuilder(text: "a", sequence: 7, session: 5).bytes
      talk.send(ProxyHeaderBuilder.binary(client, front) + frame, .clientToServer, at: Scene.ms(at + 10))
      talk.close(.fin(by: .clientToServer), at: Scene.ms(at + 20))
      packets += talk.packets
    }
    let run = Run(packets)
    #expect(run.frames.count == 2)
    #expect(Set(run.frames.map(\.session)).count == 2)
    #expect(run.reconnects == 0)
  }

  /// Where the capture begins in the middle there is no header, and what looks like one inside the stream is data.
  @Test func midstream() {
    var talk = ConversationBuilder(client: Talk.phone, server: Talk.server(1_883))
    let inner = MQTTPacketBuilder.publish("a/b", ProxyHeaderBuilder.line(Self.phone, Self.front), qos: 1, packetID: 3)
    talk.send(MQTTPacketBuilder.publish("a/b", [1], qos: 1, packetID: 2), .clientToServer, at: Scene.ms(10))
    talk.send(inner, .clientToServer, at: Scene.ms(20))
    let run = Run(talk.packets)
    #expect(run.frames.map(\.bytes).contains(inner))
    #expect(run.heard.carriers.isEmpty)
  }
}
