import IMTestSupport

/// One direction by the rules in words, a byte at a time: what `StreamCollector` is held against.
///
/// The first copy of a byte wins. A sequence number belongs to the turn that is nearest to the highest number so far.
/// Offset 0 is the byte after the SYN, or the lowest byte sent. Payload on a reset and data more than 2³⁰ away is left
/// out. What was sent and not captured, and what lies before a FIN, is a gap.
struct StreamReference {
  private var highest: Int?
  private var syn: Int?
  private var fin: Int?
  private var sent: [Int] = []
  private var kept: [Int: UInt8] = [:]
  private(set) var conflicts = 0

  mutating func add(_ segment: TCPSegment, captured: Int) {
    let turn = 1 << 32
    let reference = highest ?? Int(segment.sequence)
    // Of all numbers equal to the sequence number modulo a turn, the nearest; of two equally near, the lower.
    var place = Int(segment.sequence) + (reference - Int(segment.sequence)) / turn * turn - 2 * turn
    while place + turn / 2 < reference { place += turn }
    if segment.flags.contains(.syn) {
      syn = syn ?? place
      place += 1
    }
    highest = reference
    if segment.flags.contains(.rst) { return }
    let bytes = segment.payload
    if !bytes.isEmpty, !sent.isEmpty, abs(place - reference) > 1 << 30 { return }
    if !bytes.isEmpty { sent += [place, place + bytes.count] }
    for (i, byte) in bytes.prefix(captured).enumerated() {
      if let first = kept[place + i] { conflicts += first == byte ? 0 : 1 } else { kept[place + i] = byte }
    }
    if segment.flags.contains(.fin) { fin = place + bytes.count }
    highest = max(reference, place + bytes.count)
  }

  /// The captured ranges as (offset, count), the gaps between and behind them, and the bytes.
  var result: (ranges: [[Int]], gaps: [[Int]], bytes: [UInt8]) {
    guard let lowest = sent.min(), let end = sent.max() else { return ([], [], []) }
    let base = syn.map { $0 + 1 } ?? lowest
    let places = kept.keys.filter { $0 >= base }.sorted()
    var ranges: [[Int]] = []
    for place in places {
      if let last = ranges.last, last[0] + last[1] == place - base {
        ranges[ranges.count - 1][1] += 1
      } else {
        ranges.append([place - base, 1])
      }
    }
    var gaps: [[Int]] = []
    var position = 0
    for range in ranges + [[end - base, 0], [max(fin ?? end, end) - base, 0]] {
      if range[0] > position { gaps.append([position, range[0] - position]) }
      position = max(position, range[0] + range[1])
    }
    return (ranges, gaps, places.compactMap { kept[$0] })
  }
}
