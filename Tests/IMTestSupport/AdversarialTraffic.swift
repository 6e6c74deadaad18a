package import IMWire

/// Packets that are made to cost whoever decodes them as much as can be for what it costs to send them, and ordinary ones
/// to compare them with. Their checksums are 0: they are for runs that do not verify them.
package enum AdversarialTraffic: String, CaseIterable, Sendable {
  /// Nothing of the kind: small messages of `mqtt`, each answered.
  case ordinary
  /// Random bytes where frames of `mqtt` are looked for.
  case noise
  /// Bytes at each of which a long message of `mqtt` may begin; and the same byte by byte.
  case openHeaders, openHeadersByByte
  /// Short messages of `mqtt` that prove little, with a byte between them that is none.
  case weakFrames
  /// Headers of `tjp`, one behind the other, whose frames of a quarter of a megabyte all overlap.
  case overlappingFrames
  /// Damaged frames of `tjp` full of headers whose frames all end where theirs does.
  case nestedFrames
  /// Connections on the port of `mqtt` that say 4 KB of nothing, byte by byte, and in three segments.
  case undecidedByByte, undecided
  /// The same on one connection whose beginning was not captured.
  case midstreamByByte
  /// Many heartbeats, then many answers to them.
  case heartbeats
  /// One packet identifier used for many messages, then many answers that belong to none of them.
  case reusedNumber
  /// Every other eight bytes of datagrams.
  case fragments
  /// A gap behind each segment of a direction in which no frame is found.
  case gaps

  /// Makes packets until they are `byteCount` bytes or a little more, and hands each to `put` with its time.
  package func write(_ byteCount: Int, _ put: (Timestamp, [UInt8]) -> Void) {
    withoutActuallyEscaping(put) { put in
      var writer = PacketWriter(limit: byteCount, put: put)
      write(&writer)
    }
  }

  private func write(_ to: inout PacketWriter) {
    typealias M = MQTTPacketBuilder
    let anywhere: [UInt8] = [0x33, 0xb3, 0xb3, 0x33]
    switch self {
    case .ordinary:
      to.beginMQTT()
      var i = 0
      while to.isOpen {
        let id = UInt16(truncatingIfNeeded: i % 60_000 + 1)
        to.send(0, M.publish("chat/room/\(i % 9)", [UInt8]("are you there? \(i)".utf8), qos: 1, packetID: id))
        to.send(1, M.puback(id))
        i += 1
      }
    case .noise:
      to.beginMQTT(isLost: true)
      var random = SplitMix(state: 7)
      while to.isOpen { to.send(0, (0..<181).flatMap { _ in withUnsafeBytes(of: random.next(), [UInt8].init) }) }
    case .openHeaders, .openHeadersByByte:
      to.beginMQTT(isLost: true)
      let size = self == .openHeaders ? 1_448 : 1
      while to.isOpen { to.send(0, [[UInt8]](repeating: anywhere, count: 362).flatMap { $0 }, size: size) }
    case .weakFrames:
      to.beginMQTT(isLost: true)
      let frames: [UInt8] = [0x30, 2, 0, 0, 0x30, 2, 0, 0, 0x30, 4, 0, 2, 0xc3, 0xa4, 0]
      while to.isOpen { to.send(0, [[UInt8]](repeating: frames, count: 96).flatMap { $0 }) }
    case .overlappingFrames:
      to.begin(port: 8_080)
      to.send(0, header(0, checksum: 0) + [1, 2, 3])
      while to.isOpen { to.send(0, [[UInt8]](repeating: header(250_000), count: 51).flatMap { $0 }) }
    case .nestedFrames:
      to.begin(port: 8_080)
      while to.isOpen {
        let count = 28 * 100_000
        to.send(0, header(count))
        for start in stride(from: 28, through: count, by: 28) where to.isOpen { to.collect(0, header(count - start)) }
        to.send(0, [UInt8](repeating: 1, count: 100))
      }
    case .undecidedByByte, .undecided:
      let size = self == .undecided ? 1_448 : 1
      while to.isOpen {
        to.begin(port: 1_883)
        to.send(0, [0xc1] + [[UInt8]](repeating: anywhere, count: 1_020).flatMap { $0 }, size: size)
      }
    case .midstreamByByte:
      to.begin(port: 1_883, isOpening: false)
      while to.isOpen { to.send(0, anywhere, size: 1) }
    case .heartbeats:
      to.beginMQTT()
      while to.bytesLeft > to.limit / 2 { to.send(0, [[UInt8]](repeating: M.pingreq, count: 700).flatMap { $0 }) }
      while to.isOpen { to.send(1, [[UInt8]](repeating: M.pingresp, count: 700).flatMap { $0 }) }
    case .reusedNumber:
      to.beginMQTT()
      var i: UInt32 = 0
      while to.bytesLeft > to.limit / 2 {
        var body: [UInt8] = []
        body.append(big: i)
        to.collect(0, M.publish("a", body, qos: 1, packetID: 5))
        i += 1
      }
      while to.isOpen { to.send(1, [[UInt8]](repeating: M.suback(5, [0]), count: 280).flatMap { $0 }) }
    case .fragments:
      while to.isOpen { to.fragments() }
    case .gaps:
      to.beginMQTT(isLost: true)
      while to.isOpen {
        to.leaveOut(0, 7)
        to.send(0, [[UInt8]](repeating: anywhere, count: 25).flatMap { $0 })
        to.acknowledgeLate(1)
      }
    }
  }

  /// A header of `tjp` whose body has `count` bytes, and a checksum that is wrong.
  private func header(_ count: Int, checksum: UInt32 = 0x1234_5678) -> [UInt8] {
    var bytes: [UInt8] = [0xde, 0xca, 0xfb, 0xad, 1, 0, 0, 0, 0, 0, 0, 1, 0x65, 0x53, 0xf1, 0, 0, 0, 0x1a, 0x2b]
    bytes.append(big: UInt32(count))
    bytes.append(big: checksum)
    return bytes
  }
}

/// Lays TCP segments out as packets of Ethernet and IPv4, without checksums.
private struct PacketWriter {
  let limit: Int
  private(set) var bytesLeft: Int
  let put: (Timestamp, [UInt8]) -> Void
  private var next: [UInt32] = [0, 0]
  private var client: UInt32 = 0x0a00_0000
  private var port: UInt16 = 0
  private var number: UInt16 = 0
  private var time: Int64 = 1_700_000_000_000_000
  private var collected: [UInt8] = []

  init(limit: Int, put: @escaping (Timestamp, [UInt8]) -> Void) {
    self.limit = limit
    bytesLeft = limit
    self.put = put
  }

  var isOpen: Bool { bytesLeft > 0 }

  /// Begins another connection.
  mutating func begin(port: UInt16, isOpening: Bool = true) {
    self.port = port
    client += 1
    next = [1_000, 5_000]
    guard isOpening else { return }
    segment(0, .syn, [])
    next[0] += 1
    segment(1, [.syn, .ack], [])
    next[1] += 1
  }

  /// Begins a connection of `mqtt`; what comes next is no frame when it `isLost`.
  mutating func beginMQTT(isLost: Bool = false) {
    begin(port: 1_883)
    send(0, MQTTPacketBuilder.connect(clientID: "phone-1"))
    send(1, MQTTPacketBuilder.connack())
    if isLost { send(0, [0xc1]) }
  }

  mutating func send(_ side: Int, _ bytes: [UInt8], size: Int = 1_448) {
    let all = collected + bytes
    collected.removeAll(keepingCapacity: true)
    for start in stride(from: 0, to: all.count, by: size) {
      let part = [UInt8](all[start..<min(all.count, start + size)])
      segment(side, [.psh, .ack], part)
      next[side] &+= UInt32(part.count)
    }
  }

  /// Sends bytes when they fill a segment.
  mutating func collect(_ side: Int, _ bytes: [UInt8]) {
    collected += bytes
    if collected.count >= 1_448 { send(side, []) }
  }

  /// Bytes that were sent and not captured.
  mutating func leaveOut(_ side: Int, _ count: UInt32) { next[side] &+= count }

  /// An acknowledgment, and time enough to give up what it acknowledges.
  mutating func acknowledgeLate(_ side: Int) {
    segment(side, .ack, [])
    time += 60_000
  }

  mutating func fragments() {
    client += 1
    for place in stride(from: UInt16(0), to: 8_000, by: 2) {
      packet(fragment: 0x2000 | place, number: 1, from: client, to: 0xcb00_710a, [UInt8](repeating: 0, count: 8))
    }
  }

  private mutating func segment(_ side: Int, _ flags: TCPFlags, _ payload: [UInt8]) {
    var bytes: [UInt8] = []
    for port in side == 0 ? [40_000, port] : [port, 40_000] { bytes.append(big: port) }
    bytes.append(big: next[side])
    bytes.append(big: flags.contains(.ack) ? next[1 - side] : 0)
    bytes += [0x50, flags.rawValue, 0xff, 0xff, 0, 0, 0, 0]
    number &+= 1
    let server: UInt32 = 0xcb00_710a
    packet(
      fragment: 0x4000, number: number, from: side == 0 ? client : server, to: side == 0 ? server : client,
      bytes + payload)
  }

  private mutating func packet(
    fragment: UInt16, number: UInt16, from source: UInt32, to destination: UInt32, _ payload: [UInt8]
  ) {
    var bytes: [UInt8] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0, 0x45, 0]
    bytes.append(big: UInt16(20 + payload.count))
    bytes.append(big: number)
    bytes.append(big: fragment)
    bytes += [64, 6, 0, 0]
    bytes.append(big: source)
    bytes.append(big: destination)
    bytes += payload
    time += 10
    bytesLeft -= bytes.count + 16
    put(Timestamp(microseconds: time), bytes)
  }
}

/// SplitMix64, so that a seed gives the same bytes everywhere.
private struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
