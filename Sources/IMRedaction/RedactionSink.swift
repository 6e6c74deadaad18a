import CMachine
package import IMEngine
package import IMWire

/// Rewrites what the chosen connections of a capture say while it is decoded, and keeps the new bytes by their places in the
/// streams.
///
/// New bytes are kept by when they were made. The writer of packets, which follows the decoder, begins another generation of them from time to
/// time; the oldest of three is forgotten then.
package final class RedactionSink: EngineSink {
  /// What the engine has to tell for that.
  package static let needs: EngineOptions.Needs = [.frames, .connections, .issues, .undecoded]

  /// A direction of a connection.
  package struct Way: Hashable, Sendable {
    /// The connection's number.
    package let serial: UInt32
    /// Whether the server sends in it.
    package let isBack: Bool

    /// A direction of its parts.
    package init(serial: UInt32, isBack: Bool) { (self.serial, self.isBack) = (serial, isBack) }
  }

  /// What became of frames.
  package struct Counts: Sendable {
    /// Frames that were rewritten.
    package var rewritten: UInt64 = 0
    /// Frames that are gone, since what stands for them would have had another length.
    package var gone: UInt64 = 0
  }

  /// New bytes that were made in one chunk of time.
  private final class Generation {
    /// Where in `streams` those of a direction are, and 1 more, by its number; 0 for nowhere. They are in pages, since numbers count up
    /// and those of one time are neighbours.
    private var pages: [UnsafeMutablePointer<UInt32>?] = []
    private static let pageCount = 32
    /// They stay where they are in memory while they are changed, so that nothing of them is copied.
    private(set) var streams: UnsafeMutablePointer<StreamPatches> = .allocate(capacity: 64)
    private(set) var count = 0
    private var capacity = 64
    var used = 0

    deinit {
      streams.deinitialize(count: count)
      streams.deallocate()
      for page in pages { page?.deallocate() }
    }

    /// Makes a place for a direction: with its page it takes no more than `costOfStream`.
    @inline(never)
    func add(_ number: UInt32) -> UnsafeMutablePointer<StreamPatches> {
      let index = Int(number) / Self.pageCount
      if index >= pages.count {
        let more = max(index + 1, 2 * pages.count) - pages.count
        pages.append(contentsOf: repeatElement(nil, count: more))
      }
      if pages[index] == nil {
        let page = UnsafeMutablePointer<UInt32>.allocate(capacity: Self.pageCount)
        page.initialize(repeating: 0, count: Self.pageCount)
        pages[index] = page
      }
      if count == capacity {
        let more = UnsafeMutablePointer<StreamPatches>.allocate(capacity: 2 * capacity)
        more.moveInitialize(from: streams, count: count)
        streams.deallocate()
        (streams, capacity) = (more, 2 * capacity)
      }
      (streams + count).initialize(to: StreamPatches())
      count += 1
      pages[index]?[Int(number) % Self.pageCount] = UInt32(count)
      return streams + (count - 1)
    }

    /// The new bytes of a direction.
    @inline(__always)
    func stream(_ number: UInt32) -> UnsafeMutablePointer<StreamPatches>? {
      let index = Int(number) / Self.pageCount
      guard index < pages.count, let page = pages[index] else { return nil }
      let place = page[Int(number) % Self.pageCount]
      return place == 0 ? nil : streams + Int(place - 1)
    }

    /// Forgets the new bytes of a direction; gives how many bytes of memory they took.
    func remove(_ number: UInt32) -> Int {
      guard let stream = stream(number) else { return 0 }
      let gone = stream.pointee.byteCount
      stream.pointee = StreamPatches()
      pages[Int(number) / Self.pageCount]?[Int(number) % Self.pageCount] = 0
      return gone
    }
  }

  /// Generations that are kept, and what a direction takes in one beside its bytes.
  private static let generationCount = 3, costOfStream = 192
  /// The new bytes of each direction, the oldest generation first.
  @exclusivity(unchecked) private var generations: [Generation]
  /// The last of them.
  @exclusivity(unchecked) private var latest: Generation
  /// What became of frames.
  @exclusivity(unchecked) package private(set) var counts = Counts()
  /// Connections of which there was no room for the new bytes.
  @exclusivity(unchecked) package private(set) var leftOut: Set<UInt32> = []

  private let redactor: FrameRedactor
  private let plans: [ProtocolPlan]
  /// What rewrites the plain frames of each plan, and whether that was made: with the plan's first frame.
  private let plain: UnsafeMutablePointer<PlainFrames>
  private let isPlainMade: UnsafeMutablePointer<Bool>
  private let planCount: Int
  /// Which connections are wanted; `nil` where all are.
  private let isWanted: ((UInt32) -> Bool)?
  /// The most bytes that may be kept; connections that do not fit are left out.
  private let memory: Int
  /// How much all generations are to have.
  @exclusivity(unchecked) package var window: Int
  @exclusivity(unchecked) private var used = 0
  /// The frame that is told next, as it travels, where it is not read from the stream itself.
  @exclusivity(unchecked) private var next: (chunk: UndecodedChunk, bytes: [UInt8])?
  /// Where the stream that WebSocket frames carry stands on the wire.
  @exclusivity(unchecked) private var carried: [Way: CarriedPlaces] = [:]
  /// What of `used` that takes.
  @exclusivity(unchecked) private var accounted: [Way: Int] = [:]

  /// A sink for the connections that `isWanted` says, by their numbers, or for all; new bytes take at most `memory`.
  package init(_ names: Pseudonyms, plans: [ProtocolPlan], memory: Int, isWanted: ((UInt32) -> Bool)?) {
    planCount = plans.count
    plain = .allocate(capacity: max(1, planCount))
    isPlainMade = .allocate(capacity: max(1, planCount))
    isPlainMade.initialize(repeating: false, count: planCount)
    latest = Generation()
    generations = [latest]
    redactor = FrameRedactor(names)
    self.plans = plans
    self.memory = memory
    window = memory
    self.isWanted = isWanted
  }

  deinit {
    for i in 0..<planCount where isPlainMade[i] { (plain + i).deinitialize(count: 1) }
    plain.deallocate()
    isPlainMade.deallocate()
  }

  /// Whether another generation should begin.
  package var isFull: Bool { latest.used > window / Self.generationCount }

  /// Begins another generation; the oldest one is forgotten where there are three.
  package func turn() {
    if generations.count == Self.generationCount { used -= generations.removeFirst().used }
    latest = Generation()
    generations.append(latest)
  }

  /// Forgets all new bytes: the packets are written.
  package func clear() {
    latest = Generation()
    (generations, used) = ([latest], 0)
  }

  /// Puts what was made in order, so that it can be applied.
  package func resolve() {
    for generation in generations {
      for i in 0..<generation.count { generation.streams[i].finish() }
    }
  }

  /// Has what stands for them be in place of the bytes in `range` of `new`, which are at `offset` of a direction's stream. What nobody
  /// has told is a stand-in. `old` has the old bytes at the same places.
  package func apply(_ old: [UInt8], to new: inout [UInt8], _ range: Range<Int>, at offset: Int64, _ way: Way) {
    let number = Self.number(way)
    // One generation has them all, as a rule.
    if generations.count == 1 {
      guard let stream = latest.stream(number) else {
        return StreamPatches.clear(&new, range, keeping: KeptBytes())
      }
      StreamPatches.clear(&new, range, keeping: stream.pointee.kept)
      stream.pointee.put(heads: old, into: &new, range, at: offset)
      stream.pointee.put(into: &new, range, at: offset)
      return
    }
    let first = generations[0].stream(number), second = generations[1].stream(number)
    let third = generations.count > 2 ? generations[2].stream(number) : nil
    var kept = KeptBytes()
    if let first { kept = first.pointee.kept }
    if let second { kept.formUnion(second.pointee.kept) }
    if let third { kept.formUnion(third.pointee.kept) }
    StreamPatches.clear(&new, range, keeping: kept)
    first?.pointee.put(heads: old, into: &new, range, at: offset)
    second?.pointee.put(heads: old, into: &new, range, at: offset)
    third?.pointee.put(heads: old, into: &new, range, at: offset)
    // Of two for the same bytes the first counts.
    third?.pointee.put(into: &new, range, at: offset)
    second?.pointee.put(into: &new, range, at: offset)
    first?.pointee.put(into: &new, range, at: offset)
  }

  /// Asks the processor for what `apply` reads of a direction.
  package func prefetch(_ way: Way) {
    let number = Self.number(way)
    for generation in generations {
      if let stream = generation.stream(number) { imdump_prefetch(stream) }
    }
  }

  /// The same for the bytes at `offset`, once what `prefetch` has asked for is there.
  package func prefetch(_ way: Way, at offset: Int64) {
    let number = Self.number(way)
    for generation in generations { generation.stream(number)?.pointee.prefetch(at: offset) }
  }

  @inline(__always)
  private static func number(_ way: Way) -> UInt32 { way.serial &* 2 &+ (way.isBack ? 1 : 0) }

  /// Changes the new bytes of a direction.
  @inline(__always)
  private func change(_ way: Way, _ body: (inout StreamPatches) -> Void) {
    let number = Self.number(way)
    let stream: UnsafeMutablePointer<StreamPatches>
    var more = 0
    if let known = latest.stream(number) {
      stream = known
    } else {
      stream = latest.add(number)
      more = Self.costOfStream
    }
    more -= stream.pointee.byteCount
    body(&stream.pointee)
    more += stream.pointee.byteCount
    latest.used += more
    used += more
    if used > memory { leaveOut(way.serial) }
  }

  // MARK: What the engine tells

  /// A frame: what stands for it.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan,
    tlvs: Span<TLVRef>
  ) {
    let index = Int(connection.plan)
    guard wants(connection.serial), index < planCount else {
      next = nil
      return
    }
    let way = Way(serial: connection.serial, isBack: direction == .serverToClient)
    if next == nil {
      if !isPlainMade[index] { makePlain(index) }
      if let new = plain[index].rewrite(
        frame, connection, direction, bytes: bytes, body: body, tlvs: tlvs, redactor)
      {
        counts.rewritten += 1
        return change(way) { $0.put(new, at: frame.streamOffset) }
      }
    }
    let travelling = next
    next = nil
    let plan = plans[index]
    let isCarried: Bool = if case .frame(let isCarried)? = travelling?.chunk.kind { isCarried } else { false }
    let offset = travelling?.chunk.streamOffset ?? frame.streamOffset
    // Other frames end where a delimiter is, but are not read by it.
    let isDelimited = plan.isDelimited && !plan.readsContents
    guard
      let new = redactor.rewrite(
        frame, plan, connection, direction, bytes: bytes, body: body, tlvs: tlvs,
        wire: isDelimited ? travelling?.bytes : nil)
    else {
      counts.gone += 1
      return
    }
    counts.rewritten += 1
    if isDelimited {
      var kept: KeptBytes = [plan.delimiter]
      if plan.hasLines { kept.insert(0x0d) }
      change(way) { $0.kept = kept }
    }
    guard isCarried else { return put(new, at: offset, way) }
    var plain: [UInt8]?
    if carried[way]?.isPacked == true {
      plain = redactor.rewrite(
        frame, plan, connection, direction, bytes: bytes, body: body, tlvs: tlvs,
        wire: isDelimited ? travelling?.bytes : nil, isPlain: true)
    }
    for (bytes, place) in carried[way]?.place(new, plain: plain, at: offset) ?? [] { put(bytes, at: place, way) }
    account(way)
  }

  @inline(never)
  private func makePlain(_ plan: Int) {
    (plain + plan).initialize(to: PlainFrames(plans[plan]))
    isPlainMade[plan] = true
  }

  /// Bytes around frames, or a frame as it travels.
  package func undecoded(
    _ chunk: UndecodedChunk, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan
  ) {
    guard wants(connection.serial) else { return }
    let way = Way(serial: connection.serial, isBack: direction == .serverToClient)
    let old = bytes.withUnsafeBytes { Array($0) }
    switch chunk.kind {
    case .frame: next = (chunk, old)
    case .proxyHeader(let version):
      put(ProxyRedaction.rewritten(old, version: version, &redactor.addresses), at: chunk.streamOffset, way)
    case .upgrade: put(HTTPRedaction.rewritten(old), at: chunk.streamOffset, way)
    case .webSocketHeader: put(old, at: chunk.streamOffset, way)
    case .webSocketControl(let header, let key):
      put(control(old, header, key), at: chunk.streamOffset, way)
    case .payload(let inner, let key, let phase):
      carrier(of: way).add(
        CarriedPlaces.Piece(inner: inner, wire: chunk.streamOffset, count: old.count, key: key, phase: phase))
      account(way)
    case .packed(let key, let phase):
      carrier(of: way).add(
        packed: CarriedPlaces.Piece(inner: 0, wire: chunk.streamOffset, count: old.count, key: key, phase: phase))
      account(way)
    case .packedEnd(let inner, let keepsWindow):
      carrier(of: way).endMessage(at: inner, keepsWindow: keepsWindow)
    }
  }

  /// A control frame: a ping's payload gets the pseudonym that its pong's has; the reason of an end becomes a stand-in, its code
  /// stays.
  private func control(_ bytes: [UInt8], _ header: Int, _ key: UInt32?) -> [UInt8] {
    var payload = Array(bytes[header...])
    CarriedPlaces.mask(&payload, key, 0)
    if bytes[0] & 15 == 8 {
      payload = Array(payload.prefix(2)) + CharacterShape.anything(Array(payload.dropFirst(2)))
    } else {
      payload = redactor.names.bytes(payload)
    }
    CarriedPlaces.mask(&payload, key, 0)
    return bytes[..<header] + payload
  }

  /// A frame whose rest never came: its header stays, so that what it says of its length does.
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    guard issue.kind == .frameCut, wants(connection.serial), plans.indices.contains(Int(connection.plan)),
      !connection.carriers.contains(.webSocket)
    else { return }
    let way = Way(serial: connection.serial, isBack: issue.direction == .serverToClient)
    let plan = plans[Int(connection.plan)]
    guard !plan.isDelimited else { return }
    let count = min(plan.headOfCut, Int(clamping: issue.byteCount))
    change(way) { $0.keepHead(at: issue.streamOffset, count: count) }
  }

  /// A connection that is over: what it says compressed is whole.
  package func connection(_ report: ConnectionReport) {
    let serial = report.info.serial
    guard report.isFinal, isWanted?(serial) ?? true else { return }
    redactor.forget(serial)
    guard !carried.isEmpty else { return }
    for isBack in [false, true] {
      let way = Way(serial: serial, isBack: isBack)
      guard let places = forgetCarried(way) else { continue }
      let gone = places.pack { put($0, at: $1, way) }
      counts.gone += gone
    }
  }

  private func put(_ new: [UInt8], at offset: UInt64, _ way: Way) {
    guard !leftOut.contains(way.serial) else { return }
    change(way) { $0.put(new, at: offset) }
  }

  /// Counts what the carrier of a direction keeps now.
  private func account(_ way: Way) {
    let now = carried[way]?.byteCount ?? 0
    used += now - (accounted.updateValue(now, forKey: way) ?? 0)
    if used > memory { leaveOut(way.serial) }
  }

  /// Where the bytes that a direction carries are; made when it is asked for first.
  private func carrier(of way: Way) -> CarriedPlaces {
    if let known = carried[way] { return known }
    let made = CarriedPlaces()
    carried[way] = made
    return made
  }

  private func forgetCarried(_ way: Way) -> CarriedPlaces? {
    used -= accounted.removeValue(forKey: way) ?? 0
    return carried.removeValue(forKey: way)
  }

  /// Forgets a connection for whose new bytes there is no room.
  private func leaveOut(_ serial: UInt32) {
    leftOut.insert(serial)
    for way in [Way(serial: serial, isBack: false), Way(serial: serial, isBack: true)] {
      for generation in generations {
        let gone = generation.remove(Self.number(way))
        generation.used -= gone
        used -= gone
      }
      _ = forgetCarried(way)
    }
  }

  @inline(__always)
  private func wants(_ serial: UInt32) -> Bool {
    (isWanted == nil || isWanted?(serial) == true) && (leftOut.isEmpty || !leftOut.contains(serial))
  }
}
