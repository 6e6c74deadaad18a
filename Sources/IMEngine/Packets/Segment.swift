import IMWire

/// The two ends of a TCP connection in an order that does not depend on who sent a packet: side 0 is the lower
/// (address, port).
///
/// For IPv4 both addresses stand in `a` (side 0 in the high half); for IPv6, `a` and `b` are side 0's address, `c` and
/// `d` side 1's.
struct FlowKey: Equatable {
  var a: UInt64 = 0
  var b: UInt64 = 0
  var c: UInt64 = 0
  var d: UInt64 = 0
  /// Side 0's port in the high half, side 1's in the low.
  var ports: UInt32 = 0
  var isIPv6 = false

  @inline(__always)
  static func == (x: FlowKey, y: FlowKey) -> Bool {
    (x.a ^ y.a) | (x.b ^ y.b) | (x.c ^ y.c) | (x.d ^ y.d) | UInt64(x.ports ^ y.ports) == 0
      && x.isIPv6 == y.isIPv6
  }

  /// Whether it is that IPv4 key.
  @inline(__always)
  func isSame(v4 other: FlowKey) -> Bool { (a ^ other.a) | UInt64(ports ^ other.ports) == 0 && !isIPv6 }

  /// Becomes the key of an IPv4 segment, given its addresses and its ports as they stand in the header; gives the side
  /// that sent it.
  @inline(__always)
  mutating func set(_ source: UInt32, _ destination: UInt32, ports wire: UInt32) -> Int {
    // Who sent a packet is a coin's toss to the processor: there is no branch here.
    let forward = UInt64(source) << 32 | UInt64(destination)
    let backward = UInt64(destination) << 32 | UInt64(source)
    let swapped = wire << 16 | wire >> 16
    let isLower: UInt64 = forward < backward ? 1 : 0
    let isSame: UInt64 = forward == backward ? 1 : 0
    let isFirst: UInt64 = wire <= swapped ? 1 : 0
    let fromLower = isLower | (isSame & isFirst)
    let mask = 0 &- fromLower
    a = backward ^ ((forward ^ backward) & mask)
    ports = swapped ^ ((wire ^ swapped) & UInt32(truncatingIfNeeded: mask))
    b = 0
    c = 0
    d = 0
    isIPv6 = false
    return Int(truncatingIfNeeded: 1 &- fromLower)
  }

  /// The endpoint of side 0 or 1.
  func endpoint(_ side: Int) -> Endpoint {
    let port = UInt16(truncatingIfNeeded: side == 0 ? ports >> 16 : ports)
    if isIPv6 {
      return Endpoint(
        address: side == 0 ? IPAddress(v6High: a, v6Low: b) : IPAddress(v6High: c, v6Low: d), port: port)
    }
    return Endpoint(
      address: IPAddress(v4: UInt32(truncatingIfNeeded: side == 0 ? a >> 32 : a)), port: port)
  }
}

/// What the TCP checksum of a segment said.
enum SegmentChecksum: UInt8 {
  /// Right, or not looked at because that was asked for.
  case good
  /// The field holds the pseudo header's sum only: the sender's network card was to fill it in after the capture.
  case offloaded
  /// Wrong.
  case bad
  /// Cannot be told: the packet is cut.
  case unknown
}

/// One TCP segment, where its parts stand in the packet's bytes.
struct Segment {
  var key = FlowKey()
  var timestamp = Timestamp(nanoseconds: 0)
  /// The packet's number in the capture.
  var number: UInt64 = 0
  /// The side that sent it, as `FlowKey` counts sides.
  var side = 0
  var sequence: UInt32 = 0
  var acknowledgment: UInt32 = 0
  /// Where the payload begins, and how much of it was captured.
  var payload = 0
  var payloadCount = 0
  /// Payload bytes that the capture's snaplen cut off.
  var cutCount = 0
  /// Where the TCP options begin and end.
  var options = 0..<0
  var window: UInt16 = 0
  var flags: TCPFlags = []
  var checksum = SegmentChecksum.good
  /// The payload's sum, by which a retransmission with other bytes is noticed; `nil` when checksums are not looked at.
  var payloadSum: UInt32?
  /// Bytes of the packet on the wire.
  var wireCount: UInt32 = 0
  /// The IPv4 header's identification; 0 for IPv6.
  var identification: UInt16 = 0
  /// The TCP header's checksum, as it travels.
  var checksumField: UInt16 = 0

  /// The sum of payload and phantom bytes: how far the sequence number moves.
  @inline(__always)
  var sequenceCount: UInt32 {
    UInt32(truncatingIfNeeded: payloadCount &+ cutCount)
      &+ (flags.contains(.syn) ? 1 : 0) &+ (flags.contains(.fin) ? 1 : 0)
  }
}

/// The flag byte of a TCP header.
struct TCPFlags: OptionSet {
  let rawValue: UInt8
  static let fin = TCPFlags(rawValue: 1)
  static let syn = TCPFlags(rawValue: 2)
  static let rst = TCPFlags(rawValue: 4)
  static let push = TCPFlags(rawValue: 8)
  static let ack = TCPFlags(rawValue: 16)
  /// The flags that open or close a connection.
  static let control: TCPFlags = [.fin, .syn, .rst]
}
