package import IMWire

/// Packets that were read ahead of the engine, perhaps on another thread: what `PacketPreparer` finds in them.
///
/// One thread at a time may use it: the one that prepares, then the one that the engine runs on.
package final class PreparedPackets: @unchecked Sendable {
  let arrivals: UnsafeMutablePointer<Arrival>
  private let capacity: Int

  /// Room for `capacity` packets, which is one batch.
  package init(capacity: Int) {
    self.capacity = capacity
    arrivals = .allocate(capacity: capacity)
    arrivals.initialize(repeating: Arrival(), count: capacity)
  }

  deinit { arrivals.deallocate() }

  /// Whether a batch of `count` packets fits.
  func holds(_ count: Int) -> Bool { count <= capacity }
}

/// The part of an engine's work that needs nothing but the packet: headers, checksums, the hash of the connection.
package struct PacketPreparer: Sendable {
  let verifiesChecksums: Bool
  let hasher: FlowHasher

  /// Reads the packets of a batch, as far as there is room for them.
  package func prepare(_ bytes: RawSpan, _ records: Span<PacketRecord>, into packets: PreparedPackets) {
    guard packets.holds(records.count) else { return }
    let view = Bytes(bytes)
    for i in records.indices { readAhead(view, records[unchecked: i], packets.arrivals + i) }
  }

  /// Reads one packet, if it is of the plainest kind; `isRead` tells.
  @inline(__always)
  func readAhead(_ bytes: borrowing Bytes, _ record: PacketRecord, _ arrival: UnsafeMutablePointer<Arrival>) {
    let segment = UnsafeMutableRawPointer(arrival).assumingMemoryBound(to: Segment.self)
    let isRead = PacketParser.readAhead(bytes, record, verifiesChecksums: verifiesChecksums, into: segment)
    arrival.pointee.isRead = isRead
    arrival.pointee.flow = nil
    arrival.pointee.exchange = 0
    if isRead { arrival.pointee.hash = hasher.hash(v4: segment.pointee.key) }
  }
}
