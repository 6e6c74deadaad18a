import IMWire

/// A packet whose headers and checksums have been read, if it is a plain one.
struct ParsedPacket {
  /// What came of it: complete where `isPlain`, else only its time and number.
  var segment = Segment()
  /// Whether it was of the plainest kind; any other is parsed when its turn comes.
  var isPlain = false
  /// The hash of the segment's key, for the flow table; of any value where the packet is not plain.
  var hash: UInt64 = 0
}

/// The first stage: the packets of a batch are parsed and verified, `capacity` at a time, into a flat array.
///
/// What needs state, such as fragments, or is rare is parsed when its turn comes, by `parse`; so nothing depends on how
/// packets are cut into batches.
struct PacketStage: ~Copyable {
  /// Packets that are read at once: their 27 KB, and the lines of their flows, stay in the second cache.
  static var capacity: Int { 256 }

  /// Reads all other packets; it holds the fragments.
  var parser: PacketParser
  /// The packets that were read last.
  let packets: UnsafeMutablePointer<ParsedPacket>
  private let hasher: FlowHasher

  /// All packets so far.
  private(set) var count: UInt64 = 0
  /// Bytes of them, as captured.
  private(set) var byteCount: UInt64 = 0
  /// Those that the capture's snaplen cut.
  private(set) var cut: UInt64 = 0
  /// Those that are older than the one in front of them.
  private(set) var backwards: UInt64 = 0
  private var last = Timestamp.distantPast

  init(verifiesChecksums: Bool, hasher: FlowHasher) {
    parser = PacketParser(verifiesChecksums: verifiesChecksums)
    self.hasher = hasher
    packets = .allocate(capacity: Self.capacity)
    packets.initialize(repeating: ParsedPacket(), count: Self.capacity)
  }

  deinit { packets.deallocate() }

  /// Reads the packets from `first` on, as many as there is room for; gives their number.
  mutating func read(_ bytes: borrowing Bytes, _ records: Span<PacketRecord>, from first: Int) -> Int {
    let end = first &+ min(Self.capacity, records.count &- first)
    tally(records, first, end)
    let hasher = hasher, verifiesChecksums = parser.verifiesChecksums
    var packet = packets, i = first
    while i < end {
      let segment = UnsafeMutableRawPointer(packet).assumingMemoryBound(to: Segment.self)
      switch PlainPacket.read(bytes, records[unchecked: i], verifiesChecksums: verifiesChecksums, into: segment) {
      case .ipv4:
        packet.pointee.isPlain = true
        packet.pointee.hash = hasher.hash(v4: segment.pointee.key)
      case .ipv6:
        packet.pointee.isPlain = true
        packet.pointee.hash = hasher.hash(segment.pointee.key)
      case nil:
        packet.pointee.isPlain = false
      }
      packet += 1
      i &+= 1
    }
    return end &- first
  }

  /// Counts packets by what their records say. A loop of its own, since the other has more to keep than there are registers.
  @inline(__always)
  private mutating func tally(_ records: Span<PacketRecord>, _ first: Int, _ end: Int) {
    // Of two widths, so that they are not made one vector, which takes more to fill than to add.
    var byteCount: UInt64 = 0, cut: UInt32 = 0, backwards: UInt64 = 0
    var i = first, last = last
    while i < end {
      let record = records[unchecked: i]
      byteCount &+= UInt64(record.capturedLength)
      cut &+= record.capturedLength < record.originalLength ? 1 : 0
      backwards &+= record.timestamp < last ? 1 : 0
      last = record.timestamp
      i &+= 1
    }
    self.byteCount &+= byteCount
    self.cut &+= UInt64(cut)
    self.backwards &+= backwards
    self.last = last
    count &+= UInt64(truncatingIfNeeded: end &- first)
  }
}
