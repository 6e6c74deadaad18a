package import IMWire

/// Where a packet's headers stand, for whoever rewrites packets.
package struct PacketLayers {
  /// A header on the way to TCP, by the place of its first byte among the batch's.
  package enum Header: Equatable {
    /// Ethernet: destination, source.
    case ethernet(at: Int)
    /// An address of a link layer alone.
    case address(Range<Int>)
    /// IP, and where the datagram ends as far as it was captured.
    case ipv4(at: Int, end: Int), ipv6(at: Int, end: Int)
    /// IPv6's routing header.
    case routing(Range<Int>)
    /// UDP, in front of a tunnel.
    case udp(at: Int)
    /// GRE, of whose bits some say that it has a checksum.
    case gre(at: Int)
  }

  /// The headers from the outermost one on.
  package internal(set) var headers: [Header] = []
  /// Where TCP's header begins.
  package internal(set) var tcp = 0
  /// The payload, as far as it was captured.
  package internal(set) var payload = 0..<0
  /// The number of the payload's first byte in its direction.
  package internal(set) var sequence: UInt32 = 0
  /// Who sent it.
  package internal(set) var source = Endpoint(address: IPAddress(v4: 0), port: 0)
  /// To whom.
  package internal(set) var destination = Endpoint(address: IPAddress(v4: 0), port: 0)
  /// Whether the checksum is that of addresses and protocol alone: the sender's network card was to do the rest.
  package internal(set) var isOffloaded = false

  /// No headers.
  package init() {}

  /// Whether the packet comes through a tunnel that may have a checksum: UDP or GRE.
  package var isTunnelled: Bool {
    for header in headers {
      switch header {
      case .udp, .gre: return true
      default: break
      }
    }
    return false
  }
}

extension EndpointFinder {
  /// The headers of the packet that `record` describes in `bytes`; `nil` for one that is no TCP segment, and, where `isFragment`
  /// says so, for one that is a piece of one: which stream it belongs to nobody knows before the last piece comes.
  package mutating func layers(_ bytes: RawSpan, _ record: PacketRecord) -> (layers: PacketLayers?, isFragment: Bool) {
    var layers = PacketLayers()
    var isFragment = false
    return find(bytes, record, &layers, &isFragment) ? (layers, isFragment) : (nil, isFragment)
  }

  /// The same into `layers`, whose memory it has; false where there are no headers.
  package mutating func find(
    _ bytes: RawSpan, _ record: PacketRecord, _ layers: inout PacketLayers, _ isFragment: inout Bool
  ) -> Bool {
    layers.headers.removeAll(keepingCapacity: true)
    isFragment = false
    switch parse(Bytes(bytes), record, &layers) {
    case .segment: break
    case .reassembledSegment, .skipped(.fragmentHeld), .skipped(.fragmentDropped):
      isFragment = true
      return false
    case .skipped: return false
    }
    let header = 20 + Int(segment.optionCount)
    layers.payload = segment.payload..<segment.payload + segment.payloadCount
    layers.tcp = segment.payload - header
    layers.sequence = segment.sequence &+ (segment.flags.contains(.syn) ? 1 : 0)
    layers.source = segment.key.endpoint(segment.side)
    layers.destination = segment.key.endpoint(1 - segment.side)
    layers.isOffloaded = isOffloaded(Bytes(bytes), layers)
    return true
  }

  private mutating func parse(
    _ bytes: borrowing Bytes, _ record: PacketRecord, _ layers: inout PacketLayers
  ) -> PacketParser.Outcome {
    withUnsafeMutablePointer(to: &layers) { pointer in
      parser.layers = pointer
      defer { parser.layers = nil }
      return parser.parse(bytes, record, into: &segment)
    }
  }

  private func isOffloaded(_ bytes: borrowing Bytes, _ layers: borrowing PacketLayers) -> Bool {
    let pseudo = InternetChecksum(tcpFrom: layers.source.address, to: layers.destination.address)
    let count = segment.payload + segment.payloadCount + segment.cutCount - layers.tcp
    return PacketParser.wrongChecksum(bytes, layers.tcp, count, pseudo) == .offloaded
  }
}
