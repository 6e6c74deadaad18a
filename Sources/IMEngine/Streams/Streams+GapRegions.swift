import IMWire

/// Gaps that are filled after all.
///
/// Behind a gap a direction goes on at the next frame it finds. The chunk between the frames on both sides of the gap is
/// a gap region: it has the bytes that were passed over, and late segments are put between them. Its bytes count as skipped
/// as long as they stand there.
extension Streams {
  // MARK: Taking and putting back

  /// The place of a direction's record of gaps.
  private mutating func place(_ side: FlowSide) -> UInt32 {
    side.flow.pointee.anomalyRecord == .max ? GapRegionTable.none : anomalyRecords.note(side).pointee.directionGaps
  }

  /// Takes a direction's record of gaps out, if there is one.
  private mutating func takeDirectionGaps(_ side: FlowSide) -> GapRegionTable.DirectionGapsPointer? {
    guard !gapRegions.isEmpty else { return nil }
    let place = place(side)
    return place == GapRegionTable.none ? nil : gapRegions.take(place, flow: side.index, side: side.number)
  }

  /// A direction's record of gaps where it stands in the table, if there is one.
  private mutating func directionGaps(_ side: FlowSide) -> GapRegionTable.DirectionGapsPointer? {
    guard !gapRegions.isEmpty else { return nil }
    let place = place(side)
    return place == GapRegionTable.none ? nil : gapRegions.directionGaps(at: place, flow: side.index, side: side.number)
  }

  private mutating func reinsert(_ directionGaps: GapRegionTable.DirectionGapsPointer, _ flow: Ref<Flow>) {
    anomalyRecords.note(flow, directionGaps.pointee.side).pointee.directionGaps = gapRegions.put(directionGaps)
  }

  // MARK: Beginning and ending

  /// Begins a gap region where a direction loses bytes, unless one is open. The direction stands behind the gap already, and
  /// still holds what it had in front of it.
  mutating func openGapRegion(_ side: FlowSide, _ gap: Gap) {
    let flow = side.flow
    // What frames of a carrier stand in has offsets of its own.
    guard !side.state.pointee.flags.contains(.carried) else { return }
    guard flow.pointee.profile.isPlan || flow.pointee.profile == .unknown, gap.reason != .snaplen,
      gap.byteCount <= GapRegionTable.maximumCount
    else {
      closeGapRegion(side, at: side.state.pointee.offset &- UInt64(gap.byteCount))
      return
    }
    let state = side.state
    let end = Int(truncatingIfNeeded: state.pointee.offset)
    // Where one is open, it only gets longer.
    if let known = self.directionGaps(side), let start = known.pointee.open?.start,
      end - start <= GapRegionTable.maximumCount
    {
      known.pointee.open?.end = end
      return
    }
    let directionGaps = takeDirectionGaps(side) ?? gapRegions.newDirectionGaps(flow: side.index, side: side.number)
    if let open = directionGaps.pointee.open, end - open.start > GapRegionTable.maximumCount {
      endOpen(directionGaps, open, flow)
    }
    if directionGaps.pointee.open == nil {
      let isBehind = state.pointee.flags.contains(.lost) || state.pointee.flags.contains(.passing)
      var start = end - gap.byteCount
      if let partial = state.pointee.partial, flow.pointee.profile.isPlan { start -= partial.pointee.count }
      let isFirst = start == 0 && state.pointee.flags.contains(.syn)
      directionGaps.pointee.open = GapRegion(
        start: start, end: end, isKnown: isFirst || (flow.pointee.profile.isPlan && !isBehind))
    }
    directionGaps.pointee.open?.end = end
    keep(directionGaps, flow)
  }

  /// Ends the gap region that a direction has behind it: at `place` it knows of a frame again.
  mutating func closeGapRegion(_ side: FlowSide, at place: UInt64) {
    // Mostly its last one ends, and there is room for it.
    if let known = self.directionGaps(side), known.pointee.gapRegions.count < GapRegionTable.maximumPerSide,
      let start = known.pointee.open?.start, start < Int(truncatingIfNeeded: place)
    {
      if var open = known.pointee.open.take() {
        open.end = Int(truncatingIfNeeded: place)
        known.pointee.gapRegions.append(open)
      }
      return
    }
    guard let directionGaps = takeDirectionGaps(side) else { return }
    if var open = directionGaps.pointee.open {
      directionGaps.pointee.open = nil
      open.end = Int(truncatingIfNeeded: place)
      if open.start < open.end { directionGaps.pointee.gapRegions.append(open) }
    }
    keep(directionGaps, side.flow)
  }

  /// Keeps bytes that a direction passes over for the gap region behind it, if there is one. They end where the direction
  /// stands, but for `after` bytes.
  mutating func setAside(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk, after: Int
  ) {
    guard !gapRegions.isEmpty else { return }
    let place = Int(truncatingIfNeeded: side.state.pointee.offset) - after - chunk.count
    append(side, place, bytes, chunk)
  }

  /// The same for the first `count` bytes that a direction holds.
  mutating func setAside(
    _ side: FlowSide, _ partial: Ref<PartialFrame>, _ count: Int
  ) {
    guard !gapRegions.isEmpty else { return }
    let bytes = Bytes(RawSpan(_unsafeStart: partial.pointee.memoryStart, byteCount: partial.pointee.readableCount))
    let base = Int(truncatingIfNeeded: partial.pointee.streamOffset) - partial.pointee.start
    for (position, length, mark) in partial.pointee.deliveries(count) {
      let chunk = StreamChunk(
        offset: position, count: length, timestamp: mark.timestamp, number: mark.number, acknowledged: mark.acknowledged
      )
      append(side, base + position, bytes, chunk)
    }
  }

  private mutating func append(
    _ side: FlowSide, _ place: Int, _ bytes: borrowing Bytes, _ chunk: StreamChunk
  ) {
    let flow = side.flow
    guard chunk.count > 0 else { return }
    let own = self.place(side)
    guard own != GapRegionTable.none else { return }
    guard gapRegions.directionGaps(at: own, flow: side.index, side: side.number) != nil else { return }
    if !gapRegions.append(to: own, at: place, bytes, chunk),
      let directionGaps = gapRegions.take(own, flow: side.index, side: side.number),
      let open = directionGaps.pointee.open
    {
      // Too long to be remembered as one: its frames are looked for as it is.
      endOpen(directionGaps, open, flow)
      reinsert(directionGaps, flow)
    }
    while let excess = gapRegions.takeExcess() { close(excess) }
  }

  private mutating func endOpen(
    _ directionGaps: GapRegionTable.DirectionGapsPointer, _ open: GapRegion, _ flow: Ref<Flow>
  ) {
    directionGaps.pointee.open = nil
    _ = settle(open, directionGaps, flow, isFinal: true)
  }

  // MARK: Filling

  /// Decodes what a late segment brings of chunks that were given up; gives how many of its bytes were missing. The
  /// stream's own place does not change, unless the segment tells it.
  @inline(never)
  mutating func fillGapRegions(
    _ segment: UnsafePointer<Segment>, _ side: FlowSide, _ bytes: borrowing Bytes
  ) -> Int {
    let flow = side.flow
    guard let directionGaps = takeDirectionGaps(side) else { return 0 }
    // Offsets in the stream do not wrap; the FIN has a sequence number, but no place among them.
    let main = side.state.pointee
    let next = main.flags.contains(.finished) ? main.next &- 1 : main.next
    let place = Int(truncatingIfNeeded: main.offset) + segment.pointee.sequence.distance(from: next)
    let last = place + segment.pointee.payloadCount
    let isPlan = flow.pointee.profile.isPlan
    var filled = 0
    var gapRegions: [GapRegion] = []
    // Taken out one by one, so that nothing they hold is copied.
    var known = [GapRegion](directionGaps.pointee.gapRegions.reversed())
    directionGaps.pointee.gapRegions = []
    while var gapRegion = known.popLast() {
      guard gapRegion.start < last, place < gapRegion.end else {
        gapRegions.append(gapRegion)
        continue
      }
      filled += fill(&gapRegion, segment, place, bytes)
      gapRegions += isPlan ? settle(gapRegion, directionGaps, flow, isFinal: false) : [gapRegion]
    }
    directionGaps.pointee.gapRegions = gapRegions
    if var open = directionGaps.pointee.open, open.start < last, place < open.end {
      directionGaps.pointee.open = nil
      filled += fill(&open, segment, place, bytes)
      if isPlan {
        var parts = settle(open, directionGaps, flow, isFinal: false)
        if let last = parts.last, last.end == open.end {
          parts.removeLast()
          directionGaps.pointee.gapRegions += parts
          if !rejoin(last, side) { directionGaps.pointee.open = last }
        } else {
          // Nothing is missing any more in front of where the direction stands.
          directionGaps.pointee.gapRegions += parts
          _ = rejoin(GapRegion(start: open.end, end: open.end, isKnown: true), side)
        }
      } else {
        directionGaps.pointee.open = open
      }
    }
    keep(directionGaps, flow)
    return filled
  }

  private mutating func fill(
    _ gapRegion: inout GapRegion, _ segment: UnsafePointer<Segment>, _ place: Int, _ bytes: borrowing Bytes
  ) -> Int {
    let count = gapRegion.fill(
      at: place, bytes,
      StreamChunk(
        offset: segment.pointee.payload, count: segment.pointee.payloadCount, timestamp: segment.pointee.timestamp,
        number: segment.pointee.number, acknowledged: segment.pointee.acknowledgment))
    ledger.pointee.strayBytes += UInt64(count)
    return count
  }

  /// Gives a direction that is lost behind a gap its place again, when nothing of the gap region is missing any more.
  private mutating func rejoin(
    _ gapRegion: GapRegion, _ side: FlowSide
  ) -> Bool {
    let state = side.state
    let stands = Int(truncatingIfNeeded: state.pointee.partial?.pointee.streamOffset ?? state.pointee.offset)
    guard gapRegion.isKnown, !state.pointee.flags.contains(.finished), gapRegion.end == stands,
      !state.pointee.flags.isDisjoint(with: [.lost, .passing]),
      gapRegion.start == gapRegion.end
        || (gapRegion.pieces.first?.start == gapRegion.start && gapRegion.run == gapRegion.end - gapRegion.start)
    else { return false }
    var whole = gapRegion
    whole.join()
    var joined = whole.pieces.first ?? GapChunk(start: gapRegion.end, bytes: [], marks: [])
    let taken = joined.bytes.count
    if let partial = state.pointee.partial {
      joined.append(Self.piece(partial))
      partials.take(back: &state.pointee.partial)
    }
    state.pointee.flags.subtract([.lost, .passing])
    state.pointee.passOver = 0
    anomalyRecords.note(side).pointee.skipped = 0
    uncount(taken, side.flow)
    state.pointee.partial = partial(joined)
    decodeRest(side)
    return true
  }

  // MARK: Decoding

  /// Decodes what stands in a gap region as far as it goes, and gives what is left of it: between the frames that were found.
  private mutating func settle(
    _ gapRegion: consuming GapRegion, _ directionGaps: GapRegionTable.DirectionGapsPointer, _ flow: Ref<Flow>,
    isFinal: Bool
  ) -> [GapRegion] {
    guard flow.pointee.profile.isPlan else { return isFinal ? [] : [gapRegion] }
    guard !gapRegion.pieces.isEmpty else { return gapRegion.start < gapRegion.end ? [gapRegion] : [] }
    select(flow.pointee.profile)
    var left: [GapRegion] = []
    var current: GapRegion? = gapRegion
    while var gapRegion = current {
      current = nil
      if gapRegion.isKnown, gapRegion.pieces.first?.start == gapRegion.start, gapRegion.run >= gapRegion.needed {
        gapRegion.join()
        decode(&gapRegion, directionGaps, flow)
        if gapRegion.needed > 0, gapRegion.start + gapRegion.needed < gapRegion.end {
          current = gapRegion.cut(at: gapRegion.start + gapRegion.needed)
        }
      }
      if let place = search(&gapRegion, flow, isFinal: isFinal) {
        // What stands behind it waits for its turn.
        var back = gapRegion.cut(at: place)
        if let next = current {
          back.end = next.start
          left += settle(back, directionGaps, flow, isFinal: isFinal)
        } else {
          current = back
        }
      }
      if gapRegion.start < gapRegion.end { left.append(gapRegion) }
    }
    left.sort { $0.start < $1.start }
    return left
  }

  /// Decodes the frames at a gap region's beginning.
  private mutating func decode(
    _ gapRegion: inout GapRegion, _ directionGaps: GapRegionTable.DirectionGapsPointer, _ flow: Ref<Flow>
  ) {
    let piece = gapRegion.pieces.removeFirst()
    let state = flow.state(directionGaps.pointee.side)
    let main = state.pointee
    let note = anomalyRecords.note(flow, directionGaps.pointee.side)
    let skipped = note.pointee.skipped
    note.pointee.skipped = 0
    let next = main.flags.contains(.finished) ? main.next &- 1 : main.next
    var own = main
    own.queue = nil
    own.flags.subtract([.lost, .passing, .holeScheduled])
    own.offset = UInt64(truncatingIfNeeded: piece.end)
    own.next = next &- UInt32(truncatingIfNeeded: Int(truncatingIfNeeded: main.offset) - piece.end)
    own.partial = partial(piece)
    uncount(piece.bytes.count, flow)
    state.pointee = own
    isInGapRegion = true
    let side = FlowSide(flow, directionGaps.pointee.flow, directionGaps.pointee.side)
    decodeRest(side)
    isInGapRegion = false
    own = state.pointee
    state.pointee = main
    note.pointee.skipped = skipped
    gapRegion.isKnown = !own.flags.contains(.lost)
    gapRegion.needed = 0
    gapRegion.start = piece.end
    guard let partial = own.partial else { return }
    let remaining = Self.piece(partial)
    if gapRegion.isKnown { gapRegion.needed = frameLength(side, partial) }
    partials.take(back: &own.partial)
    gapRegion.start = remaining.start
    if !remaining.bytes.isEmpty {
      gapRegion.pieces.insert(remaining, at: 0)
      count(remaining.bytes.count, flow)
    }
  }

  /// Where a frame begins that its bytes prove to be one, in a part of the gap region that nothing else tells of.
  private mutating func search(
    _ gapRegion: inout GapRegion, _ flow: Ref<Flow>, isFinal: Bool
  ) -> Int? {
    let held = gapRegion.held
    guard isFinal || held >= 2 * gapRegion.searched else { return nil }
    gapRegion.searched = held
    gapRegion.join()
    for i in gapRegion.pieces.indices {
      if gapRegion.isKnown, gapRegion.pieces[i].start == gapRegion.start { continue }
      var partial: Ref<PartialFrame>? = self.partial(gapRegion.pieces[i])
      defer { partials.take(back: &partial) }
      guard let found = partial else { continue }
      let bytes = Bytes(RawSpan(_unsafeStart: found.pointee.memoryStart, byteCount: found.pointee.readableCount))
      switch search.find(bytes, found, isEnd: isFinal) {
      case .at(let position): return gapRegion.pieces[i].start + position - found.pointee.start
      case .open, .none: continue
      }
    }
    return nil
  }

  private mutating func count(_ count: Int, _ flow: Ref<Flow>) {
    ledger.pointee.strayBytes &+= UInt64(count)
    let figures = flow.pointee.figures
    if figures != .max { tracker.rare(of: flow).pointee.strayBytes &+= UInt64(count) }
  }

  private mutating func uncount(_ count: Int, _ flow: Ref<Flow>) {
    ledger.pointee.strayBytes &-= UInt64(count)
    let figures = flow.pointee.figures
    if figures != .max {
      let rare = tracker.rare(of: flow)
      let bytes = rare.pointee.strayBytes
      rare.pointee.strayBytes = bytes - min(bytes, UInt64(count))
    }
  }

  private mutating func partial(_ piece: GapChunk) -> Ref<PartialFrame> {
    let partial = partials.make()
    let bytes = Bytes(piece.bytes.span.bytes)
    for (i, mark) in piece.marks.enumerated() {
      let end = i + 1 < piece.marks.count ? piece.marks[i + 1].start : piece.end
      partial.pointee.append(
        bytes,
        StreamChunk(
          offset: mark.start - piece.start, count: end - mark.start, timestamp: mark.timestamp, number: mark.number,
          acknowledged: mark.acknowledged),
        streamOffset: UInt64(truncatingIfNeeded: mark.start))
    }
    return partial
  }

  private static func piece(_ partial: Ref<PartialFrame>) -> GapChunk {
    let start = Int(truncatingIfNeeded: partial.pointee.streamOffset)
    let base = start - partial.pointee.start
    let memory = UnsafeRawBufferPointer(
      start: partial.pointee.memoryStart + partial.pointee.start, count: partial.pointee.count)
    let marks = partial.pointee.deliveries(partial.pointee.count).map {
      GapChunk.Mark(
        start: base + $0.position, timestamp: $0.mark.timestamp, number: $0.mark.number,
        acknowledged: $0.mark.acknowledged)
    }
    return GapChunk(start: start, bytes: [UInt8](memory), marks: marks)
  }

  // MARK: Leaving

  /// Decodes what the gap regions of a connection hold as far as it goes; a straggler behind its end may still fill them.
  mutating func flushGapRegions(_ flow: Ref<Flow>) {
    guard !gapRegions.isEmpty else { return }
    for side in flow.sides {
      guard let directionGaps = takeDirectionGaps(side) else { continue }
      let gapRegions = directionGaps.pointee.gapRegions
      directionGaps.pointee.gapRegions = []
      for gapRegion in gapRegions {
        directionGaps.pointee.gapRegions += settle(gapRegion, directionGaps, flow, isFinal: true)
      }
      keep(directionGaps, flow)
    }
  }

  /// Ends the gap regions of a connection: no more will come.
  mutating func closeGapRegions(_ flow: Ref<Flow>) {
    guard !gapRegions.isEmpty else { return }
    for side in flow.sides {
      if let directionGaps = takeDirectionGaps(side) { close(directionGaps) }
    }
  }

  /// Ends all gap regions.
  mutating func closeGapRegions() {
    while let directionGaps = gapRegions.takeAny() { close(directionGaps) }
  }

  private mutating func close(_ directionGaps: GapRegionTable.DirectionGapsPointer) {
    // Nearly all: their connection was last touched long ago, and need not be asked for.
    guard !directionGaps.pointee.isBare else { return gapRegions.drop(directionGaps) }
    let flow = tracker.flows.pointer(directionGaps.pointee.flow)
    for gapRegion in directionGaps.pointee.gapRegions { _ = settle(gapRegion, directionGaps, flow, isFinal: true) }
    if let open = directionGaps.pointee.open { _ = settle(open, directionGaps, flow, isFinal: true) }
    directionGaps.pointee.gapRegions = []
    directionGaps.pointee.open = nil
    reinsert(directionGaps, flow)
  }

  /// Puts a direction's gap regions back, as many as may be.
  private mutating func keep(_ directionGaps: GapRegionTable.DirectionGapsPointer, _ flow: Ref<Flow>) {
    while directionGaps.pointee.gapRegions.count > GapRegionTable.maximumPerSide {
      _ = settle(directionGaps.pointee.gapRegions.removeFirst(), directionGaps, flow, isFinal: true)
    }
    reinsert(directionGaps, flow)
    while let excess = gapRegions.takeExcess() { close(excess) }
  }
}
