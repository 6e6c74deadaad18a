import IMWire

/// One stream while it is collected.
struct StreamState {
  /// One side's part of it.
  struct Side {
    var bytes = StreamBytes()
    var recent = RecentPackets()
    var figures = CollectedDirection()
  }

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

  mutating func accept(_ segment: Segment, _ bytes: borrowing Bytes, _ budget: inout StreamBudget) {
    let side = segment.side
    lastSeen = segment.timestamp
    if segment.flags.contains(.syn), !segment.flags.contains(.ack), !sawSYN {
      sawSYN = true
      client = side
    }
    sides[side].figures.packets += 1
    sides[side].figures.wireBytes += UInt64(segment.wireCount)
    if !segment.flags.contains(.rst) { sides[side].figures.payloadCaptured += UInt64(segment.payloadCount) }
    sides[side].bytes.add(segment, bytes, &budget)
    let isCopy = sides[side].recent.isCopy(segment, bytes)
    analyst.judge(segment, bytes, isCopy: isCopy, &sides[side].figures, &budget)
  }

  func collected(id: Int) -> CollectedStream {
    CollectedStream(
      id: id, firstFrame: firstFrame, firstSeen: firstSeen, lastSeen: lastSeen, client: key.endpoint(client),
      server: key.endpoint(1 - client), sawSYN: sawSYN, serverHandshake: analyst.serverHandshake,
      clientHandshake: analyst.clientHandshake, directions: [direction(client), direction(1 - client)])
  }

  private func direction(_ side: Int) -> CollectedDirection {
    var direction = sides[side].figures
    let bytes = sides[side].bytes
    (direction.ranges, direction.gaps, direction.content) = bytes.result()
    direction.overlapBytes = bytes.overlapCount
    direction.conflictBytes = bytes.conflictCount
    direction.resetBytes = bytes.resetCount
    direction.farBytes = bytes.farCount
    direction.bytesNotKept = bytes.notKeptCount
    direction.payloadLeftOut = bytes.leftOutCount
    return direction
  }
}
