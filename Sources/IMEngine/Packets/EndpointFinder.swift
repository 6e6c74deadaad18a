package import IMWire

/// Tells the two ends of a packet's connection, for whoever chooses packets and does not decode them.
///
/// Reads what the engine reads: link layers, tunnels, fragments. Of a datagram in fragments the last one tells.
package struct EndpointFinder: ~Copyable {
  var parser = PacketParser(verifiesChecksums: false)
  var segment = Segment()

  /// A finder that has seen no fragments.
  package init() {}

  /// The ends of the packet that `record` describes in `bytes`, the lower (address, port) first; `nil` for what is no TCP.
  /// See `PacketRecord` for what the batch must promise.
  package mutating func ends(_ bytes: RawSpan, _ record: PacketRecord) -> (Endpoint, Endpoint)? {
    guard case .ends(let one, let other) = place(bytes, record) else { return nil }
    return (one, other)
  }

  /// What a packet belongs to.
  package enum Place {
    /// The connection between these ends, the lower (address, port) first.
    case ends(Endpoint, Endpoint)
    /// A datagram whose other fragments have not come.
    case fragment
    /// Nothing that is TCP.
    case other
  }

  /// The same, and whether it is a fragment of a datagram that is not whole yet.
  package mutating func place(_ bytes: RawSpan, _ record: PacketRecord) -> Place {
    let view = Bytes(bytes)
    switch parser.parse(view, record, into: &segment) {
    case .segment, .reassembledSegment: return .ends(segment.key.endpoint(0), segment.key.endpoint(1))
    case .skipped(.fragmentHeld), .skipped(.fragmentDropped): return .fragment
    case .skipped: return .other
    }
  }
}
