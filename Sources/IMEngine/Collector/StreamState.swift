import IMWire

/// One stream while it is collected.
struct StreamState {
  /// One side's part of it.
  struct Side {
    var bytes = StreamBytes()
    var figures = CollectedDirection()
    /// Whether a packet of it had a right TCP checksum, so that wrong ones are damage.
    var hasGoodChecksum = false
  }

  /// What a stream costs of memory: itself, its place in the table of ends, the counts of both sides, and its line of output.
  static var cost: Int { MemoryLayout<StreamState>.stride + 160 + 2 * 160 + 1_024 }

  let key: FlowKey
  let firstFrame: UInt64
  let firstSeen: Timestamp
  var lastSeen: Timestamp
  /// The client's side in `key`.
  var client: Int
  var sawSYN = false
  var analyst = StreamAnalyst()
  var sides = InlineArray<2, Side>(repeating: Side())

  init(_ segment: Segment) {
    key = segment.key
    firstFrame = segment.number
    firstSeen = segment.timestamp
    lastSeen = segment.timestamp
    client = segment.flags.isSuperset(of: [.syn, .ack]) ? 1 - segment.side : segment.side
  }

  /// Takes a segment, whose payload's sum is overwritten where it has none. `recent` remembers those of all streams, and
  /// knows this one as number `id`.
  mutating func accept(
    _ segment: UnsafeMutablePointer<Segment>, _ bytes: borrowing Bytes, id: Int, recent: inout RecentSegments,
    _ memory: StreamMemory, _ budget: inout StreamBudget
  ) {
    let side = segment.pointee.side
    lastSeen = segment.pointee.timestamp
    if segment.pointee.flags.contains(.syn), !segment.pointee.flags.contains(.ack), !sawSYN {
      sawSYN = true
      client = side
    }
    sides[side].figures.packets += 1
    sides[side].figures.wireBytes += UInt64(segment.pointee.wireCount)
    if !segment.pointee.flags.contains(.rst) {
      sides[side].figures.payloadCaptured += UInt64(segment.pointee.payloadCount)
    }
    if segment.pointee.checksum == .good { sides[side].hasGoodChecksum = true }
    if segment.pointee.checksum == .bad, sides[side].hasGoodChecksum {
      sides[side].figures.damagedBytes += segment.pointee.payloadCount
      return
    }
    sides[side].bytes.add(segment.pointee, bytes, memory, &budget)
    let isCopy = isCopy(segment, bytes, UInt32(truncatingIfNeeded: id), &recent)
    if isCopy {
      sides[side].figures.analysis[.captureDuplicate] += 1
    } else {
      analyst.judge(segment.pointee, bytes, &sides[side].figures, &budget)
    }
  }

  /// Whether a packet was captured before, by the engine's rules; it is remembered if not.
  private func isCopy(
    _ segment: UnsafeMutablePointer<Segment>, _ bytes: borrowing Bytes, _ serial: UInt32,
    _ recent: inout RecentSegments
  ) -> Bool {
    let (own, other) = (segment.pointee.side, 1 - segment.pointee.side)
    let isControl = !segment.pointee.flags.isDisjoint(with: .control)
    let isBare = !isControl && segment.pointee.payloadCount + segment.pointee.cutCount == 0
    if isBare {
      segment.pointee.markAcknowledgment(
        bytes, peerPackets: UInt32(truncatingIfNeeded: sides[other].figures.packets))
    }
    let name =
      isControl
      ? RecentSegments.Name.control(segment.pointee.sequence, segment.pointee.flags)
      : isBare
        ? RecentSegments.Name(ofAcknowledgment: segment)
        : .payload(segment.pointee.sequence, segment.pointee.payloadCount)
    if let memory = recent.recall(serial, segment, name), memory.isCopy(of: segment) {
      if segment.pointee.identification != 0 { return true }
      let copies = sides[own].figures.analysis[.captureDuplicate] + sides[other].figures.analysis[.captureDuplicate]
      let needsOthers = isBare || segment.pointee.flags.contains(.rst)
      if needsOthers ? copies > 0 : !analyst.isAskedFor(segment.pointee) { return true }
    }
    recent.remember(serial, segment, name)
    return false
  }

  func collected(id: Int, _ memory: StreamMemory, wantsContent: Bool) -> CollectedStream {
    CollectedStream(
      id: id, firstFrame: firstFrame, firstSeen: firstSeen, lastSeen: lastSeen, client: key.endpoint(client),
      server: key.endpoint(1 - client), sawSYN: sawSYN, serverHandshake: analyst.serverHandshake,
      clientHandshake: analyst.clientHandshake,
      directions: [
        direction(client, memory, wantsContent: wantsContent),
        direction(1 - client, memory, wantsContent: wantsContent),
      ])
  }

  private func direction(_ side: Int, _ memory: StreamMemory, wantsContent: Bool) -> CollectedDirection {
    var direction = sides[side].figures
    let bytes = sides[side].bytes
    (direction.ranges, direction.gaps, direction.content) = bytes.result(memory)
    direction.starts = bytes.segmentStarts
    direction.overlapBytes = bytes.overlapCount
    direction.conflictBytes = bytes.conflictCount
    direction.resetBytes = bytes.resetCount
    direction.farBytes = bytes.farCount
    direction.bytesNotKept = wantsContent ? bytes.notKeptCount : 0
    direction.payloadLeftOut = bytes.leftOutCount
    return direction
  }
}
