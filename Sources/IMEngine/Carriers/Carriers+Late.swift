import IMTLS
import IMWire

/// Segments of carried directions that arrive after the hole before them was given up.
///
/// Before a direction goes on behind a gap, the state of all its readers is copied (`GapReplay`). What arrives late is read with that
/// state, as far as it is contiguous; the bytes after the gap follow, up to the frame that the direction found by itself. All bytes of a
/// region were counted as passed over; those that frames are made of are counted anew.
extension Carriers {
  // MARK: Beginning and ending

  /// Remembers a carried direction as it is before a gap. The direction has the offset of the gap's end already.
  @inline(never)
  mutating func rememberBeforeGap(_ side: FlowSide, _ gap: Gap) {
    let state = side.state
    guard replay == nil, side.flow.pointee.profile.isPlan, let record = streams.carrier(of: side.flow) else { return }
    let end = Int(truncatingIfNeeded: state.pointee.offset)
    if let late = record.pointee.late[side.number], let open = late.pointee.open {
      if gap.reason != .snaplen, end - late.pointee.all[open].gapRegion.start <= GapReplay.mostBytes {
        late.pointee.all[open].gapRegion.end = end
      } else {
        finishLate(side, open)
      }
      return
    }
    guard gap.reason != .snaplen, gap.byteCount <= GapReplay.mostBytes, isInStep(side, record) else { return }
    var region = GapReplay(
      gapRegion: GapRegion(start: end - gap.byteCount, end: end, isKnown: true), state: state.pointee)
    region.state.queue = nil
    region.state.partial = copy(state.pointee.partial)
    if let tls = record.pointee.tls {
      region.side = tls.pointee.connection.saveSide(direction: tls.pointee.direction(side))
      region.way = tls.pointee.ways[side.number].copy(held: copy(tls.pointee.ways[side.number].held))
    }
    if let reader = record.pointee.readers[side.number] {
      // The window of compressed messages goes with what was before the gap.
      region.reader = reader.pointee.detached(held: copy(reader.pointee.held))
      reader.pointee.account(budget)
    }
    region.accounted = GapReplay.cost + (region.reader?.inflater == nil ? 0 : RawInflater.cost)
    budget.held += region.accounted
    let late = record.pointee.late[side.number] ?? Ref.make(GapReplays())
    record.pointee.late[side.number] = late
    if late.pointee.all.count >= GapReplay.most { finishLate(side, 0) }
    late.pointee.all.append(region)
    bufferingFlows.add(side, streams.tracker.flows)
  }

  /// What a gap made of a direction: where it still knows its frames, the region is over.
  mutating func noteAfterGap(_ side: FlowSide) {
    guard replay == nil, let record = streams.carrier(of: side.flow), let late = record.pointee.late[side.number],
      let open = late.pointee.open
    else { return }
    let offset = side.state.pointee.offset
    // Frames that follow one whose length is known were counted; so is the record.
    if let reader = record.pointee.readers[side.number], reader.pointee.state != .lost, !reader.pointee.isInDoubt {
      late.pointee.all[open].frames = min(late.pointee.all[open].frames, offset)
    }
    if isInStep(side, record) { late.pointee.close(at: offset) }
  }

  /// Whether all readers of a direction know where they are. It is mutating, as `copy` is, because the compiler would copy the whole stage
  /// for a method that is not.
  private mutating func isInStep(_ side: FlowSide, _ record: Ref<CarrierRecord>) -> Bool {
    guard side.state.pointee.flags.isDisjoint(with: [.lost, .passing]) else { return false }
    if let tls = record.pointee.tls,
      !tls.pointee.connection.isInStep(direction: tls.pointee.direction(side))
        || tls.pointee.ways[side.number].waitsSince != nil
    {
      return false
    }
    guard let reader = record.pointee.readers[side.number] else { return record.pointee.tls != nil }
    return reader.pointee.state == .payload || reader.pointee.state == .header && !reader.pointee.isInDoubt
  }

  private mutating func copy(_ partial: Ref<PartialFrame>?) -> Ref<PartialFrame>? {
    guard let partial, partial.pointee.count > 0 else { return nil }
    let result = streams.partials.make()
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    let base = partial.pointee.streamOffset &- UInt64(partial.pointee.start)
    for (position, count, mark) in partial.pointee.deliveries(partial.pointee.count) {
      result.pointee.append(
        bytes,
        StreamChunk(
          offset: position, count: count, timestamp: mark.timestamp, number: mark.number,
          acknowledged: mark.acknowledged),
        streamOffset: base &+ UInt64(position))
    }
    result.pointee.needed = partial.pointee.needed
    return result
  }

  /// Keeps bytes that follow a gap until the protocol's next frame is found. They end where the direction is.
  mutating func keepAfterGap(_ side: FlowSide, _ late: Ref<GapReplays>, _ bytes: borrowing Bytes, _ chunk: StreamChunk)
  {
    guard let open = late.pointee.open else { return }
    let end = Int(truncatingIfNeeded: side.state.pointee.offset)
    guard end - late.pointee.all[open].gapRegion.start <= GapReplay.mostBytes else { return finishLate(side, open) }
    late.pointee.all[open].gapRegion.end = end
    let added = late.pointee.all[open].gapRegion.fill(at: end - chunk.count, bytes, chunk)
    late.pointee.all[open].accounted += added
    budget.held += added
    if budget.isOverHeld { clock.wakeNow() }
  }

  // MARK: Filling

  /// Reads what a late segment brings of a carried direction's stream; answers how many of its bytes were missing.
  @inline(never)
  mutating func fillLate(_ side: FlowSide, _ segment: UnsafePointer<Segment>, _ bytes: borrowing Bytes) -> Int {
    guard let late = streams.carrier(of: side.flow)?.pointee.late[side.number] else { return 0 }
    let main = side.state.pointee
    let next = main.flags.contains(.finished) ? main.next &- 1 : main.next
    let place = Int(truncatingIfNeeded: main.offset) + segment.pointee.sequence.distance(from: next)
    let chunk = StreamChunk(
      offset: segment.pointee.payload, count: segment.pointee.payloadCount, timestamp: segment.pointee.timestamp,
      number: segment.pointee.number, acknowledged: segment.pointee.acknowledgment)
    var filled = 0
    var i = 0
    while i < late.pointee.all.count {
      let gapRegion = late.pointee.all[i].gapRegion
      guard gapRegion.start < place + chunk.count, place < gapRegion.end else {
        i += 1
        continue
      }
      let added = late.pointee.all[i].gapRegion.fill(at: place, bytes, chunk)
      filled += added
      guard added > 0 else {
        i += 1
        continue
      }
      ledger.pointee.strayBytes += UInt64(added)
      late.pointee.all[i].accounted += added
      budget.held += added
      late.pointee.all[i].isFilled = true
      if !readLate(side, late, i, isFinal: false) { i += 1 }
    }
    if let tls = streams.tls(of: side.flow) { retryPeers(side, tls) }
    return filled
  }

  /// Reads what came late of a connection, with what follows it, as far as it is there; `isEnd` forgets the rest.
  mutating func flushLate(_ flow: Ref<Flow>, isEnd: Bool) {
    guard flow.pointee.carrier != .max else { return }
    for side in flow.sides {
      flushLate(side)
      if isEnd { dropLate(side) }
    }
  }

  /// Reads what came late of a direction, with what follows it, as far as it is there.
  mutating func flushLate(_ side: FlowSide) {
    guard let late = streams.carrier(of: side.flow)?.pointee.late[side.number] else { return }
    var i = 0
    while i < late.pointee.all.count {
      if late.pointee.all[i].isFilled { finishLate(side, i) } else { i += 1 }
    }
  }

  /// Frees what is remembered of a direction's gaps.
  mutating func dropLate(_ side: FlowSide) {
    guard let record = streams.carrier(of: side.flow), let late = record.pointee.late[side.number] else { return }
    while !late.pointee.all.isEmpty { free(late, 0) }
    late.free()
    record.pointee.late[side.number] = nil
  }

  /// Reads a region as far as it is there, and forgets it.
  private mutating func finishLate(_ side: FlowSide, _ i: Int) {
    guard let late = streams.carrier(of: side.flow)?.pointee.late[side.number] else { return }
    if late.pointee.all[i].isFilled, readLate(side, late, i, isFinal: true) { return }
    free(late, i)
  }

  private mutating func free(_ late: Ref<GapReplays>, _ i: Int) {
    var region = late.pointee.all.remove(at: i)
    streams.partials.take(back: &region.state.partial)
    if var way = region.way {
      streams.partials.take(back: &way.held)
      way.clear(budget)
    }
    region.reader?.clear(budget)
    budget.held -= region.accounted
  }

  // MARK: Reading

  /// Reads the beginning of a region with the state from before its gap. True when the region is over, and forgotten.
  ///
  /// `isFinal` passes over what is still missing.
  private mutating func readLate(_ side: FlowSide, _ late: Ref<GapReplays>, _ i: Int, isFinal: Bool) -> Bool {
    guard side.flow.pointee.profile.isPlan else { return false }
    var region = late.pointee.all[i]
    guard isFinal || region.gapRegion.pieces.first?.start == region.gapRegion.start else { return false }
    // What it holds is here alone.
    late.pointee.all[i].gapRegion.pieces = []
    let state = side.state
    let main = state.pointee
    let note = streams.anomalyRecords.note(side)
    let skipped = note.pointee.skipped
    let (stray, decoded, damaged) = (
      ledger.pointee.strayBytes, ledger.pointee.decodedBytes, ledger.pointee.damagedBytes
    )
    let own = figuresOfStray(side.flow)
    note.pointee.skipped = 0
    replay = Replay(limit: region.limit, records: region.records, frames: region.frames)
    streams.isInGapRegion = true
    exchange(side, &region)
    state.pointee.queue = nil
    state.pointee.offset = UInt64(truncatingIfNeeded: region.gapRegion.start)
    streams.select(side.flow.pointee.profile)
    feed(side, &region, isFinal: isFinal)
    let place = region.gapRegion.start
    // Where nothing is missing any more in front of a direction that has not found a frame, it goes on from here.
    let offset = main.offset
    let rejoins =
      region.isOpen && !isFinal && place == Int(truncatingIfNeeded: offset) && !main.flags.contains(.finished)
    let unread = rejoins ? countHeld(side) : 0
    var after = state.pointee
    (after.queue, after.offset, after.next) = (main.queue, main.offset, main.next)
    state.pointee = after
    var uncounted = 0
    if rejoins {
      // What the direction held was not counted yet, and what it holds now will be.
      uncounted = countHeld(in: region, side)
      if state.pointee.partial != nil || unread > 0 { bufferingFlows.add(side, streams.tracker.flows) }
    } else {
      exchange(side, &region)
      state.pointee.queue = main.queue
      state.pointee.offset = main.offset
    }
    streams.isInGapRegion = false
    replay = nil
    note.pointee.skipped = rejoins ? 0 : skipped
    let read = Int(ledger.pointee.decodedBytes &- decoded) + Int(ledger.pointee.damagedBytes &- damaged)
    ledger.pointee.strayBytes = UInt64(max(0, Int(stray) + uncounted - read - unread))
    setFiguresOfStray(side.flow, own, less: read + unread - uncounted)
    late.pointee.all[i] = region
    let isWhole = rejoins || !region.isOpen && UInt64(place) >= region.limit
    if isWhole, !isFinal { uncountUnread(side, region) }
    guard isWhole || isFinal else { return false }
    free(late, i)
    return true
  }

  /// Exchanges the state of a direction's readers with that of a region. Numbers of TCP stay the direction's.
  private mutating func exchange(_ side: FlowSide, _ region: inout GapReplay) {
    let state = side.state
    let exchanged: DirectionFlags = [.lost, .passing, .delimited, .inflating]
    let (flags, partial, passOver) = (state.pointee.flags, state.pointee.partial, state.pointee.passOver)
    state.pointee.flags = flags.subtracting(exchanged).union(region.state.flags.intersection(exchanged))
    state.pointee.partial = region.state.partial
    state.pointee.passOver = region.state.passOver
    (region.state.flags, region.state.partial, region.state.passOver) = (flags, partial, passOver)
    guard let record = streams.carrier(of: side.flow) else { return }
    if let tls = record.pointee.tls, let saved = region.side, let way = region.way {
      tls.pointee.connection.exchangeSide(saved, direction: tls.pointee.direction(side))
      region.way = tls.pointee.ways[side.number]
      tls.pointee.ways[side.number] = way
    }
    if let reader = record.pointee.readers[side.number], let state = region.reader {
      region.reader = reader.pointee
      reader.pointee = state
    }
  }

  /// Hands the bytes of a region to the readers, as far as nothing is missing.
  private mutating func feed(_ side: FlowSide, _ region: inout GapReplay, isFinal: Bool) {
    var buffer = RawBuffer()
    var pieces = region.gapRegion.pieces[...]
    // The bytes of WebSocket frames stand on the wire; those in records are cut where they are decrypted.
    let end = region.way == nil ? Int(truncatingIfNeeded: min(region.limit, UInt64(Int.max))) : Int.max
    while let piece = pieces.first, region.gapRegion.start < end, UInt64(region.gapRegion.start) < region.limit {
      if piece.start > region.gapRegion.start {
        guard isFinal else { break }
        let missing = piece.start - region.gapRegion.start
        side.state.pointee.offset &+= UInt64(missing)
        loseAgain(side, Gap(byteCount: missing, reason: .unseen))
      }
      pieces = pieces.dropFirst()
      buffer.append(Bytes(piece.bytes.span.bytes), 0, piece.bytes.count, at: 0)
      for (i, mark) in piece.marks.enumerated() {
        let last = min(end, i + 1 < piece.marks.count ? piece.marks[i + 1].start : piece.end)
        guard mark.start < last else { break }
        region.latest = max(region.latest, mark.timestamp)
        let part = StreamChunk(
          offset: mark.start - piece.start, count: last - mark.start, timestamp: region.latest, number: mark.number,
          acknowledged: mark.acknowledged)
        side.state.pointee.offset &+= UInt64(part.count)
        let bytes = Bytes(
          RawSpan(_unsafeStart: UnsafeRawPointer(buffer.pointer), byteCount: buffer.capacity + RawBuffer.slack))
        if let tls = streams.tls(of: side.flow) {
          readAgain(side, tls, bytes, part)
        } else {
          carry(side, bytes, part, at: side.state.pointee.offset &- UInt64(part.count))
        }
      }
      region.gapRegion.start = piece.end
    }
    region.gapRegion.pieces = [GapChunk](pieces)
  }

  private mutating func loseAgain(_ side: FlowSide, _ gap: Gap) {
    if let tls = streams.tls(of: side.flow) {
      loseRecords(side, tls, gap)
    } else {
      loseCarrierBytes(side, gap)
    }
  }

  // MARK: Counting

  /// Bytes of TCP's stream that a direction's readers hold.
  private mutating func countHeld(_ side: FlowSide) -> Int {
    let partial = side.state.pointee.partial.map { streams.wireCount(side, $0, $0.pointee.count) } ?? 0
    let frames = streams.reader(side).map { ($0.pointee.held?.pointee.count ?? 0) + $0.pointee.idle } ?? 0
    let records = streams.tls(of: side.flow)?.pointee.ways[side.number].held?.pointee.count ?? 0
    return partial + frames + records
  }

  /// The same of the readers that are in a region.
  private func countHeld(in region: GapReplay, _ side: FlowSide) -> Int {
    var count = 0
    if let partial = region.state.partial {
      let (from, length) = (partial.pointee.streamOffset, partial.pointee.count)
      count =
        region.reader?.offsets.wireCount(from, length) ?? region.way?.offsets.wireCount(from, length) ?? length
    }
    if let reader = region.reader { count += (reader.held?.pointee.count ?? 0) + reader.idle }
    return count + (region.way?.held?.pointee.count ?? 0)
  }

  private mutating func figuresOfStray(_ flow: Ref<Flow>) -> UInt64? {
    flow.pointee.figures == .max ? nil : streams.tracker.rare(of: flow).pointee.strayBytes
  }

  private mutating func setFiguresOfStray(_ flow: Ref<Flow>, _ before: UInt64?, less count: Int) {
    guard flow.pointee.figures != .max else { return }
    let partial = max(0, Int(before ?? 0) - count)
    streams.tracker.rare(of: flow).pointee.strayBytes = UInt64(partial)
  }
}

/// What the readers of a direction have to know while they read a region again.
struct Replay {
  /// What begins there in TCP's stream or after it was decoded.
  let limit: UInt64
  /// Records, and WebSocket frames, from there on were counted.
  let records: UInt64, frames: UInt64
}
