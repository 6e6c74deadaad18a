import IMWire

extension Engine {
  /// Remembers a stretch that is given up, with what is known of the frames in it. The direction stands behind it already.
  mutating func rememberGap(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ gap: Gap) {
    guard flow.pointee.profile.isPlan, gap.reason != .snaplen, gap.byteCount <= IslandTable.maximumCount else { return }
    let main = flow.half(side)
    var half = Half()
    half.state = .open
    half.next = main.pointee.next &- UInt32(gap.byteCount)
    half.offset = main.pointee.offset &- UInt64(gap.byteCount)
    if main.pointee.flags.contains(.lost) {
      half.flags = .lost
    } else {
      // The end of a frame that the gap cuts is of no use; behind it stands the next one.
      var left = main.pointee.flags.contains(.passing) ? Int(main.pointee.passOver) : 0
      if let rest = main.pointee.rest {
        select(flow.pointee.profile)
        let length = frameLength(rest)
        if length == 0 { half.flags = .lost } else { left = length - rest.pointee.count }
      }
      pass(&half, left)
    }
    var coast =
      reassembler.islands.take(flow.pointee.serial, side)
      ?? IslandTable.Coast(flow: index, serial: flow.pointee.serial, side: side)
    coast.islands.append(Island(half: half, end: main.pointee.next))
    keep(&coast, flow)
  }

  /// Decodes what a late segment brings of stretches that were given up. The stream's own place does not change.
  @inline(never)
  mutating func fillIslands(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ bytes: borrowing Bytes) {
    let side = segment.pointee.side
    guard var coast = reassembler.islands.take(flow.pointee.serial, side) else { return }
    // Offsets in the stream do not wrap; the FIN has a sequence number, but no place among them.
    let main = flow.half(side).pointee
    let next = main.flags.contains(.finished) ? main.next &- 1 : main.next
    let place = Int(truncatingIfNeeded: main.offset) + Int(Int32(bitPattern: segment.pointee.sequence &- next))
    var filled = 0
    var islands: [Island] = []
    for var island in coast.islands {
      let end = island.end
      let start = Int(truncatingIfNeeded: island.half.offset) - place
      let first = max(start, 0)
      let last = min(start + Int(end &- island.half.next), segment.pointee.payloadCount)
      guard first < last else {
        islands.append(island)
        continue
      }
      filled += last - first
      if first > start {
        // What is in front stays missing: the segment begins an island of its own.
        var front = island
        front.end = segment.pointee.sequence &+ UInt32(first)
        islands.append(front)
        island.half = behind(island.half, first - start)
      }
      visit(index, flow, side, &island) { engine, half in
        half.pointee.next &+= UInt32(last - first)
        half.pointee.offset &+= UInt64(last - first)
        engine.consume(
          index, flow, side, bytes, engine.segment.pointee.payload + first, last - first,
          engine.segment.pointee.timestamp,
          engine.segment.pointee.number)
        if half.pointee.next == end { engine.abandonRest(index, flow, side) }
      }
      if island.half.next != end { islands.append(island) }
    }
    coast.islands = islands
    keep(&coast, flow)
    reassembler.countLate(flow, segment, filled)
  }

  /// Decodes what the islands of a connection hold as far as it goes; a straggler behind its end may still fill them.
  mutating func flushIslands(_ flow: UnsafeMutablePointer<Flow>) {
    guard !reassembler.islands.isEmpty else { return }
    for side in 0...1 {
      guard var coast = reassembler.islands.take(flow.pointee.serial, side) else { continue }
      for i in coast.islands.indices where coast.islands[i].half.rest != nil {
        close(&coast.islands[i], coast.flow, flow, side)
        coast.islands[i].half.flags = .lost
      }
      reassembler.islands.put(coast)
    }
  }

  /// Ends the islands of a connection: no more will come.
  mutating func closeIslands(_ flow: UnsafeMutablePointer<Flow>) {
    guard !reassembler.islands.isEmpty else { return }
    for side in 0...1 {
      if let coast = reassembler.islands.take(flow.pointee.serial, side) { close(coast) }
    }
  }

  /// Ends all islands.
  mutating func closeIslands() {
    while let coast = reassembler.islands.takeAny() { close(coast) }
  }

  private mutating func close(_ coast: IslandTable.Coast) {
    let flow = reassembler.flows.pointer(coast.flow)
    for var island in coast.islands { close(&island, coast.flow, flow, coast.side) }
  }

  private mutating func close(
    _ island: inout Island, _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int
  ) {
    guard island.half.rest != nil else { return }
    visit(index, flow, side, &island) { engine, _ in engine.abandonRest(index, flow, side) }
  }

  /// Puts a direction's islands back, as many as may be.
  private mutating func keep(_ coast: inout IslandTable.Coast, _ flow: UnsafeMutablePointer<Flow>) {
    while coast.islands.count > IslandTable.maximumPerSide {
      var oldest = coast.islands.removeFirst()
      close(&oldest, coast.flow, flow, coast.side)
    }
    reassembler.islands.put(coast)
    while let excess = reassembler.islands.takeExcess() { close(excess) }
  }

  /// Runs `body` with an island in the place of the stream that it was taken from.
  private mutating func visit(
    _ index: UInt32, _ flow: UnsafeMutablePointer<Flow>, _ side: Int, _ island: inout Island,
    _ body: (inout Engine, UnsafeMutablePointer<Half>) -> Void
  ) {
    let half = flow.half(side)
    let main = half.pointee
    let key = flow.pointee.serial << 1 | UInt32(side)
    let skipped = pendingSkip.removeValue(forKey: key)
    half.pointee = island.half
    body(&self, half)
    island.half = half.pointee
    half.pointee = main
    pendingSkip[key] = skipped
  }

  /// An island's stream `distance` bytes further on, without the bytes between.
  private func behind(_ half: Half, _ distance: Int) -> Half {
    var result = Half()
    result.state = .open
    result.next = half.next &+ UInt32(distance)
    result.offset = half.offset &+ UInt64(distance)
    if half.flags.contains(.passing), Int(half.passOver) >= distance {
      pass(&result, Int(half.passOver) - distance)
    } else {
      result.flags = .lost
    }
    return result
  }

  private func pass(_ half: inout Half, _ count: Int) {
    half.passOver = UInt32(count)
    half.flags = count > 0 ? .passing : []
  }
}
