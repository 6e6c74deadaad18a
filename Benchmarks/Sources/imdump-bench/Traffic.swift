import Glibc

/// A capture of `tjp` that is the same every time: clients say something, and the server answers each message with an ACK.
///
/// Of a thousand messages five get no answer and are sent again twice, one is damaged, and forty are heartbeats.
struct Traffic {
  /// Messages and sessions; each session has a connection of its own, which is opened before the first message.
  var messages = 1_000_000, sessions = 10_000
  /// Messages a second of packet time.
  var rate = 10_000
  /// Messages that are written as fast as can be; those behind them come at `rate`. `nil` for all.
  var fast: Int?

  private struct Peer {
    var client: UInt32, server: UInt32
    var number: UInt32 = 0
  }

  /// Writes the capture to `path`; false where that fails.
  func write(_ path: String) -> Bool {
    guard let file = fopen(path, "w") else { return false }
    defer { fclose(file) }
    var out = PacketBytes()
    out.little([0xa1b2_c3d4, 0x0004_0002, 0, 0, 262_144, 1])
    var random: UInt64 = 42
    func draw(_ limit: Int) -> Int {
      random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int((random >> 33) % UInt64(limit))
    }
    var peers = (0..<sessions).map {
      Peer(client: UInt32($0) &* 7_919 &+ 1_000, server: UInt32($0) &* 104_729 &+ 5_000)
    }
    var microseconds: UInt64 = 1_760_000_000_000_000
    let step = UInt64(max(1, 1_000_000 / rate))
    for index in peers.indices {
      microseconds += 20
      out.packet(index, .toServer, 2, peers[index].client, 0, [], microseconds)
      out.packet(index, .toClient, 0x12, peers[index].server, peers[index].client &+ 1, [], microseconds + 5)
      peers[index].client &+= 1
      peers[index].server &+= 1
      out.packet(index, .toServer, 0x10, peers[index].client, peers[index].server, [], microseconds + 9)
    }
    // What is to be sent again, in the order in which it is.
    var again: [(at: Int, peer: Int, frame: [UInt8], left: Int)] = []
    var firstAgain = 0
    var begun = milliseconds()
    for count in 0..<messages {
      microseconds += step
      while firstAgain < again.count, again[firstAgain].at <= count {
        let (_, peer, frame, left) = again[firstAgain]
        firstAgain += 1
        out.packet(peer, .toServer, 0x18, peers[peer].client, peers[peer].server, frame, microseconds - step / 2)
        peers[peer].client &+= UInt32(frame.count)
        if left > 1 { again.append((count + 3 * rate, peer, frame, left - 1)) }
      }
      // Each session has one of the first messages.
      let peer = count < sessions ? count : draw(sessions), kind = draw(1_000)
      peers[peer].number += 1
      let number = peers[peer].number
      let isHeartbeat = kind >= 960
      var frame = Frame.bytes(
        type: isHeartbeat ? 1 : 0, number, session: UInt16(truncatingIfNeeded: peer + 1), microseconds,
        body: isHeartbeat ? [] : Frame.text("message \(count) of \(messages): 今晚吃什么 ok?"))
      if kind == 5 { frame[24] ^= 0x5a }
      out.packet(peer, .toServer, 0x18, peers[peer].client, peers[peer].server, frame, microseconds)
      peers[peer].client &+= UInt32(frame.count)
      if kind < 5 {
        again.append((count + 3 * rate, peer, frame, 2))
      } else if kind > 5 {
        let answer = Frame.bytes(
          type: isHeartbeat ? 1 : 2, number, session: UInt16(truncatingIfNeeded: peer + 1), microseconds,
          body: [])
        out.packet(
          peer, .toClient, 0x18, peers[peer].server, peers[peer].client, answer, microseconds + UInt64(20 + draw(60)))
        peers[peer].server &+= UInt32(answer.count)
      }
      if out.bytes.count > 1 << 16 || fast.map({ count > $0 }) ?? false { out.flush(file) }
      if count == fast { begun = milliseconds() }
      guard let fast, count > fast, count % max(1, rate / 100) == 0 else { continue }
      fflush(file)
      let wait = Double(count - fast) * 1_000 / Double(rate) - (milliseconds() - begun)
      if wait > 0 { usleep(UInt32(wait * 1_000)) }
    }
    out.flush(file)
    return ferror(file) == 0
  }
}

/// Frames of `tjp`: a header of 28 bytes, and a TLV.
enum Frame {
  static func text(_ text: String) -> [UInt8] {
    let utf8 = Array(text.utf8)
    return [0x10, 0x01, 0, 0, UInt8(utf8.count >> 8), UInt8(utf8.count & 255)] + utf8
  }

  static func bytes(type: UInt16, _ number: UInt32, session: UInt16, _ microseconds: UInt64, body: [UInt8]) -> [UInt8] {
    var frame: [UInt8] = []
    frame.reserveCapacity(28 + body.count)
    for value in [0xdeca_fbad, 0x0100 << 16 | UInt32(type), number, UInt32(microseconds / 1_000_000)] {
      frame.big(value)
    }
    frame.big(0x0100 << 16 | UInt32(session))
    frame.big(UInt32(body.count))
    frame.big(body.isEmpty ? 0 : crc(body))
    frame += body
    return frame
  }

  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1 }
  }

  private static func crc(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(~0) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
  }
}

extension [UInt8] {
  fileprivate mutating func big(_ value: UInt32) {
    for shift in [24, 16, 8, 0] { append(UInt8(truncatingIfNeeded: value >> UInt32(shift))) }
  }
}

/// Packets of a pcap file: Ethernet, IPv4 and TCP with right checksums.
private struct PacketBytes {
  enum Way { case toServer, toClient }

  private(set) var bytes: [UInt8] = []

  mutating func little(_ values: [UInt32]) {
    for value in values {
      for shift: UInt32 in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
  }

  mutating func packet(
    _ peer: Int, _ way: Way, _ flags: UInt8, _ sequence: UInt32, _ acknowledged: UInt32, _ payload: [UInt8],
    _ microseconds: UInt64
  ) {
    let length = UInt32(54 + payload.count)
    little([UInt32(microseconds / 1_000_000), UInt32(microseconds % 1_000_000), length, length])
    bytes +=
      way == .toServer ? [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0] : [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]
    let start = bytes.count
    let client = 0x0a00_0001 + UInt32(peer / 200), server: UInt32 = 0xc0a8_0009
    bytes.big(0x4500 << 16 | (length - 14))
    bytes.big(0x0000_4000)
    bytes.big(0x4006_0000)
    bytes.big(way == .toServer ? client : server)
    bytes.big(way == .toServer ? server : client)
    put(sum(start, start + 20, 0), start + 10)
    let port = UInt32(20_000 + peer % 40_000)
    bytes.big(way == .toServer ? port << 16 | 8_080 : 8_080 << 16 | port)
    bytes.big(sequence)
    bytes.big(acknowledged)
    bytes.big(0x5000_faf0 | UInt32(flags) << 16)
    bytes.big(0)
    bytes += payload
    put(sum(start + 20, bytes.count, UInt32(6 + 20 + payload.count) + state(start + 12, start + 20)), start + 36)
  }

  private mutating func put(_ value: UInt16, _ place: Int) {
    (bytes[place], bytes[place + 1]) = (UInt8(value >> 8), UInt8(value & 255))
  }

  private func state(_ from: Int, _ to: Int) -> UInt32 {
    var sum: UInt32 = 0
    var place = from
    while place + 1 < to {
      sum += UInt32(bytes[place]) << 8 | UInt32(bytes[place + 1])
      place += 2
    }
    return place < to ? sum + UInt32(bytes[place]) << 8 : sum
  }

  private func sum(_ from: Int, _ to: Int, _ begun: UInt32) -> UInt16 {
    var sum = begun + state(from, to)
    while sum >> 16 != 0 { sum = sum & 0xffff + sum >> 16 }
    return ~UInt16(truncatingIfNeeded: sum)
  }

  mutating func flush(_ file: UnsafeMutablePointer<FILE>) {
    fwrite(bytes, 1, bytes.count, file)
    bytes.removeAll(keepingCapacity: true)
  }
}
