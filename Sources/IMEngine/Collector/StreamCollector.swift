package import IMWire

/// Collects every TCP stream of a capture: its bytes, its holes, and what its segments were.
///
/// It reads the same segments as the engine and waits for nothing: no hole is given up, the first copy of a byte wins
/// whenever it comes, and each byte stands where its sequence number says. A stream is a pair
/// of addresses and ports, whatever VLAN or tunnel its packets come through; a SYN with another first number begins a new
/// one. Bounded by `StreamOptions`.
///
///     var collector = StreamCollector(options: StreamOptions())
///     while try source.nextBatch({ collector.process($0, $1) }) {}
///     collector.finish { stream in ... }
package struct StreamCollector: ~Copyable {
  /// A segment that was read, and whose stream is asked for: streams are far apart in memory, and one after the other of
  /// them would be waited for.
  private struct Waiting {
    var segment = Segment()
    var hash: UInt64 = 0
    /// The stream that it seems to belong to.
    var stream: UnsafeMutablePointer<StreamState>?
  }

  private let options: StreamOptions
  private var parser: PacketParser
  private let queue: UnsafeMutablePointer<Waiting>
  private static var queueCount: Int { 16 }
  /// How many segments were read and taken.
  private var read = 0, taken = 0
  private var recent: RecentSegments
  private var table: StreamTable
  private var memory = StreamMemory()
  private var budget: StreamBudget

  /// Streams so far.
  package var count: Int { table.count }
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
    recent = RecentSegments(memory: options.memory)
    table = StreamTable(seed: options.seed)
    queue = .allocate(capacity: Self.queueCount)
    queue.initialize(repeating: Waiting(), count: Self.queueCount)
  }

  deinit { queue.deallocate() }

  /// Takes a batch of packets. See `PacketRecord` for what the batch must promise.
  package mutating func process(_ bytes: RawSpan, _ records: Span<PacketRecord>) {
    let view = Bytes(bytes)
    for i in records.indices {
      packets &+= 1
      let record = records[i]
      let place = place(read)
      switch parser.parse(view, record, into: &place.pointee.segment) {
      case .segment:
        // An IP length beyond the packet's end on the wire is wrong: nothing was cut off there.
        let cut = Int(record.originalLength) - Int(record.capturedLength)
        place.pointee.segment.cutCount = min(place.pointee.segment.cutCount, max(0, cut))
        wait(view)
      case .reassembledSegment:
        // Its bytes are the parser's, and only until the next packet.
        take(view, until: read)
        acceptDatagram(place)
      case .skipped(let reason):
        if reason == .linkType, unknownLinkTypes.count < 16 { unknownLinkTypes.insert(record.linkType) }
      }
    }
    take(view, until: read)
  }

  @inline(__always)
  private func place(_ number: Int) -> UnsafeMutablePointer<Waiting> { queue + number % Self.queueCount }

  /// Has the segment that was just read wait, and takes the one that has waited for long enough. On the way it asks for its place
  /// in the table, then for its stream, then for the memory that its bytes go to.
  private mutating func wait(_ bytes: borrowing Bytes) {
    let new = place(read)
    new.pointee.hash = table.hash(new.pointee.segment.key)
    table.prefetchSlot(new.pointee.hash)
    read += 1
    if read - taken > 4 {
      let next = place(read - 5)
      next.pointee.stream = table.prefetchStream(next.pointee.hash)
    }
    if read - taken > 8 {
      let next = place(read - 9)
      if let stream = next.pointee.stream { stream.pointee.sides[next.pointee.segment.side].bytes.prefetch() }
    }
    if read - taken > 12 { take(bytes, until: taken + 1) }
  }

  /// Takes what waits in front of the segment with the number `end`.
  private mutating func take(_ bytes: borrowing Bytes, until end: Int) {
    while taken < end {
      accept(place(taken), bytes)
      taken += 1
    }
  }

  /// Hands out the streams in the order of their first packets; each is forgotten then. The collector is empty afterwards.
  package mutating func finish(_ body: (CollectedStream) -> Void) {
    let memory = memory
    let wantsContent = options.wantsContent
    table.drain { index, stream in body(stream.collected(id: index + 1, memory, wantsContent: wantsContent)) }
    self.memory = StreamMemory()
    budget = StreamBudget(options)
    recent = RecentSegments(memory: options.memory)
  }

  /// The streams in the order of their first packets. The collector is empty afterwards.
  package mutating func finish() -> [CollectedStream] {
    var streams: [CollectedStream] = []
    finish { streams.append($0) }
    return streams
  }

  private mutating func acceptDatagram(_ place: UnsafeMutablePointer<Waiting>) {
    place.pointee.hash = table.hash(place.pointee.segment.key)
    let datagram = parser.fragments.datagram
    accept(place, Bytes(datagram.span.bytes))
  }

  private mutating func accept(_ waiting: UnsafeMutablePointer<Waiting>, _ bytes: borrowing Bytes) {
    segments &+= 1
    let segment = UnsafeMutableRawPointer(waiting).assumingMemoryBound(to: Segment.self)
    let hash = waiting.pointee.hash
    var index = table.find(segment.pointee.key, hash)
    if let known = index, table.pointer(known).pointee.analyst.startsAnew(segment.pointee) { index = nil }
    if index == nil, count < options.streamLimit, budget.takeStream() {
      index = table.add(StreamState(segment.pointee), hash)
    }
    guard let index else {
      packetsLeftOut &+= 1
      return
    }
    table.pointer(index).pointee.accept(segment, bytes, id: index, recent: &recent, memory, &budget)
  }
}
