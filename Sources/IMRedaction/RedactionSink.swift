package import IMEngine
package import IMWire

/// Rewrites what the chosen connections of a capture say while it is decoded, and keeps the new bytes by their places in the
/// streams.
///
/// New bytes are kept by when they were made. The writer of packets, which follows the decoder, begins another generation of them from time to
/// time; the oldest of three is forgotten then.
package final class RedactionSink: EngineSink {
  /// What the engine has to tell for that.
  package static let needs: EngineOptions.Needs = [.frames, .connections, .issues, .stretches]

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

  /// New bytes that were made in one stretch of time.
  private struct Generation {
    /// Where in `streams` those of a direction are, by its number.
    var places = NumberTable<UInt32>()
    var streams: [StreamPatches] = []
    var used = 0
  }

  /// Generations that are kept, and what a direction takes in one beside its bytes.
  private static let generationCount = 3, costOfStream = 192
  /// The new bytes of each direction, the oldest generation first.
  private var generations = [Generation()]
  /// What became of frames.
  package private(set) var counts = Counts()
  /// Connections of which there was no room for the new bytes.
  package private(set) var leftOut: Set<UInt32> = []

  private let redactor: FrameRedactor
  private let plans: [ProtocolPlan]
  private let isWanted: (UInt32) -> Bool
  /// The most bytes that may be kept; connections that do not fit are left out.
  private let memory: Int
  /// How much all generations are to have.
  package var window: Int
  private var used = 0
  /// The frame that is told next, as it travels, where it is not read from the stream itself.
  private var next: (stretch: StreamStretch, bytes: [UInt8])?
  /// Where the stream that WebSocket frames carry stands on the wire.
  private var carried: [Way: CarriedPlaces] = [:]
  /// What of `used` that takes.
  private var accounted: [Way: Int] = [:]

  /// A sink for the connections that `isWanted` says, by their numbers; new bytes take at most `memory`.
  package init(_ names: Pseudonyms, plans: [ProtocolPlan], memory: Int, isWanted: @escaping (UInt32) -> Bool) {
    redactor = FrameRedactor(names)
    self.plans = plans
    self.memory = memory
    window = memory
    self.isWanted = isWanted
  }

  /// Whether another generation should begin.
  package var isFull: Bool { generations[generations.count - 1].used > window / Self.generationCount }

  /// Begins another generation; the oldest one is forgotten where there are three.
  package func turn() {
    if generations.count == Self.generationCount { used -= generations.removeFirst().used }
    generations.append(Generation())
  }

  /// Forgets all new bytes: the packets are written.
  package func clear() { (generations, used) = ([Generation()], 0) }

  /// Puts what was made in order, so that it can be applied.
  package func settle() {
    for i in generations.indices {
      for k in generations[i].streams.indices { generations[i].streams[k].finish() }
    }
  }

  /// Has what stands for them be in place of the bytes in `range` of `new`, which are at `offset` of a direction's stream. What nobody
  /// has told is a stand-in. `old` has the old bytes at the same places.
  package func apply(_ old: [UInt8], to new: inout [UInt8], _ range: Range<Int>, at offset: Int64, _ way: Way) {
    var kept: Set<UInt8> = []
    for generation in generations {
      if let place = generation.places[Self.number(way)] { kept.formUnion(generation.streams[Int(place)].kept) }
    }
    StreamPatches.clear(&new, range, keeping: kept)
    // Of two for the same bytes the first counts.
    for generation in generations {
      guard let place = generation.places[Self.number(way)] else { continue }
      generation.streams[Int(place)].put(heads: old, into: &new, range, at: offset)
    }
    for generation in generations.reversed() {
      guard let place = generation.places[Self.number(way)] else { continue }
      generation.streams[Int(place)].put(into: &new, range, at: offset)
    }
  }

  private static func number(_ way: Way) -> UInt32 { way.serial &* 2 &+ (way.isBack ? 1 : 0) }

  /// Changes the new bytes of a direction.
  private func change(_ way: Way, _ body: (inout StreamPatches) -> Void) {
    let last = generations.count - 1
    let number = Self.number(way)
    var place = generations[last].places[number].map { Int($0) } ?? -1
    var more = 0
    if place < 0 {
      place = generations[last].streams.count
      generations[last].places[number] = UInt32(place)
      generations[last].streams.append(StreamPatches())
      more = Self.costOfStream
    }
    more -= generations[last].streams[place].byteCount
    body(&generations[last].streams[place])
    more += generations[last].streams[place].byteCount
    generations[last].used += more
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
    let travelling = next
    next = nil
    guard wants(connection.serial), plans.indices.contains(Int(connection.plan)) else { return }
    let plan = plans[Int(connection.plan)]
    let way = Way(serial: connection.serial, isBack: direction == .serverToClient)
    let isCarried: Bool = if case .frame(let isCarried)? = travelling?.stretch.kind { isCarried } else { false }
    let offset = travelling?.stretch.streamOffset ?? frame.streamOffset
    guard
      let new = redactor.rewrite(
        frame, plan, connection, direction, bytes: bytes, body: body, tlvs: tlvs,
        wire: plan.isDelimited ? travelling?.bytes : nil)
    else {
      counts.gone += 1
      return
    }
    counts.rewritten += 1
    if plan.isDelimited { change(way) { $0.kept = plan.hasLines ? [plan.delimiter, 0x0d] : [plan.delimiter] } }
    guard isCarried else { return put(new, at: offset, way) }
    var plain: [UInt8]?
    if carried[way]?.isPacked == true {
      plain = redactor.rewrite(
        frame, plan, connection, direction, bytes: bytes, body: body, tlvs: tlvs,
        wire: plan.isDelimited ? travelling?.bytes : nil, isPlain: true)
    }
    for (bytes, place) in carried[way]?.place(new, plain: plain, at: offset) ?? [] { put(bytes, at: place, way) }
    account(way)
  }

  /// Bytes around frames, or a frame as it travels.
  package func stretch(
    _ stretch: StreamStretch, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan
  ) {
    guard wants(connection.serial) else { return }
    let way = Way(serial: connection.serial, isBack: direction == .serverToClient)
    let old = bytes.withUnsafeBytes { Array($0) }
    switch stretch.kind {
    case .frame: next = (stretch, old)
    case .proxyHeader(let version):
      put(ProxyRedaction.rewritten(old, version: version, &redactor.addresses), at: stretch.streamOffset, way)
    case .upgrade: put(HTTPRedaction.rewritten(old), at: stretch.streamOffset, way)
    case .webSocketHeader: put(old, at: stretch.streamOffset, way)
    case .webSocketControl(let header, let key):
      put(control(old, header, key), at: stretch.streamOffset, way)
    case .payload(let inner, let key, let phase):
      carried[way, default: CarriedPlaces()].add(
        CarriedPlaces.Piece(inner: inner, wire: stretch.streamOffset, count: old.count, key: key, phase: phase))
      account(way)
    case .packed(let key, let phase):
      carried[way, default: CarriedPlaces()].add(
        packed: CarriedPlaces.Piece(inner: 0, wire: stretch.streamOffset, count: old.count, key: key, phase: phase))
      account(way)
    case .packedEnd(let inner, let keepsWindow):
      carried[way, default: CarriedPlaces()].endMessage(at: inner, keepsWindow: keepsWindow)
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
    guard report.isFinal, isWanted(serial) else { return }
    redactor.forget(serial)
    guard !carried.isEmpty else { return }
    for isBack in [false, true] {
      let way = Way(serial: serial, isBack: isBack)
      guard var places = forgetCarried(way) else { continue }
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

  private func forgetCarried(_ way: Way) -> CarriedPlaces? {
    used -= accounted.removeValue(forKey: way) ?? 0
    return carried.removeValue(forKey: way)
  }

  /// Forgets a connection for whose new bytes there is no room.
  private func leaveOut(_ serial: UInt32) {
    leftOut.insert(serial)
    for way in [Way(serial: serial, isBack: false), Way(serial: serial, isBack: true)] {
      for i in generations.indices {
        guard let place = generations[i].places.remove(Self.number(way)) else { continue }
        let gone = generations[i].streams[Int(place)].byteCount
        generations[i].streams[Int(place)] = StreamPatches()
        generations[i].used -= gone
        used -= gone
      }
      _ = forgetCarried(way)
    }
  }

  private func wants(_ serial: UInt32) -> Bool { isWanted(serial) && (leftOut.isEmpty || !leftOut.contains(serial)) }
}
