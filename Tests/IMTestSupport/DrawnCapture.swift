import IMWire

/// Captures drawn from a seed: several connections of several protocols, with all that happens to packets on their way.
///
/// The same seed gives the same bytes. Nothing is known of what should come of them but that it must always be the same.
package struct DrawnCapture: Sendable {
  private var random: SeededRandom
  private var clock: Int64 = 1_700_000_030_000_000
  private var packets: [TimedPacket] = []

  /// The capture of `seed`.
  package static func capture(_ seed: UInt64) -> CaptureBuilder {
    var drawn = Self(random: SeededRandom(seed))
    return drawn.draw()
  }

  private mutating func draw() -> CaptureBuilder {
    let link = random.one(of: [LinkLayer.ethernet, .ethernet, .ethernet, .vlan([7]), .linuxCooked2, .raw])
    let start = clock
    let isLong = random.once(in: 2)
    for number in 0..<1 + Int(random.next() % 6) {
      clock = start + Int64(random.next() % 400_000)
      connection(UInt16(number), link, isLong: isLong)
    }
    packets = sorted(packets)
    damage(link)
    var capture = CaptureBuilder(packets)
    if random.once(in: 4) { capture.snapLength = random.one(of: [60, 96, 130, 200, 400]) }
    return capture
  }

  private func sorted(_ packets: [TimedPacket]) -> [TimedPacket] {
    packets.enumerated().sorted {
      ($0.element.timestamp, $0.offset) < ($1.element.timestamp, $1.offset)
    }.map(\.element)
  }

  // MARK: Connections

  private mutating func connection(_ number: UInt16, _ link: LinkLayer, isLong: Bool) {
    let chat = random.one(of: Speech.allCases)
    // Now and then the ports of a connection before.
    let port = 40_000 + (random.once(in: 6) ? 0 : number)
    let isIPv6 = random.once(in: 5)
    let (phone, server) = (
      Endpoint(
        address: isIPv6 ? IPAddress(v6High: 0x2001_0db8 << 32, v6Low: 0x21) : IPAddress(v4: 0xc000_0215), port: port),
      Endpoint(
        address: isIPv6 ? IPAddress(v6High: 0x2001_0db8 << 32, v6Low: 0x10) : IPAddress(v4: 0xcb00_710a),
        port: chat.port)
    )
    let isTunnelled = random.once(in: 8)
    var talk = ConversationBuilder(
      client: phone, server: server, link: isTunnelled ? .raw : link,
      initial: (UInt32(truncatingIfNeeded: random.next()), random.once(in: 3) ? 0xffff_ff00 : 5_000))
    talk.segmentSize = random.one(of: [1_448, 1_448, 300, 61, 7])
    talk.acknowledges = !random.once(in: 4)
    if !random.once(in: 6) { talk.open(at: now()) }
    var speaker = Speaker(chat: chat, random: SeededRandom(random.next()))
    for round in 0..<3 + Int(random.next() % 14) {
      for (direction, bytes) in speaker.round(round) {
        clock += 200 + Int64(random.next() % 60_000)
        talk.send(bytes, direction, at: now())
      }
      if random.once(in: 9) { talk.send(random.bytes(Int(random.next() % 90)), .clientToServer, at: now()) }
      // What waits for the clock: holes, answers, the minute.
      if random.once(in: 4) { clock += random.one(of: [49_000, 51_000, 100_000, 7_000_000]) }
      if isLong, random.once(in: 5) { clock += random.one(of: [20_000_000, 61_000_000]) }
    }
    clock += 3_000
    switch random.next() % 4 {
    case 0: talk.close(.reset(by: .clientToServer), at: now())
    case 1: break
    default: talk.close(.fin(by: random.once(in: 2) ? .clientToServer : .serverToClient), at: now())
    }
    packets += isTunnelled ? wrapped(talk.packets, link, isIPv6) : talk.packets
  }

  private mutating func wrapped(_ inner: [TimedPacket], _ link: LinkLayer, _ isIPv6: Bool) -> [TimedPacket] {
    var outer = PacketBuilder(link: link)
    let (near, far) = (IPAddress(v4: 0xac10_0001), IPAddress(v4: 0xac10_0002))
    return inner.flatMap { packet -> [TimedPacket] in
      let number: UInt8 = isIPv6 ? 41 : 4
      let parts =
        random.once(in: 3)
        ? outer.fragments(protocolNumber: number, packet.bytes, from: near, to: far, size: 64)
        : [outer.packet(protocolNumber: number, packet.bytes, from: near, to: far)]
      return parts.map { TimedPacket(timestamp: packet.timestamp, bytes: $0, linkType: link.linkType) }
    }
  }

  private func now() -> Timestamp { Timestamp(microseconds: clock) }

  // MARK: The way

  private mutating func damage(_ link: LinkLayer) {
    let loss = random.one(of: [0, 0, 8, 20, 60])
    let disorder = random.one(of: [0, 0, 5, 20])
    let copies = random.one(of: [0, 0, 7, 25])
    var out: [TimedPacket] = []
    for packet in packets {
      if loss > 0, random.once(in: loss) { continue }
      out.append(packet)
      if copies > 0, random.once(in: copies) {
        out.append(TimedPacket(packet, at: packet.timestamp.advanced(by: random.one(of: [1_000, 300_000_000]))))
      }
      if disorder > 0, random.once(in: disorder), let last = out.popLast() {
        out.append(
          TimedPacket(last, at: last.timestamp.advanced(by: random.one(of: [90_000, 30_000_000, 80_000_000]))))
      }
      if random.once(in: 40) { out.append(other(link, at: packet.timestamp)) }
    }
    out = sorted(out)
    if random.once(in: 3) { out.removeFirst(Int(random.next() % UInt64(max(1, out.count / 4)))) }
    if random.once(in: 3) { out.removeLast(Int(random.next() % UInt64(max(1, out.count / 4)))) }
    // A clock that is set back, and one whose packets change places.
    if random.once(in: 6), out.count > 2 {
      let place = 1 + Int(random.next() % UInt64(out.count - 1))
      out[place].timestamp = out[place].timestamp.advanced(by: -900_000_000)
    }
    // The capture may end with what is no segment, long after the last one.
    if random.once(in: 3), let last = out.last {
      out.append(
        other(link, at: last.timestamp.advanced(by: random.one(of: [1_000_000, 5_100_000_000, 70_000_000_000]))))
    }
    packets = out
  }

  /// A datagram of UDP, which carries nothing that is read.
  private func other(_ link: LinkLayer, at time: Timestamp) -> TimedPacket {
    var builder = PacketBuilder(link: link)
    let bytes = builder.packet(
      protocolNumber: 17, [0, 53, 0, 53, 0, 12, 0, 0, 1, 2, 3, 4], from: IPAddress(v4: 0xc000_0215),
      to: IPAddress(v4: 0xcb00_7101))
    return TimedPacket(timestamp: time, bytes: bytes, linkType: link.linkType)
  }
}

/// What a connection speaks.
private enum Speech: CaseIterable {
  case tjp, mqtt, smpp, diameter, goim, jt808, webSocket, noise

  var port: UInt16 {
    switch self {
    case .tjp: 8_080
    case .mqtt: 1_883
    case .smpp: 2_775
    case .diameter: 3_868
    case .goim: 3_101
    case .jt808: 6_608
    case .webSocket: 8_083
    case .noise: 9_999
    }
  }
}

/// Says what a client and its server would, some of it late, twice or not at all.
private struct Speaker {
  let chat: Speech
  var random: SeededRandom
  var number: UInt32 = 100

  init(chat: Speech, random: SeededRandom) {
    self.chat = chat
    self.random = random
  }

  mutating func round(_ round: Int) -> [(Direction, [UInt8])] {
    number += 1
    let text = [UInt8](repeating: 0x61 + UInt8(round % 26), count: random.one(of: [5, 30, 300, 2_500]))
    let isAnswered = !random.once(in: 5)
    func both(_ message: [UInt8], _ answer: [UInt8]) -> [(Direction, [UInt8])] {
      [(.clientToServer, message)] + (isAnswered ? [(.serverToClient, answer)] : [])
    }
    switch chat {
    case .tjp: return tjp(round, text, both)
    case .mqtt: return mqtt(round, text, both)
    case .smpp:
      guard round > 0 else {
        return both(SMPPBuilder.bind(1, "esme"), SMPPBuilder.pdu(0x8000_0009, 1, SMPPBuilder.string("smsc")))
      }
      return both(
        SMPPBuilder.message(4, number, "861380", text), SMPPBuilder.pdu(0x8000_0004, number, SMPPBuilder.string("id")))
    case .diameter:
      let origin = DiameterBuilder.origin("a.example.net")
      return both(
        DiameterBuilder.message(round == 0 ? 257 : 272, flags: 0x80, number, origin + [DiameterBuilder.avp(263, text)]),
        DiameterBuilder.message(
          round == 0 ? 257 : 272, flags: 0, number, [DiameterBuilder.avp(268, 2_001)] + origin))
    case .goim:
      return both(
        GoimBuilder.pack(round == 0 ? 7 : round % 3 == 0 ? 2 : 4, number, text),
        GoimBuilder.pack(round == 0 ? 8 : round % 3 == 0 ? 3 : 5, number))
    case .jt808:
      let serial = UInt16(truncatingIfNeeded: number)
      let body = Array(text.prefix(900))
      return both(JT808Builder.frame(0x0900, serial, body), JT808Builder.answer(0x8001, serial, of: serial, 0x0900))
    case .webSocket:
      guard round > 0 else {
        return [(.clientToServer, WebSocketBuilder.request()), (.serverToClient, WebSocketBuilder.answer())]
      }
      return mqtt(round - 1, text, both).map { direction, bytes in
        (direction, WebSocketBuilder.frame(bytes, key: direction == .clientToServer ? [1, 2, 3, 4] : nil))
      }
    case .noise: return both(random.bytes(text.count), text)
    }
  }

  private func tjp(
    _ round: Int, _ text: [UInt8], _ both: ([UInt8], [UInt8]) -> [(Direction, [UInt8])]
  ) -> [(Direction, [UInt8])] {
    guard round > 0 else {
      let hello = TLVBuilder().field(1, [1, 0, 0, 11]).bytes
      return both(
        TJPFrameBuilder(type: TJPType.control, sequence: 0x0200_0001, body: hello).bytes,
        TJPFrameBuilder.echoACK(of: 0x0200_0001).bytes)
    }
    if round % 5 == 0 {
      return both(
        TJPFrameBuilder.heartbeat(sequence: 0x0100_0000 + number).bytes,
        TJPFrameBuilder.echoACK(of: 0x0100_0000 + number).bytes)
    }
    var frame = TJPFrameBuilder(type: TJPType.data, sequence: number, body: TLVBuilder().field(0x1002, text).bytes)
    frame.timestamp = 1_700_000_030
    if round % 11 == 7 { frame.checksum = .bad }
    return both(frame.bytes, TJPFrameBuilder.echoACK(of: number).bytes)
  }

  private func mqtt(
    _ round: Int, _ text: [UInt8], _ both: ([UInt8], [UInt8]) -> [(Direction, [UInt8])]
  ) -> [(Direction, [UInt8])] {
    typealias M = MQTTPacketBuilder
    let id = UInt16(truncatingIfNeeded: number)
    if round == 0 { return both(M.connect(clientID: "phone-\(number)"), M.connack()) }
    if round % 6 == 0 { return both(M.pingreq, M.pingresp) }
    return both(M.publish("chat/room/7", text, qos: 1, packetID: id), M.puback(id))
  }
}
