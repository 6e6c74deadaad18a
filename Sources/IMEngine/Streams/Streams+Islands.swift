import IMWire

/// Gaps that are filled after all.
///
/// Behind a gap a direction goes on at the next frame it finds. The chunk between the frames on both sides of the gap is
/// an island: it has the bytes that were passed over, and late segments are put between them. Its bytes count as skipped
/// as long as they stand there.
extension Streams {
  // MARK: Taking and putting back

  /// The place of a direction's coast.
  private mutating func place(_ side: FlowSide) -> UInt32 {
    side.flow.pointee.journal == .max ? IslandTable.none : journals.note(side).pointee.coast
  }

  /// Takes a direction's coast out, if there is one.
  private mutating func takeCoast(_ side: FlowSide) -> IslandTable.CoastPointer? {
    guard !islands.isEmpty else { return nil }
    let place = place(side)
    return place == IslandTable.none ? nil : islands.take(place, flow: side.index, side: side.number)
  }

  /// A direction's coast where it stands in the table, if there is one.
  private mutating func coast(_ side: FlowSide) -> IslandTable.CoastPointer? {
    guard !islands.isEmpty else { return nil }
    let place = place(side)
    return place == IslandTable.none ? nil : islands.coast(at: place, flow: side.index, side: side.number)
  }

  private mutating func putBack(_ coast: IslandTable.CoastPointer, _ flow: Ref<Flow>) {
    journals.note(flow, coast.pointee.side).pointee.coast = islands.put(coast)
  }

  // MARK: Beginning and ending

  /// Begins an island where a direction loses bytes, unless one is open. The direction stands behind the gap already, and
  /// still holds what it had in front of it.
  mutating func openIsland(_ side: FlowSide, _ gap: Gap) {
    let flow = side.flow
    // What frames of a carrier stand in has offsets of its own.
    guard !side.half.pointee.flags.contains(.carried) else { return }
    guard flow.pointee.profile.isPlan || flow.pointee.profile == .unknown, gap.reason != .snaplen,
      gap.byteCount <= IslandTable.maximumCount
    else {
      closeIsland(side, at: side.half.pointee.offset &- UInt64(gap.byteCount))
      return
    }
    let half = side.half
    let end = Int(truncatingIfNeeded: half.pointee.offset)
    // Where one is open, it only gets longer.
    if let known = self.coast(side), let start = known.pointee.open?.start, end - start <= IslandTable.maximumCount {
      known.pointee.open?.end = end
      return
    }
    let coast = takeCoast(side) ?? islands.newCoast(flow: side.index, side: side.number)
    if let open = coast.pointee.open, end - open.start > IslandTable.maximumCount { endOpen(coast, open, flow) }
    if coast.pointee.open == nil {
      let isBehind = half.pointee.flags.contains(.lost) || half.pointee.flags.contains(.passing)
      var start = end - gap.byteCount
      if let rest = half.pointee.rest, flow.pointee.profile.isPlan { start -= rest.pointee.count }
      let isFirst = start == 0 && half.pointee.flags.contains(.syn)
      coast.pointee.open = Island(
        start: start, end: end, isKnown: isFirst || (flow.pointee.profile.isPlan && !isBehind))
    }
    coast.pointee.open?.end = end
    keep(coast, flow)
  }

  /// Ends the island that a direction has behind it: at `place` it knows of a frame again.
  mutating func closeIsland(_ side: FlowSide, at place: UInt64) {
    // Mostly its last one ends, and there is room for it.
    if let known = self.coast(side), known.pointee.islands.count < IslandTable.maximumPerSide,
      let start = known.pointee.open?.start, start < Int(truncatingIfNeeded: place)
    {
      if var open = known.pointee.open.take() {
        open.end = Int(truncatingIfNeeded: place)
        known.pointee.islands.append(open)
      }
      return
    }
    guard let coast = takeCoast(side) else { return }
    if var open = coast.pointee.open {
      coast.pointee.open = nil
      open.end = Int(truncatingIfNeeded: place)
      if open.start < open.end { coast.pointee.islands.append(open) }
    }
    keep(coast, side.flow)
  }

  /// Keeps bytes that a direction passes over for the island behind it, if there is one. They end where the direction
  /// stands, but for `after` bytes.
  mutating func setAside(
    _ side: FlowSide, _ bytes: borrowing Bytes, _ chunk: StreamChunk, after: Int
  ) {
    guard !islands.isEmpty else { return }
    let place = Int(truncatingIfNeeded: side.half.pointee.offset) - after - chunk.count
    append(side, place, bytes, chunk)
  }

  /// The same for the first `count` bytes that a direction holds.
  mutating func setAside(
    _ side: FlowSide, _ rest: Ref<StreamRest>, _ count: Int
  ) {
    guard !islands.isEmpty else { return }
    let bytes = Bytes(RawSpan(_unsafeStart: rest.pointee.memoryStart, byteCount: rest.pointee.readableCount))
    let base = Int(truncatingIfNeeded: rest.pointee.streamOffset) - rest.pointee.start
    for (position, length, mark) in rest.pointee.deliveries(count) {
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
    guard own != IslandTable.none else { return }
    guard islands.coast(at: own, flow: side.index, side: side.number) != nil else { return }
    if !islands.append(to: own, at: place, bytes, chunk),
      let coast = islands.take(own, flow: side.index, side: side.number), let open = coast.pointee.open
    {
      // Too long to be remembered as one: its frames are looked for as it is.
      endOpen(coast, open, flow)
      putBack(coast, flow)
    }
    while let excess = islands.takeExcess() { close(excess) }
  }

  private mutating func endOpen(
    _ coast: IslandTable.CoastPointer, _ open: Island, _ flow: Ref<Flow>
  ) {
    coast.pointee.open = nil
    _ = settle(open, coast, flow, isFinal: true)
  }

  // MARK: Filling

  /// Decodes what a late segment brings of chunks that were given up; gives how many of its bytes were missing. The
  /// stream's own place does not change, unless the segment tells it.
  @inline(never)
  mutating func fillIslands(
    _ segment: UnsafePointer<Segment>, _ side: FlowSide, _ bytes: borrowing Bytes
  ) -> Int {
    let flow = side.flow
    guard let coast = takeCoast(side) else { return 0 }
    // Offsets in the stream do not wrap; the FIN has a sequence number, but no place among them.
    let main = side.half.pointee
    let next = main.flags.contains(.finished) ? main.next &- 1 : main.next
    let place = Int(truncatingIfNeeded: main.offset) + segment.pointee.sequence.distance(from: next)
    let last = place + segment.pointee.payloadCount
    let isPlan = flow.pointee.profile.isPlan
    var filled = 0
    var islands: [Island] = []
    // Taken out one by one, so that nothing they hold is copied.
    var known = [Island](coast.pointee.islands.reversed())
    coast.pointee.islands = []
    while var island = known.popLast() {
      guard island.start < last, place < island.end else {
        islands.append(island)
        continue
      }
      filled += fill(&island, segment, place, bytes)
      islands += isPlan ? settle(island, coast, flow, isFinal: false) : [island]
    }
    coast.pointee.islands = islands
    if var open = coast.pointee.open, open.start < last, place < open.end {
      coast.pointee.open = nil
      filled += fill(&open, segment, place, bytes)
      if isPlan {
        var parts = settle(open, coast, flow, isFinal: false)
        if let last = parts.last, last.end == open.end {
          parts.removeLast()
          coast.pointee.islands += parts
          if !rejoin(last, side) { coast.pointee.open = last }
        } else {
          // Nothing is missing any more in front of where the direction stands.
          coast.pointee.islands += parts
          _ = rejoin(Island(start: open.end, end: open.end, isKnown: true), side)
        }
      } else {
        coast.pointee.open = open
      }
    }
    keep(coast, flow)
    return filled
  }

  private mutating func fill(
    _ island: inout Island, _ segment: UnsafePointer<Segment>, _ place: Int, _ bytes: borrowing Bytes
  ) -> Int {
    let count = island.fill(
      at: place, bytes,
      StreamChunk(
        offset: segment.pointee.payload, count: segment.pointee.payloadCount, timestamp: segment.pointee.timestamp,
        number: segment.pointee.number, acknowledged: segment.pointee.acknowledgment))
    ledger.pointee.strayBytes += UInt64(count)
    return count
  }

  /// Gives a direction that is lost behind a gap its place again, when nothing of the island is missing any more.
  private mutating func rejoin(
    _ island: Island, _ side: FlowSide
  ) -> Bool {
    let half = side.half
    let stands = Int(truncatingIfNeeded: half.pointee.rest?.pointee.streamOffset ?? half.pointee.offset)
    guard island.isKnown, !half.pointee.flags.contains(.finished), island.end == stands,
      !half.pointee.flags.isDisjoint(with: [.lost, .passing]),
      island.start == island.end
        || (island.pieces.first?.start == island.start && island.run == island.end - island.start)
    else { return false }
    var whole = island
    whole.join()
    var joined = whole.pieces.first ?? IslandPiece(start: island.end, bytes: [], marks: [])
    let taken = joined.bytes.count
    if let rest = half.pointee.rest {
      joined.append(Self.piece(rest))
      rests.take(back: &half.pointee.rest)
    }
    half.pointee.flags.subtract([.lost, .passing])
    half.pointee.passOver = 0
    journals.note(side).pointee.skipped = 0
    uncount(taken, side.flow)
    half.pointee.rest = rest(joined)
    decodeRest(side)
    return true
  }

  // MARK: Decoding

  /// Decodes what stands in an island as far as it goes, and gives what is left of it: between the frames that were found.
  private mutating func settle(
    _ island: consuming Island, _ coast: IslandTable.CoastPointer, _ flow: Ref<Flow>, isFinal: Bool
  ) -> [Island] {
    guard flow.pointee.profile.isPlan else { return isFinal ? [] : [island] }
    guard !island.pieces.isEmpty else { return island.start < island.end ? [island] : [] }
    select(flow.pointee.profile)
    var left: [Island] = []
    var current: Island? = island
    while var island = current {
      current = nil
      if island.isKnown, island.pieces.first?.start == island.start, island.run >= island.needed {
        island.join()
        decode(&island, coast, flow)
        if island.needed > 0, island.start + island.needed < island.end {
          current = island.cut(at: island.start + island.needed)
        }
      }
      if let place = search(&island, flow, isFinal: isFinal) {
        // What stands behind it waits for its turn.
        var back = island.cut(at: place)
        if let next = current {
          back.end = next.start
          left += settle(back, coast, flow, isFinal: isFinal)
        } else {
          current = back
        }
      }
      if island.start < island.end { left.append(island) }
    }
    left.sort { $0.start < $1.start }
    return left
  }

  /// Decodes the frames at an island's beginning.
  private mutating func decode(
    _ island: inout Island, _ coast: IslandTable.CoastPointer, _ flow: Ref<Flow>
  ) {
    let piece = island.pieces.removeFirst()
    let half = flow.half(coast.pointee.side)
    let main = half.pointee
    let note = journals.note(flow, coast.pointee.side)
    let skipped = note.pointee.skipped
    note.pointee.skipped = 0
    let next = main.flags.contains(.finished) ? main.next &- 1 : main.next
    var own = main
    own.queue = nil
    own.flags.subtract([.lost, .passing, .holeScheduled])
    own.offset = UInt64(truncatingIfNeeded: piece.end)
    own.next = next &- UInt32(truncatingIfNeeded: Int(truncatingIfNeeded: main.offset) - piece.end)
    own.rest = rest(piece)
    uncount(piece.bytes.count, flow)
    half.pointee = own
    isInIsland = true
    decodeRest(FlowSide(flow, coast.pointee.flow, coast.pointee.side))
    isInIsland = false
    own = half.pointee
    half.pointee = main
    note.pointee.skipped = skipped
    island.isKnown = !own.flags.contains(.lost)
    island.needed = 0
    island.start = piece.end
    guard let rest = own.rest else { return }
    let remaining = Self.piece(rest)
    if island.isKnown { island.needed = frameLength(rest) }
    rests.take(back: &own.rest)
    island.start = remaining.start
    if !remaining.bytes.isEmpty {
      island.pieces.insert(remaining, at: 0)
      count(remaining.bytes.count, flow)
    }
  }

  /// Where a frame begins that its bytes prove to be one, in a part of the island that nothing else tells of.
  private mutating func search(
    _ island: inout Island, _ flow: Ref<Flow>, isFinal: Bool
  ) -> Int? {
    let held = island.held
    guard isFinal || held >= 2 * island.searched else { return nil }
    island.searched = held
    island.join()
    for i in island.pieces.indices {
      if island.isKnown, island.pieces[i].start == island.start { continue }
      var rest: Ref<StreamRest>? = self.rest(island.pieces[i])
      defer { rests.take(back: &rest) }
      guard let found = rest else { continue }
      let bytes = Bytes(RawSpan(_unsafeStart: found.pointee.memoryStart, byteCount: found.pointee.readableCount))
      switch search.find(bytes, found, isEnd: isFinal) {
      case .at(let position): return island.pieces[i].start + position - found.pointee.start
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

  private mutating func rest(_ piece: IslandPiece) -> Ref<StreamRest> {
    let rest = rests.make()
    let bytes = Bytes(piece.bytes.span.bytes)
    for (i, mark) in piece.marks.enumerated() {
      let end = i + 1 < piece.marks.count ? piece.marks[i + 1].start : piece.end
      rest.pointee.append(
        bytes,
        StreamChunk(
          offset: mark.start - piece.start, count: end - mark.start, timestamp: mark.timestamp, number: mark.number,
          acknowledged: mark.acknowledged),
        streamOffset: UInt64(truncatingIfNeeded: mark.start))
    }
    return rest
  }

  private static func piece(_ rest: Ref<StreamRest>) -> IslandPiece {
    let start = Int(truncatingIfNeeded: rest.pointee.streamOffset)
    let base = start - rest.pointee.start
    let memory = UnsafeRawBufferPointer(
      start: rest.pointee.memoryStart + rest.pointee.start, count: rest.pointee.count)
    let marks = rest.pointee.deliveries(rest.pointee.count).map {
      IslandPiece.Mark(
        start: base + $0.position, timestamp: $0.mark.timestamp, number: $0.mark.number,
        acknowledged: $0.mark.acknowledged)
    }
    return IslandPiece(start: start, bytes: [UInt8](memory), marks: marks)
  }

  // MARK: Leaving

  /// Decodes what the islands of a connection hold as far as it goes; a straggler behind its end may still fill them.
  mutating func flushIslands(_ flow: Ref<Flow>) {
    guard !islands.isEmpty else { return }
    for side in flow.sides {
      guard let coast = takeCoast(side) else { continue }
      let islands = coast.pointee.islands
      coast.pointee.islands = []
      for island in islands { coast.pointee.islands += settle(island, coast, flow, isFinal: true) }
      keep(coast, flow)
    }
  }

  /// Ends the islands of a connection: no more will come.
  mutating func closeIslands(_ flow: Ref<Flow>) {
    guard !islands.isEmpty else { return }
    for side in flow.sides {
      if let coast = takeCoast(side) { close(coast) }
    }
  }

  /// Ends all islands.
  mutating func closeIslands() {
    while let coast = islands.takeAny() { close(coast) }
  }

  private mutating func close(_ coast: IslandTable.CoastPointer) {
    // Nearly all: their connection was last touched long ago, and need not be asked for.
    guard !coast.pointee.isBare else { return islands.drop(coast) }
    let flow = tracker.flows.pointer(coast.pointee.flow)
    for island in coast.pointee.islands { _ = settle(island, coast, flow, isFinal: true) }
    if let open = coast.pointee.open { _ = settle(open, coast, flow, isFinal: true) }
    coast.pointee.islands = []
    coast.pointee.open = nil
    putBack(coast, flow)
  }

  /// Puts a direction's islands back, as many as may be.
  private mutating func keep(_ coast: IslandTable.CoastPointer, _ flow: Ref<Flow>) {
    while coast.pointee.islands.count > IslandTable.maximumPerSide {
      _ = settle(coast.pointee.islands.removeFirst(), coast, flow, isFinal: true)
    }
    putBack(coast, flow)
    while let excess = islands.takeExcess() { close(excess) }
  }
}
