package import IMWire

/// Collects every TCP stream of a capture: its bytes, its holes, and what its segments were.
///
/// It reads the same segments as the engine and waits for nothing: no hole is given up, the first copy of a byte wins
/// whenever it comes, and each byte stands where its sequence number says. A stream is a pair
/// of addresses and ports, whatever VLAN or tunnel its packets come through; a SYN with another first number begins a new
/// one. Offline and off the hot path: ordinary collections, bounded by `StreamOptions`.
///
///     var collector = StreamCollector(options: StreamOptions())
///     while try source.nextBatch({ collector.process($0, $1) }) {}
///     collector.finish { stream in ... }
package struct StreamCollector: ~Copyable {
  private let options: StreamOptions
  private var parser: PacketParser
  private var segment = Segment()
  private let recent = RecentSegments()
  /// In chunks, so that growing copies none of them.
  private var chunks: [[StreamState]] = []
  private static var chunkCount: Int { 256 }
  /// Streams so far.
  package private(set) var count = 0
  /// The newest stream between two ends.
  private var newest: [FlowKey: Int] = [:]
  private var budget: StreamBudget

  /// Packets looked at.
  package private(set) var packets: UInt64 = 0
  /// TCP segments among them.
  package private(set) var segments: UInt64 = 0
  /// Link types that were met and are not read; the first 16.
  package private(set) var unknownLinkTypes: Set<UInt16> = []
  /// Segments of streams beyond `StreamOptions.streamLimit`.
  package private(set) var packetsLeftOut: UInt64 = 0

  /// A collector that has seen nothing.
  package init(options: StreamOptions) {
    self.options = options
    parser = PacketParser(verifiesChecksums: options.verifiesChecksums)
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
      case .skipped(let reason):
        if reason == .linkType, unknownLinkTypes.count < 16 { unknownLinkTypes.insert(record.linkType) }
      }
    }
  }

  /// Hands out the streams in the order of their first packets; each is forgotten then. The collector is empty afterwards.
  package mutating func finish(_ body: (CollectedStream) -> Void) {
    newest = [:]
    for i in chunks.indices {
      let chunk = chunks[i]
      chunks[i] = []
      for (offset, stream) in chunk.enumerated() { body(stream.collected(id: i * Self.chunkCount + offset + 1)) }
    }
    chunks = []
    count = 0
    budget = StreamBudget(options)
  }

  /// The streams in the order of their first packets. The collector is empty afterwards.
  package mutating func finish() -> [CollectedStream] {
    var streams: [CollectedStream] = []
    finish { streams.append($0) }
    return streams
  }

  private mutating func acceptDatagram() {
    let datagram = parser.fragments.datagram
    accept(Bytes(datagram.span.bytes))
  }

  private mutating func accept(_ bytes: borrowing Bytes) {
    segments &+= 1
    var index = newest[segment.key]
    if let known = index, chunks[known / Self.chunkCount][known % Self.chunkCount].analyst.startsAnew(segment) {
      index = nil
    }
    if index == nil, count < options.streamLimit, budget.takeStream() {
      index = count
      newest[segment.key] = count
      if count % Self.chunkCount == 0 {
        chunks.append([])
        chunks[chunks.count - 1].reserveCapacity(Self.chunkCount)
      }
      chunks[chunks.count - 1].append(StreamState(segment))
      count += 1
    }
    guard let index else {
      packetsLeftOut &+= 1
      return
    }
    chunks[index / Self.chunkCount][index % Self.chunkCount].accept(&segment, bytes, index, recent, &budget)
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
