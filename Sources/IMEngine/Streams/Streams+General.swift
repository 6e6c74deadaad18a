import IMContent
import IMWire

/// Whether bodies are compressed, each on its own.
enum ZlibUse { case no, perhaps, yes }

/// Protocols of the general reader: frames whose types are recognized by what they hold, or that end where no length and no delimiter does.
extension Streams {
  /// Bytes of a direction that have just become contiguous, and what it holds in front of them.
  @inline(never)
  mutating func consumeGeneral(_ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk) {
    let state = side.state
    let plan = currentPlan.layout(ofServer: side.direction == .serverToClient)
    var position = chunk.offset
    let end = chunk.end
    let base = state.pointee.offset &- UInt64(chunk.count)
    if state.pointee.partial == nil, !state.pointee.flags.contains(.lost), plan.pointee.framing.kind != .message,
      !mayBePreface(side, base)
    {
      // The usual case: whole frames, read where the packet holds them.
      loop: while position < end,
        case .frame(var extent) = plan.nextGeneral(bytes, position, end, message: nil, contents.pointer),
        readGeneral(side, bytes, extent)
      {
        absorbBeats(bytes, &extent, end)
        frame.pointee.timestamp = chunk.timestamp
        frame.pointee.number = chunk.number
        frame.pointee.acknowledged = chunk.acknowledged
        frame.pointee.streamOffset = base &+ UInt64(position - chunk.offset)
        if needs.contains(.undecoded) {
          tell(
            .frame(isCarried: false), side, at: frame.pointee.streamOffset, bytes, from: extent.start,
            count: extent.end - extent.start)
        }
        completeGeneral(side, bytes)
        position = extent.end
      }
    }
    guard position < end else { return }
    append(side, bytes, chunk.from(position))
    decodeGeneral(side)
  }

  /// Whether what is at `offset` of a side may be one of the plan's prefaces.
  private func mayBePreface(_ side: FlowSide, _ offset: UInt64) -> Bool {
    offset == 0 && side.state.pointee.flags.contains(.fromStart)
      && currentPlan.pointee.general?.pointee.prefaceCount ?? 0 > 0
  }

  /// What is at `position` of what a direction holds: a preface, or a frame.
  private func next(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ partial: Ref<PartialFrame>, _ position: Int,
    message boundary: Range<Int>?,
    isFromServer: Bool
  ) -> GeneralResult {
    let offset = partial.pointee.streamOffset &+ UInt64(position - partial.pointee.start)
    if mayBePreface(side, offset) {
      switch currentPlan.nextPreface(bytes, position, partial.pointee.end, isFromServer: isFromServer) {
      case .notAFrame: break
      case let found: return found
      }
    }
    return currentPlan.layout(ofServer: isFromServer).nextGeneral(
      bytes, position, partial.pointee.end, message: boundary, contents.pointer)
  }

  /// Beats after a frame in the packet that ends it belong to it.
  private mutating func absorbBeats(_ bytes: borrowing Bytes, _ extent: inout GeneralExtent, _ end: Int) {
    let isXML = currentPlan.pointee.framing.kind == .xml
    guard let general = currentPlan.pointee.general, isXML || general.pointee.beat >= 0, !extent.isBeat else { return }
    let before = extent.end
    while extent.end < end,
      isXML ? XMLText.isBlank(bytes.u8(extent.end)) : Int16(bytes.u8(extent.end)) == general.pointee.beat
    { extent.end += 1 }
    frame.pointee.count += extent.end - before
    frame.pointee.trailerCount += extent.end - before
  }

  /// Reads the frame at `extent` into the frame in hand; false where it is none.
  private mutating func readGeneral(_ side: FlowSide, _ bytes: borrowing Bytes, _ extent: GeneralExtent) -> Bool {
    readsZlib = zlibUse(side)
    return readAny(
      currentPlan, bytes, extent, isFromServer: side.direction == .serverToClient,
      isAnswered: side.flow.pointee.asksForAnswers, frame)
  }

  /// Whether the bodies from a side are compressed: as a frame has announced, or may have announced before the capture began.
  private mutating func zlibUse(_ side: FlowSide) -> ZlibUse {
    guard let general = currentPlan.pointee.general, general.pointee.isZlib else { return .no }
    if general.pointee.isAlwaysZlib || side.flow.pointee.isCompressed { return .yes }
    return side.state.pointee.flags.contains(.fromStart) ? .no : .perhaps
  }

  /// Reads the frame at `extent` into `frame`, inflated if bodies are compressed; false if it is not a frame.
  private mutating func readAny(
    _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes, _ extent: GeneralExtent, isFromServer: Bool,
    isAnswered: Bool, _ frame: UnsafeMutablePointer<Frame>
  ) -> Bool {
    guard readsZlib != .no, extent.preface < 0, let general = plan.pointee.general, general.pointee.isZlib else {
      return plan.readGeneral(
        bytes, extent, isFromServer: isFromServer, isAnswered: isAnswered, contents.pointer, frame)
    }
    let whole = extent
    var extent = extent
    var isPlain = false
    var failure: Inflater.Failure? = .notZlib
    if !general.pointee.tellsSize {
      failure = bodies.inflate(bytes, extent.body, extent.bodyEnd - extent.body)
    } else if let (size, width) = plan.size(bytes, extent.body, extent.bodyEnd) {
      extent.body += width
      extent.lengthEnd += width
      isPlain = size == 0
      if !isPlain { failure = bodies.inflate(bytes, extent.body, extent.bodyEnd - extent.body) }
    }
    if let failure {
      // For a body that is certainly compressed and cannot be read, only the length is known.
      if failure == .limit || !isPlain && general.pointee.tellsSize && readsZlib == .yes {
        extent.isForeign = true
        let isFrame = plan.readGeneral(
          bytes, extent, isFromServer: isFromServer, isAnswered: isAnswered, contents.pointer, frame)
        frame.pointee.flags.insert(failure == .limit ? .inflateLimit : .malformed)
        return isFrame
      }
      // A body that may not have been compressed begins where it would without a size.
      return plan.readGeneral(
        bytes, isPlain ? extent : whole, isFromServer: isFromServer, isAnswered: isAnswered, contents.pointer, frame)
    }
    let count = bodies.inflater.count
    let start = UnsafeRawPointer(bodies.inflater.output.pointer)
    // SAFETY: the inflater's output has slack after it, and does not change until the next body is inflated.
    let inflated = Bytes(RawSpan(_unsafeStart: start, byteCount: count + RawBuffer.slack))
    let inner = GeneralExtent(start: 0, body: 0, bodyEnd: count, end: count)
    let isFrame = plan.readGeneral(
      inflated, inner, isFromServer: isFromServer, isAnswered: isAnswered, contents.pointer, frame)
    // Positions are those on the wire; texts in inflated bytes have none.
    frame.pointee.start = extent.start
    frame.pointee.headerCount = extent.body - extent.start
    frame.pointee.count = extent.end - extent.start
    frame.pointee.trailerCount = extent.end - extent.bodyEnd
    (frame.pointee.identityCount, frame.pointee.subjectCount) = (0, 0)
    frame.pointee.flags.insert(.inflated)
    return isFrame
  }

  /// Reads a frame of `whole` bytes of which the snaplen left the first `have`, with zeros in place of the others; false if it is not a frame. Its
  /// header counts, and so do the paths before the cut.
  mutating func readCut(_ side: FlowSide, _ bytes: borrowing Bytes, whole: Int, have: Int) -> Bool {
    guard zlibUse(side) == .no,
      case .frame(var extent) = currentPlan.layout(ofServer: side.direction == .serverToClient).nextGeneral(
        bytes, 0, whole, message: nil, contents.pointer),
      extent.body <= have, extent.end == whole
    else { return false }
    extent.cut = have
    return readGeneral(side, bytes, extent)
  }

  /// One whole frame of the general reader.
  @inline(never)
  private mutating func completeGeneral(_ side: FlowSide, _ bytes: borrowing Bytes) {
    if frame.pointee.kind.pointee.flags.contains(.tellsAnswers), frame.pointee.flags.contains(.answered) {
      side.flow.pointee.asksForAnswers = frame.pointee.answered != 0
      if side.flow.pointee.asksForAnswers {
        // The frame that asks is answered itself.
        let twin = frame.pointee.kind - Int(currentPlan.pointee.kindCount)
        if !frame.pointee.kind.pointee.flags.contains(.expectsAck), twin >= currentPlan.pointee.kinds,
          twin.pointee.value == frame.pointee.kind.pointee.value
        {
          frame.pointee.kind = twin
        }
      }
      frame.pointee.flags.remove(.answered)
    }
    let flags = frame.pointee.kind.pointee.flags
    if flags.contains(.startsCompression) { side.flow.pointee.isCompressed = true }
    if currentPlan.pointee.general?.pointee.hasCounter ?? false { count(side) }
    complete(side, bytes)
    if flags.contains(.acknowledgesToo), frame.pointee.flags.contains(.answered), frame.pointee.checksumStatus != .bad {
      trackRecords()
      var record = FrameRecord(frame, bytes, side, currentPlan)
      record.acknowledge(frame, side, currentPlan)
      withUnsafePointer(to: record) { tracker.acknowledgeToo($0, currentPlan) }
    }
    if frame.pointee.flags.contains(.last), frame.pointee.kind.pointee.role == .acknowledgment,
      frame.pointee.checksumStatus != .bad
    {
      trackRecords()
      var record = FrameRecord(frame, bytes, side, currentPlan)
      if frame.pointee.flags.contains(.status) { tracker.noteStatus(frame, &record, currentPlan) }
      withUnsafePointer(to: record) { tracker.acknowledge($0, through: frame.pointee.last, currentPlan) }
    }
  }

  /// Gives the frame in hand the number that it has by being counted, and takes note of what it says of such numbers.
  @inline(never)
  private mutating func count(_ side: FlowSide) {
    guard let general = currentPlan.pointee.general else { return }
    let kind = frame.pointee.kind
    let flags = kind.pointee.flags
    var key = ImplicitCounters.Key(
      serial: side.flow.pointee.serial, channel: frame.pointee.channel, direction: side.direction)
    if flags.contains(.startsCounter) {
      counters.start(key, first: general.pointee.counterFirst)
    } else if flags.contains(.continuesCounter) {
      counters.lose(serial: key.serial, key.direction)
    } else if !flags.isDisjoint(with: [.counted, .countedOnly]) {
      let number = counters.count(key, isWhole: side.state.pointee.flags.contains(.fromStart))
      guard flags.contains(.counted) else { return }
      switch number {
      case .known(let number):
        frame.pointee.sequence = UInt64(key.channel) << 32 | UInt64(number)
        frame.pointee.flags.insert(.sequence)
      case .unknown:
        frame.pointee.flags.remove(.sequence)
        frame.pointee.flags.insert(.uncounted)
      case .none:
        frame.pointee.flags.remove(.sequence)
        frame.pointee.kind = kind + Int(currentPlan.pointee.kindCount)
      }
    } else if kind.pointee.answers & general.pointee.countedTypes != 0, frame.pointee.flags.contains(.answered),
      side.peer.state.pointee.queue == nil
    {
      // What is held behind a hole is not counted yet, though it may be acknowledged already.
      key.direction = side.direction.reversed
      counters.acknowledged(key, UInt32(truncatingIfNeeded: frame.pointee.answered))
    }
  }

  /// The WebSocket message with the byte at `position` of what a direction holds, or the next one, as positions there.
  private mutating func message(_ side: FlowSide, _ partial: Ref<PartialFrame>, from position: Int) -> Range<Int>? {
    let base = partial.pointee.streamOffset
    let ahead = UInt64(position - partial.pointee.start)
    guard let reader = reader(side), let (first, last) = reader.pointee.message(at: base &+ ahead) else { return nil }
    let origin = Int(truncatingIfNeeded: base) - partial.pointee.start
    let start = Int(truncatingIfNeeded: first) - origin
    // One that is not over yet ends after everything that is held.
    return start..<max(start, last == .max ? Int.max : Int(truncatingIfNeeded: last) - origin)
  }

  /// Decodes what a direction holds, as far as it goes.
  @inline(never)
  mutating func decodeGeneral(_ side: FlowSide, isEnd: Bool = false) {
    let state = side.state
    let plan = currentPlan.layout(ofServer: side.direction == .serverToClient)
    var found: UInt64?
    while let partial = state.pointee.partial, partial.pointee.count > 0 {
      if partial.pointee.mark(at: partial.pointee.start).timestamp > decodeLimit { return }
      let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
      let start = partial.pointee.start
      if state.pointee.flags.contains(.lost) {
        switch findGeneral(side, bytes, partial, isEnd: isEnd) {
        case .at(let position):
          drop(side, partial, position - start, isFound: true)
          state.pointee.flags.remove(.lost)
          partial.pointee.needed = 0
          found = partial.pointee.streamOffset
        case .open(let position):
          drop(side, partial, position - start, isFound: false)
          return
        case .none:
          drop(side, partial, partial.pointee.count, isFound: false)
        }
        continue
      }
      if partial.pointee.count < partial.pointee.needed, !isEnd { return }
      let boundary = plan.pointee.framing.kind == .message ? message(side, partial, from: start) : nil
      switch next(
        side, bytes, partial, start, message: boundary, isFromServer: side.direction == .serverToClient)
      {
      case .needMore(let count):
        if count > plan.longestOnWire || count == 0 && partial.pointee.count > plan.longestOnWire {
          state.pointee.flags.insert(.lost)
          drop(side, partial, 1, isFound: false)
          continue
        }
        // What has to be scanned from its beginning again is not scanned for every packet of a long frame.
        partial.pointee.needed = count > 0 ? count : partial.pointee.count > 16_384 ? partial.pointee.count / 8 * 9 : 0
        return
      case .stray(let count): drop(side, partial, count, isFound: true)
      case .notAFrame:
        state.pointee.flags.insert(.lost)
        if found == partial.pointee.streamOffset || plan.pointee.framing.kind == .message {
          drop(side, partial, 1, isFound: false)
        }
      case .frame(let extent):
        guard readGeneral(side, bytes, extent) else {
          state.pointee.flags.insert(.lost)
          if found == partial.pointee.streamOffset || plan.pointee.framing.kind == .message {
            drop(side, partial, 1, isFound: false)
          }
          continue
        }
        var extent = extent
        let (last, delivered) = partial.pointee.chunk(at: max(start, extent.end - 1))
        absorbBeats(bytes, &extent, delivered)
        let isCarried = locate(side, partial, last)
        if needs.contains(.undecoded) {
          tell(
            .frame(isCarried: isCarried), side, at: partial.pointee.streamOffset, bytes, from: extent.start,
            count: extent.end - extent.start)
        }
        completeGeneral(side, bytes)
        if isCarried { countOnWire(side, partial) }
        partial.pointee.needed = 0
        partial.pointee.consume(extent.end - start)
      }
    }
    if let partial = state.pointee.partial, partial.pointee.count == 0 { partials.take(back: &state.pointee.partial) }
  }

  // MARK: Finding

  /// Bytes held while a frame waits for its proof.
  private static var mostHeld: Int { 64 << 10 }

  /// Looks for the first frame in what a lost direction holds.
  private mutating func findGeneral(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ partial: Ref<PartialFrame>, isEnd: Bool
  ) -> SearchResult {
    let plan = currentPlan.layout(ofServer: side.direction == .serverToClient)
    let (start, end) = (partial.pointee.start, partial.pointee.end)
    readsZlib = zlibUse(side)
    switch plan.pointee.framing.kind {
    case .message:
      guard let message = message(side, partial, from: start) else { return .none }
      if message.lowerBound >= start { return message.lowerBound < end ? .at(message.lowerBound) : .none }
      return message.upperBound < end ? .at(message.upperBound) : .none
    case .terminated:
      guard let general = plan.pointee.general else { return .none }
      if general.pointee.beginCount > 0 {
        guard
          let place = bytes.find(start, end, general.pointee.begins, general.pointee.beginCount)
        else { return .none }
        return .at(place)
      }
      if weighGeneral(bytes, start, end, partial, side.direction == .serverToClient, needed: 16) == .at(start) {
        return .at(start)
      }
      guard let place = bytes.find(start, end, general.pointee.ends, general.pointee.endCount) else {
        return .open(max(start, end - Int(general.pointee.endCount) + 1))
      }
      return .at(min(end, place + Int(general.pointee.endCount)))
    default: break
    }
    let isFromServer = side.direction == .serverToClient
    let needed = plan.pointee.framing.kind == .counted ? Int(plan.pointee.confirmEvidence) - 4 : 20
    var open: Int?
    var best: (position: Int, bits: Int)?
    var position = start
    while let candidate = plan.nextCandidate(bytes, position, end, partial) {
      partial.pointee.search.credit -= 1 + (candidate - position) >> 3
      guard partial.pointee.search.credit > 0 else { return .none }
      switch weighGeneral(bytes, candidate, end, partial, isFromServer, needed: needed) {
      case .at(let place): return .at(place)
      case .open(let bits):
        if isEnd {
          if bits > best?.bits ?? 11 { best = (candidate, bits) }
        } else if open == nil, end - candidate <= Self.mostHeld,
          bits > 0 || partial.pointee.startsDelivery(at: candidate)
        {
          open = candidate
        }
      case .none: break
      }
      position = candidate + 1
    }
    if isEnd { return best.map { .at($0.position) } ?? .none }
    return open.map { .open($0) } ?? .none
  }

  /// What a candidate is: confirmed, open with so many bits, or none.
  private enum Weight: Equatable { case at(Int), open(Int), none }

  /// Weighs the frames from `position` on.
  private mutating func weighGeneral(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ partial: Ref<PartialFrame>, _ isFromServer: Bool,
    needed: Int
  ) -> Weight {
    let plan = currentPlan.layout(ofServer: isFromServer)
    var probe = frame.pointee
    var at = position
    var bits = partial.pointee.startsDelivery(at: position) ? 8 : 0
    for _ in 0..<32 {
      if at == end {
        // Frames that end where everything that came ends.
        guard at > position else { return .open(0) }
        return bits + 8 >= needed ? .at(position) : .open(bits + 8)
      }
      partial.pointee.search.credit -= 4
      switch plan.nextGeneral(bytes, at, end, message: nil, contents.pointer) {
      case .notAFrame, .stray: return .none
      case .needMore:
        // Of one that is not whole, nothing is known.
        return .open(at > position ? bits : 0)
      case .frame(let extent):
        // Inflated bodies may be a hundred times as long.
        let count = extent.end - extent.start
        partial.pointee.search.credit -= readsZlib == .no ? count >> 4 : count * 6
        guard
          readAny(
            plan, bytes, extent, isFromServer: isFromServer, isAnswered: true, &probe),
          let found = plan.evidence(ofGeneral: &probe, bytes), found >= 0
        else { return .none }
        bits += found
        if plan.pointee.framing.kind == .xml, at == position, plan.isInside(bytes, extent.end, end, contents.pointer) {
          return .none
        }
        if bits >= needed { return .at(position) }
        at = extent.end
      }
    }
    return .at(position)
  }

  /// What the frames that a direction holds say for the plan in use, in bits; `nil` where they say that it is another protocol. `isCut`
  /// tells that the beginning is missing.
  mutating func weighGeneral(_ side: FlowSide, _ partial: Ref<PartialFrame>, isFromServer: Bool) -> Int? {
    let plan = currentPlan.layout(ofServer: isFromServer)
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    let end = partial.pointee.end
    readsZlib = zlibUse(side)
    var position = partial.pointee.start
    let isMessage = plan.pointee.framing.kind == .message
    if !side.state.pointee.flags.contains(.fromStart), !isMessage {
      let before = partial.pointee.search
      defer { partial.pointee.search = before }
      partial.pointee.beginSearch()
      guard let first = firstGeneral(bytes, partial, isFromServer) else { return 0 }
      position = first
    }
    var probe = frame.pointee
    var bits = 0
    var failures = 0
    for _ in 0..<64 {
      guard position < end else { break }
      let boundary = isMessage ? message(side, partial, from: position) : nil
      switch next(side, bytes, partial, position, message: boundary, isFromServer: isFromServer) {
      case .notAFrame: return bits > 0 && failures > 0 ? nil : bits > 40 ? bits : nil
      case .needMore: return bits
      case .stray(let count):
        guard isMessage || count == 0 else { return nil }
        position += max(1, count)
      case .frame(let extent):
        position = extent.end
        guard extent.end > extent.start else { return bits }
        guard
          readAny(
            plan, bytes, extent, isFromServer: isFromServer, isAnswered: true, &probe),
          let found = plan.evidence(ofGeneral: &probe, bytes)
        else {
          failures += 1
          if failures > 1 { return nil }
          continue
        }
        bits += found
        if probe.kind.pointee.flags.contains(.startsCompression) { readsZlib = .yes }
        if bits >= 400 { return bits }
      }
    }
    // Frames of their lengths that end where everything ends.
    let isWhole =
      position == end && plan.pointee.framing.kind == .counted && side.state.pointee.flags.contains(.fromStart)
    return bits > 0 && isWhole ? bits + 4 : bits
  }

  /// The first frame in bytes without their beginning that is proved by what follows it.
  private mutating func firstGeneral(
    _ bytes: borrowing Bytes, _ partial: Ref<PartialFrame>, _ isFromServer: Bool
  ) -> Int? {
    // Where a packet begins: in the midst of one, small numbers and words look like frames too easily, and looking costs too much.
    for (candidate, _, _) in partial.pointee.deliveries(partial.pointee.count).prefix(32) {
      partial.pointee.search.credit -= 1
      guard partial.pointee.search.credit > 0 else { return nil }
      switch weighGeneral(bytes, candidate, partial.pointee.end, partial, isFromServer, needed: 24) {
      case .at(let place): return place
      case .open(let bits) where bits >= 20: return candidate
      case .open, .none: break
      }
    }
    return nil
  }

  /// Whether side `side` is the server's, where the opening or a port tells; `nil` where nothing does.
  mutating func isServer(_ side: FlowSide, plan: Int) -> Bool? {
    if side.flow.pointee.clientIsCertain { return side.number != Int(side.flow.pointee.client) }
    let own = isServerPort(side, plan)
    let other = isServerPort(side.peer, plan)
    if own != other { return own }
    return reader(side).map { !$0.pointee.isMasked }
  }

  /// Bits of proof that the plan in use, one of the general reader, decodes a connection; `nil` where something speaks against it.
  mutating func proofOfGeneral(_ side: FlowSide, _ partial: Ref<PartialFrame>) -> Int? {
    let index = Int(protocols.currentIndex & 63)
    if currentPlan.pointee.framing.kind == .message, reader(side) == nil { return nil }
    let known = isServer(side, plan: index)
    var best: Int?
    for isFromServer in known.map({ [$0] }) ?? [false, true] {
      guard let bits = weighGeneral(side, partial, isFromServer: isFromServer) else { continue }
      var total = bits
      if let other = side.peer.state.pointee.partial, other.pointee.count > 0 {
        guard let more = weighGeneral(side.peer, other, isFromServer: !isFromServer) else {
          if side.peer.state.pointee.flags.contains(.fromStart) { continue }
          best = max(best ?? .min, total)
          continue
        }
        total += more
      }
      best = max(best ?? .min, total)
    }
    return best
  }

  /// Bits of proof that the messages in `start..<end`, one after the other, are the plan's in use: of what WebSocket frames carry whose
  /// beginning was not captured.
  mutating func innerProof(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Int {
    var best = 0
    readsZlib = .no
    for isFromServer in [false, true] {
      let plan = currentPlan.layout(ofServer: isFromServer)
      var position = start
      var probe = frame.pointee
      var bits = 0
      for _ in 0..<8 {
        guard position < end else { break }
        let stop = plan.pointee.framing.kind == .message ? plan.messageEnd(bytes, position, end, contents.pointer) : end
        guard let stop,
          case .frame(let extent) = plan.nextGeneral(bytes, position, end, message: position..<stop, contents.pointer),
          extent.end > position,
          readAny(
            plan, bytes, extent, isFromServer: isFromServer, isAnswered: true, &probe),
          let found = plan.evidence(ofGeneral: &probe, bytes)
        else { break }
        bits += found
        position = extent.end
      }
      best = max(best, bits)
    }
    return best
  }

  /// The client, where the types of what both sides hold tell.
  mutating func clientOfGeneral(_ side: FlowSide, _ partial: Ref<PartialFrame>) -> Int? {
    if let reader = reader(side) { return reader.pointee.isMasked ? side.number : side.peer.number }
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    var votes = 0
    readsZlib = zlibUse(side)
    for isFromServer in [false, true] {
      partial.pointee.beginSearch()
      guard var position = firstGeneral(bytes, partial, isFromServer) else { continue }
      var probe = frame.pointee
      for _ in 0..<16 {
        guard position < partial.pointee.end,
          case .frame(let extent) = currentPlan.layout(ofServer: isFromServer).nextGeneral(
            bytes, position, partial.pointee.end, message: nil, contents.pointer),
          readAny(
            currentPlan, bytes, extent, isFromServer: isFromServer, isAnswered: true, &probe)
        else { break }
        if probe.kind.pointee.flags.contains(.fromClient) { votes += 4 }
        if probe.kind.pointee.flags.contains(.fromServer) { votes -= 4 }
        if probe.kind.pointee.index != FrameKind.unknownIndex { votes += isFromServer ? -1 : 1 }
        position = extent.end
      }
    }
    return votes == 0 ? nil : votes > 0 ? side.number : side.peer.number
  }
}

extension UnsafePointer<Plan> {
  /// Whether an element that ends at `position` is inside another one, whose end tag follows.
  fileprivate func isInside(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> Bool {
    var at = position
    while at < end, XMLText.isBlank(bytes.u8(at)) { at += 1 }
    guard end - at > 2, bytes.u8(at) == 0x3c, bytes.u8(at + 1) == 0x2f else { return false }
    // The end of the stream is no end of another element.
    if case .notAFrame = nextGeneral(bytes, at, end, message: nil, values) { return true }
    return false
  }

  /// The next place at or after `position` where a frame of the general reader may begin.
  fileprivate func nextCandidate(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ partial: Ref<PartialFrame>
  ) -> Int? {
    var position = position
    switch pointee.framing.kind {
    case .counted:
      let mask = pointee.magicMask
      while position < end {
        let available = min(8, end - position)
        let seen = available == 8 ? mask : mask & ~(UInt64.max >> UInt64(available * 8))
        if bytes.u64(position) & seen == pointee.magic & seen { return position }
        position += 1
      }
      return nil
    case .headers, .resp:
      // At the beginning of a packet, or after the end of a line or of a frame.
      let ends = pointee.general.map { UInt8(truncatingIfNeeded: $0.pointee.ends) } ?? 0x0a
      while position < end {
        if position > partial.pointee.start {
          let before = bytes.u8(position - 1)
          if before == 0x0a || before == ends { return position }
        }
        if partial.pointee.startsDelivery(at: position) { return position }
        position += 1
      }
      return nil
    case .pairs:
      guard let general = pointee.general else { return nil }
      return bytes.find(position, end, general.pointee.begins, general.pointee.beginCount)
    case .xml:
      while position < end {
        if bytes.u8(position) == 0x3c {
          var before = position
          while before > partial.pointee.start, XMLText.isBlank(bytes.u8(before - 1)) { before -= 1 }
          if before > partial.pointee.start
            ? bytes.u8(before - 1) == 0x3e : partial.pointee.startsDelivery(at: position)
          {
            return position
          }
        }
        position += 1
      }
      return nil
    default: return position < end ? position : nil
    }
  }
}
