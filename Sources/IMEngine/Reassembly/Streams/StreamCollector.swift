package import IMWire

/// Collects every TCP stream of a capture: its bytes, its holes, and what its segments were.
///
/// It reads the same segments as the engine and waits for nothing: no hole is given up, the first copy of a byte wins
/// whenever it comes, and each byte stands where its sequence number says. Checksums are not verified. A stream is a pair
/// of addresses and ports, whatever VLAN or tunnel its packets come through; a SYN with another first number begins a new
/// one. Offline and off the hot path: ordinary collections, bounded by `StreamOptions`.
///
///     var collector = StreamCollector(options: StreamOptions())
///     while try source.nextBatch({ collector.process($0, $1) }) {}
///     for stream in collector.finish() { ... }
package struct StreamCollector: ~Copyable {
  private let options: StreamOptions
  private var parser = PacketParser(verifiesChecksums: false)
  private var segment = Segment()
  private let recent = RecentSegments()
  private var streams: [StreamState] = []
  /// The newest stream between two ends.
  private var newest: [FlowKey: Int] = [:]
  private var budget: StreamBudget

  /// Packets looked at.
  package private(set) var packets: UInt64 = 0
  /// TCP segments among them.
  package private(set) var segments: UInt64 = 0
  /// Segments of streams beyond `StreamOptions.streamLimit`.
  package private(set) var packetsLeftOut: UInt64 = 0

  /// A collector that has seen nothing.
  package init(options: StreamOptions) {
    self.options = options
    budget = StreamBudget(options)
  }

  /// Takes a batch of packets. See `PacketRecord` for what the batch must promise.
  package mutating func process(_ bytes: RawSpan, _ records: Span<PacketRecord>) {
    let view = Bytes(bytes)
    for i in records.indices {
      packets &+= 1
      let record = records[i]
      switch parser.parse(view, record, into: &segment) {
      case .segment:
        // An IP length beyond the packet's end on the wire is wrong: nothing was cut off there.
        let cut = Int(record.originalLength) - Int(record.capturedLength)
        segment.cutCount = min(segment.cutCount, max(0, cut))
        accept(view)
      case .reassembledSegment: acceptDatagram()
      case .skipped: break
      }
    }
  }

  /// The streams in the order of their first packets. The collector is empty afterwards.
  package mutating func finish() -> [CollectedStream] {
    let collected = streams.enumerated().map { $0.element.collected(id: $0.offset + 1) }
    streams = []
    newest = [:]
    budget = StreamBudget(options)
    return collected
  }

  private mutating func acceptDatagram() {
    let datagram = parser.fragments.datagram
    accept(Bytes(datagram.span.bytes))
  }

  private mutating func accept(_ bytes: borrowing Bytes) {
    segments &+= 1
    var index = newest[segment.key]
    if let known = index, streams[known].analyst.startsAnew(segment) { index = nil }
    if index == nil, streams.count < options.streamLimit {
      index = streams.count
      newest[segment.key] = streams.count
      streams.append(StreamState(segment))
    }
    guard let index else {
      packetsLeftOut &+= 1
      return
    }
    streams[index].accept(&segment, bytes, index, recent, &budget)
  }
}

extension FlowKey: Hashable {
  func hash(into hasher: inout Hasher) {
    hasher.combine(a)
    hasher.combine(b)
    hasher.combine(c)
    hasher.combine(d)
    hasher.combine(ports)
    hasher.combine(isIPv6)
  }
}
