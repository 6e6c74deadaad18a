import IMWire

/// The bytes of one direction, put where their sequence numbers say; the first copy of a byte wins, whatever comes when.
///
/// No hole is ever given up. Places are counted from the first sequence number seen, without wrapping: a number belongs
/// to the turn of the circle that is nearest to the highest one so far. Offset 0 of the result is the byte after the
/// SYN, or the lowest byte that came. Payload on a reset is left out, as is data more than 2³⁰ away from the highest
/// number so far, which no window allows.
struct StreamBytes {
  private static var farthestJump: Int { 1 << 30 }
  /// No capture comes near: a turn per packet would need 2²⁸ of them.
  private static var highestPlace: Int { 1 << 60 }

  /// All pieces but the last one, which nearly every segment lengthens.
  private var pieces = StreamPieces()
  private var tail: StreamPiece?
  private var highest: Int?
  private var syn: Int?
  private var fin: Int?
  /// The lowest first byte and the highest last one of all data, captured or cut.
  private var extent: Range<Int>?
  /// Bytes that came again, and those of them that came differently.
  private(set) var overlapCount = 0
  private(set) var conflictCount = 0
  /// Payload on resets, payload too far away, payload for which there was no piece left, and payload without content.
  private(set) var resetCount = 0
  private(set) var farCount = 0
  private(set) var leftOutCount = 0
  private(set) var notKeptCount = 0
  /// Bytes whose content was taken.
  private var keptCount = 0
  /// Where segments with data begin, and their packets' numbers; only where they are asked for.
  private var starts: [(place: Int, packet: UInt64)] = []

  /// Takes a segment whose packet, or datagram, is `bytes`.
  mutating func add(
    _ segment: Segment, _ bytes: borrowing Bytes, _ memory: StreamMemory, _ budget: inout StreamBudget
  ) {
    let count = segment.payloadCount + segment.cutCount
    if segment.isNumberless {
      resetCount += count
      return
    }
    var start = Int(segment.sequence)
    if let highest {
      let distance = segment.sequence.distance(from: UInt32(truncatingIfNeeded: highest))
      start = highest + distance
    }
    let before = highest ?? start
    highest = before
    if segment.flags.contains(.syn) {
      syn = syn ?? start
      start += 1
    }
    if segment.flags.contains(.rst) {
      resetCount += count
      return
    }
    guard before < Self.highestPlace, count == 0 || extent == nil || abs(start - before) <= Self.farthestJump else {
      farCount += count
      return
    }
    let end = start + count
    if count > 0 {
      extent = min(start, extent?.lowerBound ?? start)..<max(end, extent?.upperBound ?? end)
      if segment.payloadCount > 0 {
        if keptCount < budget.directionLimit, budget.takeStart() { starts.append((start, segment.number)) }
        put(bytes.slice(segment.payload, segment.payloadCount), at: start, memory, &budget)
      }
    }
    if segment.flags.contains(.fin) { fin = end }
    highest = max(before, end)
  }

  /// Asks for the memory into which the next bytes go, as nearly always.
  @inline(__always)
  func prefetch() { tail?.prefetch() }

  /// Puts content behind the last piece, or where else it belongs.
  private mutating func put(
    _ content: RawSpan, at start: Int, _ memory: StreamMemory, _ budget: inout StreamBudget
  ) {
    if let last = tail?.end, last == start, tail?.isKept == true,
      content.byteCount <= budget.directionLimit - keptCount,
      budget.takeContent(content.byteCount, growth: tail?.growth(content.byteCount) ?? 0)
    {
      keptCount += content.byteCount
      tail?.append(content, memory)
      return
    }
    if let tail { pieces.insert(tail, before: pieces.endPlace) }
    tail = nil
    merge(content, at: start, memory, &budget)
    tail = pieces.popLast()
  }

  /// Puts content into the holes between the pieces, and compares it with the pieces.
  private mutating func merge(
    _ content: RawSpan, at start: Int, _ memory: StreamMemory, _ budget: inout StreamBudget
  ) {
    let end = start + content.byteCount
    var position = start
    var place = pieces.first(endingAfter: position)
    while position < end {
      let piece = pieces[place]
      if let piece, piece.start <= position {
        let stop = min(piece.end, end)
        overlapCount += stop - position
        if piece.isKept {
          let again = content.extracting(position - start..<stop - start)
          conflictCount += again.withUnsafeBytes { piece.differences($0, at: position - piece.start) }
        }
        position = stop
        place = pieces.next(place)
      } else {
        let stop = min(piece?.start ?? end, end)
        fill(content.extracting(position - start..<stop - start), at: position, place, memory, &budget)
        position = stop
        place = pieces.first(endingAfter: position)
      }
    }
  }

  private mutating func fill(
    _ content: RawSpan, at start: Int, _ place: StreamPieces.Place, _ memory: StreamMemory,
    _ budget: inout StreamBudget
  ) {
    let count = content.byteCount
    let isKept =
      count <= budget.directionLimit - keptCount
      && budget.takeContent(count, growth: pieces.growth(before: place, at: start, count))
    if isKept { keptCount += count }
    let memory = isKept ? memory : nil
    if !pieces.extend(before: place, at: start, content, memory) {
      guard budget.takePiece() else {
        leftOutCount += count
        return
      }
      pieces.insert(StreamPiece(start: start, content, memory), before: place)
    }
    if !isKept { notKeptCount += count }
  }

  /// Where segments begin, counted from offset 0, in the order of the stream; each place once, with its first packet.
  var segmentStarts: [StreamSegment] {
    guard let extent else { return [] }
    let base = syn.map { $0 + 1 } ?? extent.lowerBound
    var result: [StreamSegment] = []
    for start in starts.sorted(by: { ($0.place, $0.packet) < ($1.place, $1.packet) }) where start.place >= base {
      let segment = StreamSegment(offset: start.place - base, packet: start.packet)
      if result.last?.offset != segment.offset { result.append(segment) }
    }
    return result
  }

  /// What was collected, counted from offset 0.
  func result(_ memory: StreamMemory) -> (ranges: [StreamRange], gaps: [StreamRange], content: [StreamContent]) {
    guard let extent else { return ([], [], []) }
    let base = syn.map { $0 + 1 } ?? extent.lowerBound
    var ranges: [StreamRange] = []
    var gaps: [StreamRange] = []
    var content: [StreamContent] = []
    var position = base
    func gap(to end: Int) {
      guard end > position else { return }
      gaps.append(StreamRange(offset: position - base, count: end - position))
      position = end
    }
    func take(_ piece: StreamPiece) {
      guard piece.end > base else { return }
      // Bytes before offset 0 are probes of a connection that has sent nothing yet, or strays.
      let start = max(piece.start, base)
      gap(to: start)
      if let last = ranges.last, last.end == start - base {
        ranges[ranges.count - 1].count += piece.end - start
      } else {
        ranges.append(StreamRange(offset: start - base, count: piece.end - start))
      }
      content += piece.content(from: start - piece.start, memory)
      position = piece.end
    }
    for piece in pieces.all { take(piece) }
    if let tail { take(tail) }
    gap(to: extent.upperBound)
    if let fin { gap(to: fin) }
    return (ranges, gaps, content)
  }
}
