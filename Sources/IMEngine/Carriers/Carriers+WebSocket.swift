import IMWire

/// Protocols in WebSocket frames: what frames carry is a stream of its own, which the plan's frames are read of.
///
/// A direction that is `carried` keeps that stream in `DirectionState.partial`; bytes off the wire come through here. The stream's offsets are
/// its own, and are told as those of the wire (`CarrierOffsets`).
extension Carriers {
  /// What one call reads of: a packet's bytes, or those that a reader holds.
  struct CarriedBytes {
    var held: Ref<PartialFrame>?
    var at: Timestamp
    var number: UInt64
    /// Where the stream's first byte would stand in the bytes.
    var base: UInt64
  }

  /// The packet that brought a byte of a carried direction.
  struct Bringer {
    /// When it came, and its number in the capture.
    var at: Timestamp, number: UInt64
    /// Where what it brought ends among the bytes held; `nil` where all bytes are a packet's own.
    var end: Int?
  }

  /// Bytes of messages that are handed on before they are decoded.
  private static var batch: Int { 128 << 10 }
  /// The most that is taken of a payload at once, so that the copy without its mask stays small.
  private static var longestPart: Int { 64 << 10 }
  /// Bytes that are inflated before they are handed on: a whole window of DEFLATE (RFC 1951), the farthest back it looks.
  private static var inflatedAtOnce: Int { 32 << 10 }
  /// The least that a message may inflate to, whatever its ratio.
  private static var freelyInflated: Int { 1 << 20 }

  /// Takes bytes of the stream of WebSocket frames, TCP's or that of TLS records; the first byte is at the offset `start`.
  @inline(never)
  mutating func carry(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk, at start: UInt64
  ) {
    guard let reader = streams.reader(side) else { return }
    guard reader.pointee.held == nil, reader.pointee.state != .lost else {
      hold(side, reader, bytes, chunk, at: start)
      carryHeld(side, isEnd: false)
      return
    }
    let source = CarriedBytes(
      held: nil, at: chunk.timestamp, number: chunk.number, base: start &- UInt64(chunk.offset))
    let position = readCarried(side, reader, bytes, from: chunk.offset, to: chunk.end, of: source)
    if position < chunk.end {
      hold(side, reader, bytes, chunk.from(position), at: start &+ UInt64(position - chunk.offset))
      if reader.pointee.state == .lost { carryHeld(side, isEnd: false) }
    }
  }

  /// Keeps a chunk, the first byte of which is the direction's at `streamOffset`, until more has come.
  private mutating func hold(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>, _ bytes: borrowing Bytes, _ chunk: StreamChunk,
    at streamOffset: UInt64
  ) {
    if reader.pointee.held == nil {
      reader.pointee.held = streams.partials.make()
      bufferingFlows.add(side, streams.tracker.flows)
    }
    reader.pointee.held?.pointee.append(bytes, chunk, streamOffset: streamOffset)
    if budget.isOverHeld { clock.wakeNow() }
  }

  /// Reads what a direction's reader holds, as far as it goes.
  mutating func carryHeld(_ side: FlowSide, isEnd: Bool) {
    while let reader = streams.reader(side), let held = reader.pointee.held, held.pointee.count > 0 {
      if reader.pointee.state == .lost {
        guard findCarried(side, reader, held, isEnd: isEnd) else { break }
      }
      let bytes = Bytes(RawSpan(_unsafeStart: held.pointee.memoryStart, byteCount: held.pointee.readableCount))
      let start = held.pointee.start
      let source = CarriedBytes(
        held: held, at: clock.moment, number: 0, base: held.pointee.streamOffset &- UInt64(start))
      let position = readCarried(side, reader, bytes, from: start, to: held.pointee.end, of: source)
      held.pointee.consume(position - start)
      if reader.pointee.state != .lost { break }
    }
    if let reader = streams.reader(side), reader.pointee.held?.pointee.count == 0 {
      streams.partials.take(back: &reader.pointee.held)
    }
  }

  // MARK: Frames

  /// Reads frames between `first` and `end`; answers where it stopped. The connection may be one that is not read then.
  private mutating func readCarried(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>,
    _ bytes: borrowing Bytes, from first: Int, to end: Int, of source: CarriedBytes
  ) -> Int {
    let flow = side.flow
    var position = first
    var handedOn = 0
    let before = reader.pointee.offsets.end
    loop: while position < end {
      switch reader.pointee.state {
      case .lost: break loop
      case .ended:
        countSkipped(flow, end - position)
        position = end
      case .upgrade:
        let body = countOfBody(side, at: source.base &+ UInt64(position))
        guard body == 0 else {
          let count = min(body, end - position)
          countSkipped(flow, count)
          position += count
          break
        }
        guard let count = takeAnswer(side, reader, bytes, from: position, end: end, of: source) else {
          streams.giveUp(flow)
          for side in side.both { streams.reader(side)?.pointee.state = .ended }
          break
        }
        guard count > 0 else { break loop }
        position += count
      case .header:
        let outcome = WebSocketHeader.read(
          bytes, position, end, isMasked: nil, allowsCompression: reader.pointee.allowsCompression)
        guard outcome != .needMore else { break loop }
        guard case .header(let header) = outcome, isInOrder(header, reader) else {
          if returnsToHTTP(side, reader, bytes, position, end) { break }
          loseCarrier(side, reader)
          break loop
        }
        if reader.pointee.isInDoubt {
          let place = streams.place(side, source.base &+ UInt64(position))
          guard goesOnAfterControl(header, side, reader, at: place) else {
            loseCarrier(side, reader)
            break loop
          }
        }
        if (header.key != nil) != reader.pointee.isMasked {
          noteMask(
            header, side, reader, at: bringer(source, position).at,
            streams.place(side, source.base &+ UInt64(position)))
        }
        if header.isControl {
          guard end - position >= header.frameCount else { break loop }
          if streams.needs.contains(.undecoded) {
            streams.tell(
              .webSocketControl(header: header.count, key: header.key), side, at: source.base &+ UInt64(position),
              bytes, from: position, count: header.frameCount)
          }
          if !isCounted(side, source.base &+ UInt64(position)) {
            takeControl(header, side, reader, bytes, at: position, of: source)
          }
          position += header.frameCount
        } else {
          if streams.needs.contains(.undecoded) {
            streams.tell(
              .webSocketHeader, side, at: source.base &+ UInt64(position), bytes, from: position, count: header.count)
          }
          beginFrame(header, side, reader, source.base &+ UInt64(position))
          position += header.count
          if header.payloadCount == 0 {
            endFrame(side, reader, bringer(source, position - 1), at: source.base &+ UInt64(position - 1))
          }
        }
      case .payload:
        let bringer = bringer(source, position)
        let count = min(reader.pointee.remaining, min(bringer.end ?? end, end) - position, Self.longestPart)
        takePayload(
          side, reader, bytes, at: position, count: count,
          place: streams.place(side, source.base &+ UInt64(position)), bringer)
        position += count
        if reader.pointee.remaining == 0 {
          endFrame(side, reader, bringer, at: source.base &+ UInt64(position - 1))
        }
        if Int(truncatingIfNeeded: reader.pointee.offsets.end &- before) - handedOn > Self.batch {
          let new = Int(truncatingIfNeeded: reader.pointee.offsets.end &- before) - handedOn
          handedOn += new
          decodeCarried(side, reader, new: new)
        }
      }
    }
    let new = Int(truncatingIfNeeded: reader.pointee.offsets.end &- before) - handedOn
    if new > 0 { decodeCarried(side, reader, new: new) }
    return position
  }

  /// The packet that brought the byte at `position`.
  func bringer(_ source: CarriedBytes, _ position: Int) -> Bringer {
    guard let held = source.held else { return Bringer(at: source.at, number: source.number) }
    let (mark, end) = held.pointee.chunk(at: position)
    return Bringer(at: mark.timestamp, number: mark.number, end: end)
  }

  /// Takes note of a frame that is masked although its sender must not mask, or the other way round: once for each direction. Its length is
  /// where it always is, so that the frame can be read all the same.
  private mutating func noteMask(
    _ header: WebSocketHeader, _ side: FlowSide, _ reader: Ref<WebSocketReader>, at: Timestamp, _ place: UInt64
  ) {
    guard !reader.pointee.hasToldMask else { return }
    reader.pointee.hasToldMask = true
    streams.raise(
      Issue(
        .webSocketMask, timestamp: at, direction: side.direction, streamOffset: place,
        byteCount: UInt64(header.frameCount)), side.flow)
  }

  /// Whether a frame goes on with the message in hand, or begins one where none is.
  private func isInOrder(_ header: WebSocketHeader, _ reader: Ref<WebSocketReader>) -> Bool {
    if header.isControl || reader.pointee.message == .unknown { return true }
    return (header.opcode == 0) == (reader.pointee.message != .none)
  }

  private mutating func beginFrame(
    _ header: WebSocketHeader, _ side: FlowSide,
    _ reader: Ref<WebSocketReader>, _ place: UInt64
  ) {
    let flow = side.flow
    guard let record = streams.carrier(of: flow) else { return }
    if !isCounted(side, place) {
      countCarrier(header.count)
      count(header, side, record)
    }
    reader.pointee.key = header.key
    reader.pointee.remaining = header.payloadCount
    reader.pointee.phase = 0
    reader.pointee.isFinal = header.isFinal
    reader.pointee.state = .payload
    if header.opcode == 0 {
      // The end of a message whose beginning is missing: compressed or not, nobody knows where compression was agreed to.
      if reader.pointee.message == .unknown {
        reader.pointee.message = reader.pointee.isCompressionKnown ? .unreadable : .plain
      }
      return
    }
    reader.pointee.beginMessage()
    guard header.isCompressed else {
      reader.pointee.message = .plain
      return
    }
    record.pointee.carriers.insert(.deflate)
    if !isCounted(side, place) { record.pointee.webSocket.compressed[Int(side.direction.rawValue)] &+= 1 }
    guard flow.pointee.profile != .none else {
      reader.pointee.message = .plain
      return
    }
    reader.pointee.packed = 0
    reader.pointee.unpacked = 0
    reader.pointee.isBehindFinalBlock = false
    if reader.pointee.inflater == nil { reader.pointee.inflater = RawInflater() }
    reader.pointee.message = reader.pointee.inflater == nil ? .unreadable : .compressed
    side.state.pointee.flags.insert(.inflating)
    reader.pointee.account(budget)
  }

  private mutating func endFrame(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>,
    _ bringer: Bringer, at place: UInt64
  ) {
    reader.pointee.state = .header
    guard reader.pointee.isFinal, let record = streams.carrier(of: side.flow) else { return }
    let way = Int(side.direction.rawValue)
    if !isCounted(side, place) { record.pointee.webSocket.messages[way] &+= 1 }
    if reader.pointee.message == .compressed {
      // What a sender leaves out at the end of a message (RFC 7692, section 7.2.2): the end of an empty block. After a final block nothing
      // was left out, unless the sender has begun another block for it (section 7.2.3.4).
      if !reader.pointee.isBehindFinalBlock {
        carried.reserve(4)
        carried.pointer.storeBytes(of: UInt32(bigEndian: 0x0000_ffff), as: UInt32.self)
        let tail = UnsafeRawBufferPointer(start: UnsafeRawPointer(carried.pointer), count: 4)
        inflate(side, reader, tail, place: nil, bringer)
      }
      // What has made nothing belongs to the carrier.
      countCarrier(reader.pointee.idle)
      reader.pointee.idle = 0
      if reader.pointee.message == .compressed, streams.needs.contains(.undecoded) {
        streams.tell(
          .packedEnd(inner: reader.pointee.offsets.end, keepsWindow: reader.pointee.keepsWindow), side, at: 0,
          Bytes([UInt8]().span.bytes), from: 0, count: 0)
      }
      if reader.pointee.message == .compressed, !reader.pointee.keepsWindow { reader.pointee.inflater?.reset() }
    }
    if reader.pointee.message == .unreadable {
      tellNotInflated(side, reader, bringer.at)
      reader.pointee.loseMessage()
    }
    reader.pointee.endMessage()
    reader.pointee.message = .none
  }

  /// Takes a part of a message's payload: the `count` bytes at `position`, which stand at `place` of the direction's stream.
  private mutating func takePayload(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>,
    _ bytes: borrowing Bytes, at position: Int, count: Int, place: UInt64, _ bringer: Bringer
  ) {
    let flow = side.flow
    defer {
      reader.pointee.phase = (reader.pointee.phase + count) & 3
      reader.pointee.remaining -= count
    }
    guard flow.pointee.profile != .none else {
      // Its frames are counted, and nothing else.
      countSkipped(flow, count + reader.pointee.idle)
      reader.pointee.idle = 0
      reader.pointee.message = .plain
      return
    }
    if reader.pointee.message == .unreadable {
      countNotInflated(flow, reader, count, place)
      return
    }
    if streams.needs.contains(.undecoded) {
      let (key, phase) = (reader.pointee.key, reader.pointee.phase)
      let kind: UndecodedChunk.Kind =
        reader.pointee.message == .compressed
        ? .packed(key: key, phase: phase) : .payload(inner: reader.pointee.offsets.end, key: key, phase: phase)
      streams.tell(kind, side, at: place, bytes, from: position, count: count)
    }
    carried.reserve(count)
    WebSocketHeader.unmask(
      bytes, position, count, key: reader.pointee.key, phase: reader.pointee.phase, to: carried.pointer)
    if reader.pointee.message == .compressed {
      inflate(
        side, reader, UnsafeRawBufferPointer(start: UnsafeRawPointer(carried.pointer), count: count), place: place,
        bringer)
    } else {
      let start = UnsafeRawPointer(carried.pointer)
      let span = RawSpan(_unsafeStart: start, byteCount: carried.capacity + RawBuffer.slack)
      handOn(side, reader, Bytes(span), count: count, place: place, wireCount: count, bringer)
    }
  }

  // MARK: What frames carry

  /// Adds `count` bytes, which `wireCount` bytes at `place` have made, to the stream that frames carry.
  private mutating func handOn(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>,
    _ bytes: borrowing Bytes, count: Int, place: UInt64, wireCount: Int, _ bringer: Bringer
  ) {
    guard count > 0 else { return }
    let inner = reader.pointee.offsets.end
    reader.pointee.offsets.append(count, wire: place, wireCount: wireCount)
    keepCarried(
      side, bytes, StreamChunk(offset: 0, count: count, timestamp: bringer.at, number: bringer.number), at: inner)
  }

  /// Adds bytes that `CarrierOffsets` knows to what a direction holds; the first is at the offset `inner` of the carried stream.
  mutating func keepCarried(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk, at inner: UInt64
  ) {
    let flow = side.flow
    let state = side.state
    var passed = 0
    if state.pointee.flags.contains(.passing) {
      passed = min(chunk.count, Int(state.pointee.passOver))
      state.pointee.passOver -= UInt32(passed)
      if state.pointee.passOver == 0 {
        state.pointee.flags.remove(.passing)
        streams.noteFound(side, inner &+ UInt64(passed))
      }
      countSkipped(flow, streams.wireCount(side, from: inner, passed))
    }
    guard passed < chunk.count else { return }
    let partial: Ref<PartialFrame>
    if let existing = state.pointee.partial {
      partial = existing
    } else {
      partial = streams.partials.make()
      state.pointee.partial = partial
      bufferingFlows.add(side, streams.tracker.flows)
    }
    partial.pointee.append(bytes, chunk.from(chunk.offset + passed), streamOffset: inner &+ UInt64(passed))
    if budget.isOverHeld { clock.wakeNow() }
  }

  /// Decodes what was handed on, `new` bytes of it for the first time.
  private mutating func decodeCarried(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>,
    new: Int
  ) {
    decodeKept(side, new: new)
    let kept = side.state.pointee.partial?.pointee.streamOffset ?? reader.pointee.offsets.end
    reader.pointee.forgetMessages(before: kept)
    reader.pointee.offsets.forget(
      before: side.state.pointee.partial?.pointee.streamOffset ?? reader.pointee.offsets.end)
    reader.pointee.account(budget)
  }

  /// Decodes what a carried direction holds, `new` bytes of it for the first time.
  mutating func decodeKept(_ side: FlowSide, new: Int) {
    let profile = side.flow.pointee.profile
    if profile == .unknown {
      choose(side, new: new, isEnd: false)
    } else if profile.isPlan, side.state.pointee.partial != nil {
      streams.select(profile)
      streams.decodeRest(side)
    }
  }

  /// Inflates a part of a message and hands on what it makes. Without a `place` it is no part of the wire.
  private mutating func inflate(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>,
    _ input: UnsafeRawBufferPointer, place: UInt64?, _ bringer: Bringer
  ) {
    let flow = side.flow
    guard let raw = reader.pointee.inflater else { return }
    var input = input
    var place = place
    reader.pointee.packed += input.count
    if !input.isEmpty { reader.pointee.isBehindFinalBlock = false }
    inflated.reserve(Self.inflatedAtOnce)
    let output = UnsafeMutableRawBufferPointer(start: inflated.pointer, count: Self.inflatedAtOnce)
    while true {
      let (used, made, progress) = raw.inflate(input, into: output)
      if let from = place {
        if reader.pointee.idle == 0 { reader.pointee.idleFrom = from }
        reader.pointee.idle += used
        place = from &+ UInt64(used)
      }
      input = UnsafeRawBufferPointer(rebasing: input[used...])
      reader.pointee.unpacked += made
      let limit = min(
        inflateLimit, max(Self.freelyInflated, reader.pointee.packed &* inflateRatio))
      let isTooLong = reader.pointee.unpacked > limit
      if made > 0, !isTooLong {
        let start = UnsafeRawPointer(inflated.pointer)
        let span = RawSpan(_unsafeStart: start, byteCount: inflated.capacity + RawBuffer.slack)
        handOn(
          side, reader, Bytes(span), count: made, place: reader.pointee.idleFrom, wireCount: reader.pointee.idle,
          bringer)
        reader.pointee.idleFrom &+= UInt64(reader.pointee.idle)
        reader.pointee.idle = 0
      }
      if progress == .broken || isTooLong {
        if isTooLong {
          streams.raise(
            Issue(
              .inflateLimit, timestamp: bringer.at, direction: side.direction,
              streamOffset: reader.pointee.idleFrom, byteCount: UInt64(reader.pointee.packed)), flow)
        }
        raw.reset()
        reader.pointee.message = .unreadable
        let lost = reader.pointee.idle + (place == nil ? 0 : input.count)
        reader.pointee.idle = 0
        countNotInflated(flow, reader, lost, reader.pointee.idleFrom)
        loseCarried(side)
        return
      }
      if progress == .end {
        raw.restart()
        reader.pointee.isBehindFinalBlock = input.isEmpty
      }
      if progress == .full { continue }
      if input.isEmpty || (used == 0 && made == 0) { return }
    }
  }

  // MARK: Counting

  /// Whether a frame at `place` of the stream of frames was counted before: it is read again.
  private mutating func isCounted(_ side: FlowSide, _ place: UInt64) -> Bool {
    guard let replay else { return false }
    return streams.place(side, place) >= replay.frames
  }

  /// Counts a frame.
  mutating func count(
    _ header: WebSocketHeader, _ side: FlowSide,
    _ record: Ref<CarrierRecord>
  ) {
    let type = Int(WebSocketFrameType(opcode: header.opcode).rawValue)
    foundWebSocket(record)
    record.pointee.webSocket.frames[Int(side.direction.rawValue)][type] &+= 1
    ledger.pointee.webSocketFrames[type] &+= 1
  }

  /// Takes note that a connection speaks WebSocket, which its first frame tells where the HTTP in front was not captured.
  mutating func foundWebSocket(_ record: Ref<CarrierRecord>) {
    guard record.pointee.carriers.isDisjoint(with: .webSocket) else { return }
    record.pointee.carriers.insert(.webSocket)
    ledger.pointee.webSocketConnections += 1
  }

  /// Counts bytes that carriers put around frames.
  mutating func countCarrier(_ count: Int) {
    ledger.pointee.carrierBytes += UInt64(count)
    ledger.pointee.strayBytes += UInt64(count)
  }

  /// Counts bytes of a connection's messages that are passed over.
  mutating func countSkipped(_ flow: Ref<Flow>, _ count: Int) {
    guard flow.pointee.profile.isPlan else {
      ledger.pointee.unreadBytes += UInt64(count)
      streams.undecoded.add(flow.pointee.key.ports, count)
      return
    }
    ledger.pointee.strayBytes += UInt64(count)
    let figures = flow.pointee.figures
    if figures != .max {
      streams.tracker.rare(of: flow).pointee.strayBytes += UInt64(count)
    }
  }

  private mutating func countNotInflated(
    _ flow: Ref<Flow>, _ reader: Ref<WebSocketReader>, _ count: Int, _ place: UInt64
  ) {
    if reader.pointee.unread == 0 { reader.pointee.unreadFrom = place }
    reader.pointee.unread += UInt64(count)
    streams.carrier(of: flow)?.pointee.webSocket.notInflated += UInt64(count)
    countSkipped(flow, count)
  }

  /// Tells of a compressed message that could not be read.
  mutating func tellNotInflated(
    _ side: FlowSide, _ reader: Ref<WebSocketReader>, _ at: Timestamp
  ) {
    guard reader.pointee.unread > 0 else { return }
    streams.raise(
      Issue(
        .notInflated, timestamp: at, direction: side.direction,
        streamOffset: reader.pointee.unreadFrom, byteCount: reader.pointee.unread), side.flow)
    reader.pointee.unread = 0
  }

}
