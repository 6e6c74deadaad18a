import IMWire

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

/// One TCP segment, where its parts stand in the packet's bytes. 92 bytes: what every segment is asked for comes first.
struct Segment {
  var key = FlowKey()
  /// The side that sent it, as `FlowKey` counts sides.
  var sender: UInt8 = 0
  var flags: TCPFlags = []
  var checksum = SegmentChecksum.good
  var timestamp = Timestamp(nanoseconds: 0)
  /// The packet's number in the capture.
  var number: UInt64 = 0
  var sequence: UInt32 = 0
  var acknowledgment: UInt32 = 0
  private var payloadStart: UInt32 = 0, payloadLength: UInt32 = 0, cutLength: UInt32 = 0
  /// The payload's sum, by which a retransmission with other bytes is noticed; `nil` when checksums are not looked at.
  var payloadSum: UInt32?
  /// Bytes of TCP options that are there, in front of the payload.
  var optionCount: UInt8 = 0
  var window: UInt16 = 0
  /// The IPv4 header's identification; 0 for IPv6.
  var identification: UInt16 = 0
  /// The TCP header's checksum, as it travels.
  var checksumField: UInt16 = 0
  /// Bytes of the packet on the wire.
  var wireCount: UInt32 = 0

  /// `sender`, to count with.
  @inline(__always)
  var side: Int { Int(sender) }

  /// Where the payload begins.
  @inline(__always)
  var payload: Int {
    get { Int(payloadStart) }
    set { payloadStart = UInt32(truncatingIfNeeded: newValue) }
  }

  /// How much of the payload was captured.
  @inline(__always)
  var payloadCount: Int {
    get { Int(payloadLength) }
    set { payloadLength = UInt32(truncatingIfNeeded: newValue) }
  }

  /// Payload bytes that the capture's snaplen cut off.
  @inline(__always)
  var cutCount: Int {
    get { Int(cutLength) }
    set { cutLength = UInt32(truncatingIfNeeded: newValue) }
  }

  /// Where the TCP options begin and end.
  @inline(__always)
  var options: Range<Int> { Range(uncheckedBounds: (payload &- Int(optionCount), payload)) }

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
