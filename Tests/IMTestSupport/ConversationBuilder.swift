package import IMWire

extension Timestamp {
  /// A moment for tests, counted in milliseconds from the epoch.
  package init(milliseconds: Int64) { self.init(microseconds: milliseconds * 1_000) }
}

/// A TCP connection between two endpoints as a capture sees it, packet by packet.
///
/// Each call appends packets at the time it is given. Afterwards single packets can be dropped, swapped or repeated:
/// every call answers with the indices of its packets, and these stay valid.
///
///     var talk = ConversationBuilder(client: phone, server: server)
///     talk.open(at: Timestamp(milliseconds: 0))
///     let sent = talk.send(frame, .clientToServer, at: Timestamp(milliseconds: 10))
///     talk.drop(sent[0])          // acknowledged, but not in the capture: a gap
///     talk.close(.fin(by: .clientToServer), at: Timestamp(milliseconds: 20))
package struct ConversationBuilder: Sendable {
  /// How a connection ends, and which side begins.
  package enum Ending: Sendable, Equatable {
    /// FIN, FIN and the last ACK.
    case fin(by: Direction)
    /// One RST.
    case reset(by: Direction)
  }

  /// The end that opens.
  package let client: Endpoint
  /// The end that listens.
  package let server: Endpoint
  /// Makes the packets; its link and IP settings may change between calls.
  package var builder: PacketBuilder
  /// Payload bytes per segment, at most.
  package var segmentSize = 1_448
  /// Whether a bare ACK from the other side follows every sent segment.
  package var acknowledges = true
  /// Nanoseconds between the packets of one call.
  package var spacing: Int64 = 100_000
  /// The capture's interface.
  package var interface: UInt16 = 0
  /// The number of the next byte of each direction; client first.
  package private(set) var next: [UInt32]
  private var slots: [TimedPacket?] = []

  /// A conversation whose first bytes carry the numbers `initial + 1`; client first.
  package init(
    client: Endpoint, server: Endpoint, link: LinkLayer = .ethernet, initial: (UInt32, UInt32) = (1_000, 5_000)
  ) {
    self.client = client
    self.server = server
    builder = PacketBuilder(link: link)
    next = [initial.0 &+ 1, initial.1 &+ 1]
  }

  /// The packets that were not dropped, by time; equal times keep the order of the calls.
  package var packets: [TimedPacket] {
    slots.compactMap { $0 }.enumerated().sorted { a, b in
      a.element.timestamp == b.element.timestamp ? a.offset < b.offset : a.element.timestamp < b.element.timestamp
    }.map(\.element)
  }

  /// The three-way handshake.
  @discardableResult
  package mutating func open(at time: Timestamp) -> [Int] {
    let options = TCPOption.maximumSegmentSize(1_460) + TCPOption.sackPermitted + TCPOption.noOperation
    return [
      append(.clientToServer, .syn, sequence: next[0] &- 1, acknowledgment: 0, options: options, at: time),
      append(
        .serverToClient, [.syn, .ack], sequence: next[1] &- 1, acknowledgment: next[0], options: options,
        at: time.advanced(by: spacing)),
      append(.clientToServer, .ack, sequence: next[0], acknowledgment: next[1], at: time.advanced(by: 2 * spacing)),
    ]
  }

  /// Sends `bytes`, cut into segments; answers the indices of the segments, not of the bare ACKs between them.
  @discardableResult
  package mutating func send(_ bytes: [UInt8], _ direction: Direction, at time: Timestamp) -> [Int] {
    var indices: [Int] = []
    var time = time
    for start in stride(from: 0, to: bytes.count, by: segmentSize) {
      let part = [UInt8](bytes[start..<min(start + segmentSize, bytes.count)])
      let (own, other) = (Int(direction.rawValue), Int(direction.reversed.rawValue))
      indices.append(
        append(direction, [.psh, .ack], sequence: next[own], acknowledgment: next[other], payload: part, at: time))
      next[own] &+= UInt32(part.count)
      time = time.advanced(by: spacing)
      if acknowledges {
        acknowledge(direction.reversed, at: time)
        time = time.advanced(by: spacing)
      }
    }
    return indices
  }

  /// A bare ACK of everything the other side has sent.
  @discardableResult
  package mutating func acknowledge(_ direction: Direction, at time: Timestamp) -> Int {
    let (own, other) = (Int(direction.rawValue), Int(direction.reversed.rawValue))
    return append(direction, .ack, sequence: next[own], acknowledgment: next[other], at: time)
  }

  /// The end of the connection.
  @discardableResult
  package mutating func close(_ ending: Ending, at time: Timestamp) -> [Int] {
    switch ending {
    case .reset(let by):
      let (own, other) = (Int(by.rawValue), Int(by.reversed.rawValue))
      return [append(by, [.rst, .ack], sequence: next[own], acknowledgment: next[other], at: time)]
    case .fin(let by):
      let (own, other) = (Int(by.rawValue), Int(by.reversed.rawValue))
      let first = append(by, [.fin, .ack], sequence: next[own], acknowledgment: next[other], at: time)
      next[own] &+= 1
      let second = append(
        by.reversed, [.fin, .ack], sequence: next[other], acknowledgment: next[own], at: time.advanced(by: spacing))
      next[other] &+= 1
      return [first, second, acknowledge(by, at: time.advanced(by: 2 * spacing))]
    }
  }

  /// Appends a segment of any kind; nothing is counted.
  @discardableResult
  package mutating func append(
    _ direction: Direction, _ flags: TCPFlags, sequence: UInt32, acknowledgment: UInt32, options: [UInt8] = [],
    payload: [UInt8] = [], at time: Timestamp
  ) -> Int {
    let (from, to) = direction == .clientToServer ? (client, server) : (server, client)
    var segment = TCPSegment(
      sourcePort: from.port, destinationPort: to.port, sequence: sequence, acknowledgment: acknowledgment,
      flags: flags, payload: payload)
    segment.options = options
    let bytes = builder.packet(segment, from: from.address, to: to.address)
    slots.append(
      TimedPacket(timestamp: time, bytes: bytes, linkType: builder.link.linkType, interface: interface))
    return slots.count - 1
  }

  /// Takes a packet out of the capture. Both ends have seen it all the same.
  package mutating func drop(_ index: Int) { slots[index] = nil }

  /// Lets two packets pass the capture in each other's place and time.
  package mutating func swap(_ first: Int, _ second: Int) {
    guard let a = slots[first], let b = slots[second] else { return }
    slots[first] = TimedPacket(a, at: b.timestamp)
    slots[second] = TimedPacket(b, at: a.timestamp)
  }

  /// Repeats a packet: a retransmission, byte for byte.
  @discardableResult
  package mutating func duplicate(_ index: Int, at time: Timestamp) -> Int {
    slots.append(slots[index].map { TimedPacket($0, at: time) })
    return slots.count - 1
  }
}
