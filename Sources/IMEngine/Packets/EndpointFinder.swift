package import IMWire

/// Tells the two ends of a packet's connection, for whoever chooses packets and does not decode them.
///
/// Reads what the engine reads: link layers, tunnels, fragments. Of a datagram in fragments the last one tells.
package struct EndpointFinder: ~Copyable {
  private var parser = PacketParser(verifiesChecksums: false)
  private var segment = Segment()

  /// A finder that has seen no fragments.
  package init() {}

  /// The ends of the packet that `record` describes in `bytes`, the lower (address, port) first; `nil` for what is no TCP.
  /// See `PacketRecord` for what the batch must promise.
  package mutating func ends(_ bytes: RawSpan, _ record: PacketRecord) -> (Endpoint, Endpoint)? {
    let view = Bytes(bytes)
    switch parser.parse(view, record, into: &segment) {
    case .segment, .reassembledSegment: return (segment.key.endpoint(0), segment.key.endpoint(1))
    case .skipped: return nil
    }
  }
}
