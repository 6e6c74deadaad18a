import IMTLS
import IMWire

/// Protocols in TLS records. What the records carry, once decrypted, is a stream of its own: of WebSocket frames, or of the plan's
/// frames.
///
/// The directions are `carried`. The stream has offsets of its own; outputs give those on the wire, where each decrypted byte has its
/// encrypted one.
extension Carriers {
  /// The most bytes of a direction that wait for keys, and how long they do, in packet time.
  private static var mostWaiting: Int { 64 << 10 }
  private static var longestWait: Nanoseconds { .seconds(10) }

  // MARK: Beginning

  /// Looks for TLS records in what an undecided side holds. True when they were found; then both directions are read as records.
  @inline(never)
  mutating func findsTLS(_ side: FlowSide, _ partial: Ref<PartialFrame>) -> Bool {
    guard secrets != nil, !streams.needs.contains(.undecoded) else { return false }
    let first = partial.pointee.memoryStart.load(fromByteOffset: partial.pointee.start, as: UInt8.self)
    let begin = streams.carrier(of: side.flow)?.pointee.begin[side.number] ?? 0
    if side.state.pointee.flags.contains(.fromStart), partial.pointee.streamOffset == begin {
      guard first == 0x16 else { return false }
      let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
      guard TLSHello(bytes, partial.pointee.start, partial.pointee.end) != nil else { return false }
      beginTLS(side)
      return true
    }
    guard partial.pointee.deliveryCount <= 32 else { return false }
    for (position, count, _) in partial.pointee.deliveries(partial.pointee.count) {
      let start = partial.pointee.memoryStart + position
      guard (20...24).contains(start.load(as: UInt8.self)) else { continue }
      let isSegment = position + count == partial.pointee.end
      guard
        TLSConnection.looksLikeRecords(
          UnsafeRawBufferPointer(start: start, count: partial.pointee.end - position), isSegment: isSegment)
      else { continue }
      let skipped = position - partial.pointee.start
      if skipped > 0 {
        streams.countUnread(side.flow, skipped)
        partial.pointee.consume(skipped)
      }
      beginTLS(side)
      return true
    }
    return false
  }

  /// Looks for the hello that begins TLS in the last `count` bytes of an undecided side, after plaintext bytes, as after STARTTLS. True if it was
  /// found. Bytes before it are not read.
  @inline(never)
  mutating func findsUpgrade(_ side: FlowSide, _ partial: Ref<PartialFrame>, new count: Int) -> Bool {
    let flow = side.flow
    guard count > 0, count < partial.pointee.count, !streams.needs.contains(.undecoded) else { return false }
    let position = partial.pointee.mark(at: partial.pointee.end - 1).position
    guard position > partial.pointee.start,
      partial.pointee.memoryStart.load(fromByteOffset: position, as: UInt8.self) == 0x16,
      streams.beginsTLS(
        side,
        UnsafeRawBufferPointer(start: partial.pointee.memoryStart + position, count: partial.pointee.end - position))
    else { return false }
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    guard let hello = TLSHello(bytes, position, partial.pointee.end) else { return false }
    guard secrets != nil else {
      streams.noteUpgrade(flow, hello)
      return true
    }
    let record = carrierRecord(flow)
    record.pointee.upgradingSide = UInt8(truncatingIfNeeded: side.number)
    let skipped = position - partial.pointee.start
    streams.countUnread(flow, skipped)
    partial.pointee.consume(skipped)
    beginUpgraded(flow)
    if let tls = record.pointee.tls { countUnread(side, tls, .beforeTLS, skipped) }
    return true
  }

  /// Begins the TLS of a connection that was in plaintext so far, if a hello was found.
  @inline(__always)
  mutating func beginUpgraded(_ flow: Ref<Flow>) {
    guard let record = streams.carrier(of: flow), record.pointee.upgradingSide != 255 else { return }
    beginUpgraded(flow, record)
  }

  @inline(never)
  private mutating func beginUpgraded(_ flow: Ref<Flow>, _ record: Ref<CarrierRecord>) {
    let side = FlowSide(flow, Int(record.pointee.upgradingSide & 1))
    record.pointee.upgradingSide = 255
    if !flow.pointee.clientIsCertain {
      let isClient = side.state.pointee.partial.map {
        $0.pointee.count > 5 && $0.pointee.memoryStart.load(fromByteOffset: $0.pointee.start + 5, as: UInt8.self) == 1
      }
      flow.pointee.client = UInt8(truncatingIfNeeded: isClient == false ? 1 - side.number : side.number)
    }
    // The peer's earlier bytes are plaintext; its records follow.
    let peer = side.peer
    var clear = 0
    if let partial = peer.state.pointee.partial, partial.pointee.count > 0 {
      let plain = clearCount(partial)
      if flow.pointee.profile.isPlan { countSkipped(flow, plain) } else { streams.countUnread(flow, plain) }
      partial.pointee.consume(plain)
      clear = plain
    }
    beginTLS(side, isUpgrade: true)
    if let tls = record.pointee.tls, clear > 0 { countUnread(peer, tls, .beforeTLS, clear) }
  }

  /// How many of the bytes that a direction holds come before its first delivery that begins with a record of a handshake.
  private func clearCount(_ partial: Ref<PartialFrame>) -> Int {
    for (position, _, _) in partial.pointee.deliveries(partial.pointee.count) {
      let start = partial.pointee.memoryStart + position
      let bytes = UnsafeRawBufferPointer(start: start, count: partial.pointee.end - position)
      if bytes.count >= 6, bytes[0] == 0x16, bytes[1] == 3, bytes[2] <= 4, bytes[5] == 2 {
        return position - partial.pointee.start
      }
    }
    return partial.pointee.count
  }

  /// Makes both directions those of TLS records. A direction whose beginning was captured begins with a hello; in another one the first
  /// record is searched for; after an upgrade both begin.
  private mutating func beginTLS(_ side: FlowSide, isUpgrade: Bool = false) {
    guard let secrets else { return }
    let flow = side.flow
    let record = carrierRecord(flow)
    streams.closeGapRegions(flow)
    budget.take(.connections, TLSReader.cost)
    let client = Int(flow.pointee.client)
    let tls = Ref.make(
      TLSReader(TLSConnection(sidesAreCertain: flow.pointee.clientIsCertain), client: client))
    record.pointee.tls = tls
    var firstSide = side
    for side in flow.sides {
      let state = side.state
      let begin = record.pointee.begin[side.number]
      let begins =
        isUpgrade && (side.number == firstSide.number || state.pointee.offset > 0 || state.pointee.queue != nil)
        || state.pointee.flags.contains(.fromStart)
          && state.pointee.partial?.pointee.streamOffset ?? state.pointee.offset <= begin
      if !begins {
        state.pointee.flags.remove(.fromStart)
        _ = tls.pointee.connection.lose(
          byteCount: nil, after: UnsafeRawBufferPointer(start: nil, count: 0), direction: tls.pointee.direction(side),
          time: clock.moment, in: secrets)
      }
      tls.pointee.ways[side.number].held = state.pointee.partial
      state.pointee.partial = nil
      state.pointee.flags.remove(.lost)
      state.pointee.flags.insert(.carried)
      if tls.pointee.ways[side.number].held != nil { state.pointee.flags.insert(.inflating) }
    }
    record.pointee.begin = [0, 0]
    // What came first is read first.
    if let here = tls.pointee.ways[side.number].held, let there = tls.pointee.ways[side.peer.number].held,
      there.pointee.count > 0, here.pointee.count > 0,
      there.pointee.mark(at: there.pointee.start).timestamp < here.pointee.mark(at: here.pointee.start).timestamp
    {
      firstSide = side.peer
    }
    for side in firstSide.both { decryptHeld(side, tls, isEnd: false) }
    retryPeers(firstSide, tls)
  }

  // MARK: Reading

  /// Takes stream bytes of a direction of TLS records that have just become contiguous.
  @inline(never)
  mutating func decrypt(_ side: FlowSide, _ tls: Ref<TLSReader>, _ bytes: borrowing Bytes, _ chunk: StreamChunk) {
    readAgain(side, tls, bytes, chunk)
    retryPeers(side, tls)
  }

  /// The same, without looking at what waits.
  mutating func readAgain(_ side: FlowSide, _ tls: Ref<TLSReader>, _ bytes: borrowing Bytes, _ chunk: StreamChunk) {
    let start = side.state.pointee.offset &- UInt64(chunk.count)
    if tls.pointee.ways[side.number].held == nil {
      let source = CarriedBytes(
        held: nil, at: chunk.timestamp, number: chunk.number, base: start &- UInt64(chunk.offset))
      let position = bytes.span.withUnsafeBytes { memory -> Int in
        guard let base = memory.baseAddress else { return chunk.end }
        return readRecords(side, tls, base, from: chunk.offset, to: chunk.end, of: source, isEnd: false)
      }
      if position < chunk.end {
        keepEncrypted(side, tls, bytes, chunk.from(position), at: start &+ UInt64(position - chunk.offset))
      }
    } else {
      keepEncrypted(side, tls, bytes, chunk, at: start)
      decryptHeld(side, tls, isEnd: false)
    }
  }

  private mutating func keepEncrypted(
    _ side: FlowSide, _ tls: Ref<TLSReader>, _ bytes: borrowing Bytes, _ chunk: StreamChunk, at streamOffset: UInt64
  ) {
    if tls.pointee.ways[side.number].held == nil {
      tls.pointee.ways[side.number].held = streams.partials.make()
      side.state.pointee.flags.insert(.inflating)
      bufferingFlows.add(side, streams.tracker.flows)
    }
    tls.pointee.ways[side.number].held?.pointee.append(bytes, chunk, streamOffset: streamOffset)
    if budget.isOverHeld { clock.wakeNow() }
  }

  /// Reads what a direction holds, as far as it goes.
  private mutating func decryptHeld(_ side: FlowSide, _ tls: Ref<TLSReader>, isEnd: Bool) {
    guard let held = tls.pointee.ways[side.number].held else { return }
    let start = held.pointee.start
    let source = CarriedBytes(
      held: held, at: clock.moment, number: 0, base: held.pointee.streamOffset &- UInt64(start))
    let position = readRecords(
      side, tls, held.pointee.memoryStart, from: start, to: held.pointee.end, of: source, isEnd: isEnd)
    held.pointee.consume(position - start)
    if held.pointee.count == 0 { streams.partials.take(back: &tls.pointee.ways[side.number].held) }
  }

  /// Reads on in a direction that waits, when the other one, or the key log, has told more.
  mutating func retryPeers(_ side: FlowSide, _ tls: Ref<TLSReader>) {
    guard tls.pointee.isWaiting, let secrets else { return }
    // Each round decides one direction at least.
    for _ in 0..<8 {
      var isDone = true
      for side in side.both
      where tls.pointee.ways[side.number].waitsSince != nil
        && tls.pointee.connection.canRetry(direction: tls.pointee.direction(side), in: secrets)
      {
        isDone = false
        decryptHeld(side, tls, isEnd: false)
      }
      if isDone { return }
    }
  }

  /// Reads on where connections wait for keys: the key log has grown.
  @inline(never)
  mutating func readWaiting(_ flows: borrowing FlowTable) {
    let waiting = waiting
    self.waiting.removeAll(keepingCapacity: true)
    for entry in waiting {
      let flow = flows.pointer(entry.flow)
      guard flow.pointee.serial == entry.serial, let tls = streams.tls(of: flow) else { continue }
      retryPeers(FlowSide(flow, 0), tls)
      if tls.pointee.isWaiting { self.waiting.append(entry) }
    }
  }

  /// Reads records between `first` and `end` of the memory at `memory`; answers where it stopped.
  private mutating func readRecords(
    _ side: FlowSide, _ tls: Ref<TLSReader>, _ memory: UnsafeRawPointer, from first: Int, to end: Int,
    of source: CarriedBytes, isEnd: Bool
  ) -> Int {
    guard let secrets else { return end }
    // SAFETY: the engine keeps the secrets, and the reader its connection, which only `dropTLS` frees. Each is used within one call of
    // `next`; retaining both for each record takes as long as much of the reading.
    let context = Unmanaged.passUnretained(secrets)
    let connection = Unmanaged.passUnretained(tls.pointee.connection)
    let direction = tls.pointee.direction(side)
    var position = first
    while position < end {
      let last = bringer(source, end - 1)
      let bytes = UnsafeRawBufferPointer(start: memory + position, count: end - position)
      let step = connection._withUnsafeGuaranteedRef { connection in
        context._withUnsafeGuaranteedRef {
          connection.next(bytes, direction: direction, time: last.at, isEnd: isEnd, in: $0)
        }
      }
      settleClient(side, tls)
      if case .undecided = step {} else { tls.pointee.ways[side.number].waitsSince = nil }
      switch step {
      case .more:
        return position
      case .plaintext(let text):
        countRecord(side, text.count - text.bytes.count, at: source.base &+ UInt64(position))
        let place = source.base &+ UInt64(position + text.ciphertextIndex)
        let bringer = bringer(source, position + text.count - 1)
        position += text.count
        tls.pointee.plaintextBytes += UInt64(text.bytes.count)
        foundTLS(side.flow)
        handOnDecrypted(side, tls, text.bytes, place: place, bringer)
      case .control(let count, _):
        countRecord(side, count, at: source.base &+ UInt64(position))
        position += count
      case .unread(let count, let reason):
        if tls.pointee.unreadReason == nil { tls.pointee.unreadReason = reason }
        countUnread(side, tls, reason, count)
        countSkipped(side.flow, count)
        position += count
        if tls.pointee.plaintextBytes > 0, reason != .earlyRejected { loseDecrypted(side) }
      case .undecided:
        let since = tls.pointee.ways[side.number].waitsSince ?? last.at
        if isEnd || replay != nil || end - position > Self.mostWaiting || last.at.time(since: since) > Self.longestWait
        {
          tls.pointee.connection.giveUpWaiting(direction: direction)
          continue
        }
        if tls.pointee.ways[side.number].waitsSince == nil {
          tls.pointee.ways[side.number].waitsSince = since
          if waiting.count < 65_536 {
            waiting.append(WaitingFlow(flow: side.index, serial: side.flow.pointee.serial))
          }
        }
        return position
      }
    }
    return position
  }

  /// Takes over which side is the client, where only TLS tells.
  private func settleClient(_ side: FlowSide, _ tls: Ref<TLSReader>) {
    let flow = side.flow
    guard !flow.pointee.clientIsCertain else { return }
    let client = tls.pointee.connection.isSwapped ? 1 - tls.pointee.client : tls.pointee.client
    if Int(flow.pointee.client) != client { flow.pointee.client = UInt8(truncatingIfNeeded: client) }
  }

  /// Counts `count` bytes that a record has around what it carries; the record is at `place` of the direction's stream.
  private mutating func countRecord(_ side: FlowSide, _ count: Int, at place: UInt64) {
    if let replay {
      if place < replay.records { countCarrier(count) }
      return
    }
    countCarrier(count)
    guard let late = streams.carrier(of: side.flow)?.pointee.late[side.number], let open = late.pointee.open else {
      return
    }
    late.pointee.all[open].records = min(late.pointee.all[open].records, place)
  }

  private mutating func foundTLS(_ flow: Ref<Flow>) {
    guard let record = streams.carrier(of: flow), !record.pointee.carriers.contains(.tls) else { return }
    record.pointee.carriers.insert(.tls)
    streams.describe(flow)
  }

  // MARK: What records carry

  /// Hands on decrypted bytes whose encrypted ones begin at `place` of the side's stream.
  private mutating func handOnDecrypted(
    _ side: FlowSide, _ tls: Ref<TLSReader>, _ text: UnsafeRawBufferPointer, place: UInt64, _ bringer: Bringer
  ) {
    let flow = side.flow
    let state = side.state
    let number = side.number
    var text = text
    if let replay, place &+ UInt64(text.count) > replay.limit {
      guard place < replay.limit else { return }
      text = UnsafeRawBufferPointer(rebasing: text[..<Int(replay.limit - place)])
    }
    guard let memory = text.baseAddress, flow.pointee.profile.isPlan || flow.pointee.profile == .unknown else {
      countSkipped(flow, text.count)
      return
    }
    let inner = tls.pointee.ways[number].offsets.end
    tls.pointee.ways[number].offsets.append(text.count, wire: place, wireCount: text.count)
    // SAFETY: the scratch buffer of the TLS context holds the text and at least as many bytes behind it as `RawBuffer.slack` says.
    let bytes = Bytes(RawSpan(_unsafeStart: memory, byteCount: text.count + RawBuffer.slack))
    let chunk = StreamChunk(offset: 0, count: text.count, timestamp: bringer.at, number: bringer.number)
    if streams.reader(side) != nil {
      carry(side, bytes, chunk, at: inner)
    } else {
      var taken = 0
      if flow.pointee.profile == .unknown {
        taken = min(chunk.count, countOfBody(side, at: inner))
        if taken > 0 { countSkipped(flow, taken) }
      } else if state.pointee.partial == nil, state.pointee.flags.isDisjoint(with: [.lost, .passing, .delimited]) {
        taken = streams.decodeInPlace(side, bytes, chunk, at: place)
      }
      if taken < chunk.count {
        keepCarried(side, bytes, chunk.from(taken), at: inner &+ UInt64(taken))
        decodeKept(side, new: chunk.count - taken)
      }
    }
    let kept =
      streams.reader(side)?.pointee.held?.pointee.streamOffset
      ?? (streams.reader(side) == nil ? state.pointee.partial?.pointee.streamOffset : nil)
    tls.pointee.ways[number].offsets.forget(before: kept ?? tls.pointee.ways[number].offsets.end)
    tls.pointee.ways[number].account(budget)
  }

  /// The stream that records carry has a gap of unknown length.
  private mutating func loseDecrypted(_ side: FlowSide) {
    if let reader = streams.reader(side) {
      loseCarrier(side, reader)
      dropHeld(side, reader)
    } else if !side.state.pointee.flags.contains(.lost) || side.state.pointee.partial != nil {
      loseCarried(side)
    }
  }

  // MARK: Losing and ending

  /// Bytes of a direction of TLS records will not come.
  mutating func loseRecords(_ side: FlowSide, _ tls: Ref<TLSReader>, _ gap: Gap) {
    guard let secrets else { return }
    let number = side.number
    let direction = tls.pointee.direction(side)
    if tls.pointee.ways[number].waitsSince != nil {
      tls.pointee.connection.giveUpWaiting(direction: direction)
      decryptHeld(side, tls, isEnd: false)
    }
    let held = tls.pointee.ways[number].held
    let bytes = UnsafeRawBufferPointer(
      start: held.map { $0.pointee.memoryStart + $0.pointee.start }, count: held?.pointee.count ?? 0)
    _ = tls.pointee.connection.lose(
      byteCount: UInt64(gap.byteCount), after: bytes, direction: direction, time: clock.moment, in: secrets)
    if !bytes.isEmpty {
      countSkipped(side.flow, bytes.count)
      countUnread(side, tls, .cut, bytes.count)
    }
    streams.partials.take(back: &tls.pointee.ways[number].held)
    loseDecrypted(side)
  }

  /// Nothing will follow what a direction of TLS records holds.
  mutating func endRecords(_ side: FlowSide, _ tls: Ref<TLSReader>) {
    tls.pointee.connection.giveUpWaiting(direction: tls.pointee.direction(side))
    decryptHeld(side, tls, isEnd: true)
    retryPeers(side, tls)
    if let held = tls.pointee.ways[side.number].held {
      countSkipped(side.flow, held.pointee.count)
      countUnread(side, tls, .cut, held.pointee.count)
      streams.partials.take(back: &tls.pointee.ways[side.number].held)
    }
    noteLateKeys(side, tls)
    nameUnread(side, tls)
  }

  /// Counts bytes that were not read, and why.
  private mutating func countUnread(_ side: FlowSide, _ tls: Ref<TLSReader>, _ reason: TLSUnread, _ count: Int) {
    guard replay == nil else { return }
    tls.pointee.unread.add(reason, UInt64(count))
    ledger.pointee.tlsUnread.add(reason, UInt64(count))
    guard reason == .cut || reason == .noRecord, let late = streams.carrier(of: side.flow)?.pointee.late[side.number],
      let open = late.pointee.open
    else { return }
    late.pointee.all[open].unread.add(reason, UInt64(count))
  }

  /// Takes back what was counted of a gap region all of which was read afterwards.
  mutating func uncountUnread(_ side: FlowSide, _ region: GapReplay) {
    guard let tls = streams.tls(of: side.flow) else { return }
    for reason in [TLSUnread.cut, .noRecord] {
      let count = tls.pointee.unread.move(region.unread[reason], from: reason, to: nil)
      ledger.pointee.tlsUnread.move(count, from: reason, to: nil)
    }
  }

  /// Counts as such the bytes of a direction whose secrets came too late.
  private mutating func noteLateKeys(_ side: FlowSide, _ tls: Ref<TLSReader>) {
    var late = tls.pointee.connection.takeLateByteCount(direction: tls.pointee.direction(side))
    for reason in [TLSUnread.noKey, .noHello, .limit] where late > 0 {
      let count = tls.pointee.unread.move(late, from: reason, to: .keyLate)
      ledger.pointee.tlsUnread.move(count, from: reason, to: .keyLate)
      late -= count
    }
  }

  /// Of a connection none of whose records could be read, TLS is all that can be told.
  private mutating func nameUnread(_ side: FlowSide, _ tls: Ref<TLSReader>) {
    let flow = side.flow
    guard flow.pointee.profile == .unknown, tls.pointee.plaintextBytes == 0,
      tls.pointee.ways[side.peer.number].held == nil
    else { return }
    let facts = tls.pointee.connection.facts
    if let reason = tls.pointee.unread[.keyLate] > 0 ? .keyLate : tls.pointee.unreadReason {
      streams.tlsReasons.note(reason, random: facts.randomPrefix)
    }
    streams.noteUnreadTLS(
      flow,
      TLSHello(
        version: facts.version, serverName: facts.serverName,
        protocols: facts.offeredProtocol.map { [$0] } ?? []), byteCount: tls.pointee.unread.total)
  }

  /// Frees what a connection's records need; what is held was not read.
  mutating func dropTLS(_ flow: Ref<Flow>, _ record: Ref<CarrierRecord>) {
    guard let tls = record.pointee.tls else { return }
    for side in flow.sides {
      if let held = tls.pointee.ways[side.number].held {
        streams.countUnread(flow, held.pointee.count)
        countUnread(side, tls, .cut, held.pointee.count)
        streams.partials.take(back: &tls.pointee.ways[side.number].held)
      }
      tls.pointee.ways[side.number].clear(budget)
      side.state.pointee.flags.subtract([.carried, .inflating])
    }
    budget.take(.connections, -TLSReader.cost)
    tls.free()
    record.pointee.tls = nil
  }

  /// Gives back what a direction holds, for want of memory: its records are looked for again.
  mutating func releaseRecords(_ side: FlowSide, _ tls: Ref<TLSReader>) {
    guard let secrets else { return }
    endRecords(side, tls)
    _ = tls.pointee.connection.lose(
      byteCount: nil, after: UnsafeRawBufferPointer(start: nil, count: 0), direction: tls.pointee.direction(side),
      time: clock.moment, in: secrets)
    loseDecrypted(side)
    tls.pointee.ways[side.number].clear(budget)
  }
}

/// A connection of which bytes wait for keys.
struct WaitingFlow: BitwiseCopyable {
  let flow: UInt32
  let serial: UInt32
}
