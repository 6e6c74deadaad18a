import IMWire

/// When bytes of one direction turned out to be missing from the capture: the last few times.
///
/// A time is that of the first packet which showed that the bytes had been sent: an acknowledgment of them, or bytes behind
/// them. What was only acknowledged may still come, because a capture may have the acknowledgment first; it counts while the
/// bytes are not there.
struct LossTimes: BitwiseCopyable {
  private static var room: Int { 4 }
  private var times: InlineArray<4, Timestamp> = InlineArray(repeating: .distantPast)
  /// The sequence numbers behind the bytes.
  private var ends: InlineArray<4, UInt32> = InlineArray(repeating: 0)
  private var count: UInt8 = 0
  /// One bit for each of them whose bytes will not come.
  private var certain: UInt8 = 0
  /// The last of the times that there was no room for.
  private var forgotten = Timestamp.distantPast

  init() {}

  /// Whether nothing was ever missing.
  var isEmpty: Bool { count == 0 && forgotten == .distantPast }

  /// The peer acknowledged bytes up to `end`, of which those from `next` on were not captured yet. `held` is what stands
  /// beyond the first hole: from its first byte to behind its last.
  mutating func ahead(at now: Timestamp, to end: UInt32, next: UInt32, held: (UInt32, UInt32)?, isCertain: Bool) {
    dropFilled(next)
    if let (first, last) = held, count > 0 {
      // Bytes that are held were captured: only a hole that was not acknowledged before is news.
      let known = ends[Int(count) - 1]
      if known.isAtOrAfter(first), end.isAtOrBefore(last) { return }
    }
    add(now, end, isCertain: isCertain)
  }

  /// Bytes from `start` to before `end` were given up; `now` is when bytes behind them were seen first.
  mutating func lost(from start: UInt32, to end: UInt32, at now: Timestamp) {
    dropFilled(start)
    var isKnown = false
    for i in 0..<Int(count) where ends[i].isAfter(start) && certain >> UInt8(i) & 1 == 0 {
      certain |= 1 << UInt8(i)
      if !isKnown { times[i] = min(times[i], now) }
      isKnown = true
      if ends[i].isAtOrAfter(end) { return }
    }
    if !isKnown { add(now, end, isCertain: true) }
  }

  /// Whether bytes that are missing now, when `next` is what comes next, turned out to be behind `begin` and not behind `end`.
  func contains(after begin: Timestamp, upTo end: Timestamp, next: UInt32) -> Bool {
    if forgotten > begin { return true }
    for i in 0..<Int(count) where isMissing(i, next) && times[i] > begin && times[i] <= end { return true }
    return false
  }

  /// The last time, not behind `end`, at which bytes turned out to be missing; `nil` where none are.
  func last(upTo end: Timestamp, next: UInt32) -> Timestamp? {
    var last = forgotten
    for i in 0..<Int(count) where isMissing(i, next) && times[i] <= end { last = max(last, times[i]) }
    return last == .distantPast ? nil : last
  }

  private func isMissing(_ i: Int, _ next: UInt32) -> Bool {
    certain >> UInt8(i) & 1 == 1 || ends[i].isAfter(next)
  }

  /// Drops what came after all.
  private mutating func dropFilled(_ next: UInt32) {
    // Mostly nothing has come since it was looked at last.
    guard (0..<Int(count)).contains(where: { !isMissing($0, next) }) else { return }
    var kept = 0
    for i in 0..<Int(count) where isMissing(i, next) {
      let bit = certain >> UInt8(i) & 1
      (times[kept], ends[kept]) = (times[i], ends[i])
      certain = certain & ~(1 << UInt8(kept)) | bit << UInt8(kept)
      kept += 1
    }
    count = UInt8(kept)
  }

  private mutating func add(_ now: Timestamp, _ end: UInt32, isCertain: Bool) {
    if Int(count) == Self.room {
      forgotten = max(forgotten, times[0])
      for i in 1..<Self.room { (times[i - 1], ends[i - 1]) = (times[i], ends[i]) }
      certain >>= 1
      count -= 1
    }
    (times[Int(count)], ends[Int(count)]) = (now, end)
    certain = certain & ~(1 << count) | (isCertain ? 1 << count : 0)
    count += 1
  }
}
