package import IMEngine
package import IMWire

/// Rewrites what the chosen connections of a capture say while it is decoded, and keeps the new bytes by their places in the
/// streams.
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

  /// The new bytes of each direction.
  package private(set) var patches: [Way: StreamPatches] = [:]
  /// The sequence number of each direction's first byte.
  package private(set) var firstSequences: [Way: UInt32] = [:]
  /// What became of frames.
  package private(set) var counts = Counts()
  /// Connections of which there was no room for the new bytes.
  package private(set) var leftOut: Set<UInt32> = []

  private let redactor: FrameRedactor
  private let plans: [ProtocolPlan]
  private let isWanted: (UInt32) -> Bool
  private let memory: Int
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
    self.isWanted = isWanted
  }

  /// Orders what was kept. Nothing more is told.
  package func finish() {
    for way in Array(patches.keys) { patches[way]?.finish() }
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
    if plan.isDelimited {
      patches[way, default: StreamPatches()].kept = plan.hasLines ? [plan.delimiter, 0x0d] : [plan.delimiter]
    }
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
    patches[way, default: StreamPatches()].keepHead(at: issue.streamOffset, count: count)
    used += StreamPatches.costOfHead
  }

  /// A connection: where its streams begin.
  package func connection(_ report: ConnectionReport) {
    let serial = report.info.serial
    guard report.isFinal, isWanted(serial) else { return }
    for (number, isBack) in [(0, false), (1, true)] where report.streamBytes[number] > 0 {
      firstSequences[Way(serial: serial, isBack: isBack)] = report.firstSequences[number]
    }
    redactor.forget(serial)
    for isBack in [false, true] {
      let way = Way(serial: serial, isBack: isBack)
      guard var places = forgetCarried(way) else { continue }
      let gone = places.pack { put($0, at: $1, way) }
      counts.gone += gone
    }
  }

  private func put(_ new: [UInt8], at offset: UInt64, _ way: Way) {
    guard !leftOut.contains(way.serial) else { return }
    let before = patches[way]?.byteCount ?? 0
    patches[way, default: StreamPatches()].put(new, at: offset)
    used += (patches[way]?.byteCount ?? 0) - before
    if used > memory { leaveOut(way.serial) }
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
      used -= patches.removeValue(forKey: way)?.byteCount ?? 0
      _ = forgetCarried(way)
    }
  }

  private func wants(_ serial: UInt32) -> Bool { isWanted(serial) && !leftOut.contains(serial) }
}
