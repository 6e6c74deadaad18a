import IMWire

/// Datagrams that came in pieces.
///
/// Bounded by count and by capture time; the first copy of a byte wins, as for TCP. Off the hot path: TCP is rarely
/// fragmented, so ordinary collections serve.
struct FragmentTable: ~Copyable {
  /// At most this many datagrams wait; the oldest goes first.
  var maximumDatagrams = 4_096
  /// A datagram waits this long in capture time, in nanoseconds.
  var patience: Int64 = 30_000_000_000

  /// Stretches of a datagram with holes between them: a sender's own packets make few, however they are overtaken.
  private static var maximumStretches: Int { 256 }

  struct Key: Hashable {
    var source: IPAddress
    var destination: IPAddress
    var identification: UInt32
    var ipProtocol: UInt8
  }

  private struct Datagram {
    var bytes: [UInt8] = []
    /// Which bytes are there, as sorted ranges that do not touch.
    var present: [Range<Int>] = []
    var total: Int?
    var first: Timestamp
  }

  /// Told of what is held; at most a sixteenth of its limit is.
  var budget: MemoryBudget?
  private var held = 0 {
    didSet { budget?.held += held - oldValue }
  }
  private var waiting: [Key: Datagram] = [:]
  private var order = RingQueue<Key>()
  /// The last datagram that became whole, with its slack behind it.
  private(set) var datagram = RawBuffer()
  /// Bytes of `datagram` that count.
  private(set) var datagramCount = 0
  /// Datagrams given up before they were whole.
  private(set) var expired = 0
  /// Of those, the ones that were given up for want of room.
  private(set) var evicted: UInt64 = 0

  /// Adds `range` of the packet as the bytes at `offset` of the datagram. True when that made it whole: it is in
  /// `datagram` then. `nil` when the fragment cannot be kept.
  mutating func add(
    _ key: Key, _ packet: borrowing Bytes, _ range: Range<Int>, at offset: Int, isLast: Bool, _ now: Timestamp
  ) -> Bool? {
    expire(now)
    let end = offset + range.count
    guard end <= 65_535, !range.isEmpty else { return nil }
    if waiting[key] == nil {
      while waiting.count >= maximumDatagrams || held > (budget?.limit ?? .max) / 16, dropOldest() { evicted += 1 }
      // Keys of datagrams that became whole stay in it until their turn comes.
      if order.count > 4 * maximumDatagrams {
        var seen: Set<Key> = []
        order.removeAll { waiting[$0] == nil || !seen.insert($0).inserted }
      }
      order.append(key)
    }
    // Taken out, so that nothing it holds is copied.
    var entry = waiting.removeValue(forKey: key) ?? Datagram(first: now)
    guard !isLast || entry.total == nil || entry.total == end, entry.present.count < Self.maximumStretches else {
      waiting[key] = entry
      return nil
    }
    if isLast { entry.total = end }
    if entry.bytes.count < end {
      held += end - entry.bytes.count
      entry.bytes += [UInt8](repeating: 0, count: end - entry.bytes.count)
    }
    // Copy only where nothing is yet.
    var position = offset
    for have in entry.present + [end..<end] where have.upperBound > position {
      let stop = min(max(have.lowerBound, position), end)
      for i in position..<stop { entry.bytes[i] = packet.u8(range.lowerBound + i - offset) }
      position = max(position, min(have.upperBound, end))
    }
    entry.present = Self.merged(entry.present, with: offset..<end)
    if let total = entry.total, entry.present.first == 0..<total, entry.present.count == 1 {
      held -= entry.bytes.count
      datagram.reserve(total)
      entry.bytes.withUnsafeBytes { raw in
        if let base = raw.baseAddress { datagram.pointer.copyMemory(from: base, byteCount: total) }
      }
      datagramCount = total
      return true
    }
    waiting[key] = entry
    return false
  }

  private static func merged(_ ranges: [Range<Int>], with new: Range<Int>) -> [Range<Int>] {
    var result: [Range<Int>] = []
    var merged = new
    for range in ranges {
      if range.upperBound < merged.lowerBound || range.lowerBound > merged.upperBound {
        result.append(range)
      } else {
        merged = min(range.lowerBound, merged.lowerBound)..<max(range.upperBound, merged.upperBound)
      }
    }
    let place = result.firstIndex { $0.lowerBound > merged.lowerBound } ?? result.count
    result.insert(merged, at: place)
    return result
  }

  private mutating func expire(_ now: Timestamp) {
    while let key = order.first {
      guard let entry = waiting[key] else {
        _ = order.popFirst()
        continue
      }
      guard now.nanoseconds(since: entry.first) > patience else { break }
      dropOldest()
    }
  }

  @discardableResult
  private mutating func dropOldest() -> Bool {
    while let key = order.popFirst() {
      if let entry = waiting.removeValue(forKey: key) {
        held -= entry.bytes.count
        expired += 1
        return true
      }
    }
    return false
  }
}

extension PacketParser {
  /// One fragment of an IPv4 datagram. Its payload is `header..<total` of the packet at `ip`.
  @inline(never)
  mutating func ipv4Fragment(
    _ bytes: borrowing Bytes, _ ip: Int, _ header: Int, _ total: Int, _ end: Int, _ field: UInt16,
    into segment: inout Segment
  ) -> Outcome {
    guard end - ip >= total else { return .skipped(.fragmentDropped) }
    let key = FragmentTable.Key(
      source: IPAddress(v4: bytes.u32(ip + 12)), destination: IPAddress(v4: bytes.u32(ip + 16)),
      identification: UInt32(bytes.u16(ip + 4)), ipProtocol: bytes.u8(ip + 9))
    guard key.ipProtocol == IPProtocol.tcp else { return .skipped(.notTCP) }
    let offset = Int(field & 0x1fff) * 8
    let isLast = field & 0x2000 == 0
    guard
      let whole = fragments.add(
        key, bytes, (ip + header)..<(ip + total), at: offset, isLast: isLast, segment.timestamp)
    else { return .skipped(.fragmentDropped) }
    guard whole else { return .skipped(.fragmentHeld) }
    let count = fragments.datagramCount
    let datagram = Bytes(fragments.datagram.bytes)
    let outcome = tcpOverIPv4(
      datagram, UInt32(truncatingIfNeeded: key.source.low), UInt32(truncatingIfNeeded: key.destination.low), 0,
      count, count, into: &segment)
    return outcome == .segment ? .reassembledSegment : outcome
  }

  /// One fragment of an IPv6 datagram; its fragment header is at `position`, eight bytes of which are there.
  mutating func ipv6Fragment(
    _ bytes: borrowing Bytes, _ source: IPAddress, _ destination: IPAddress, _ position: Int, _ wireEnd: Int,
    _ end: Int, into segment: inout Segment
  ) -> Outcome {
    guard end == wireEnd else { return .skipped(.fragmentDropped) }
    let next = bytes.u8(position)
    let field = bytes.u16(position + 2)
    let payload = (position + 8)..<end
    if field & 0xfff9 == 0 {
      // An atomic fragment is a whole datagram (RFC 6946).
      return ipv6Payload(bytes, source, destination, next, payload.lowerBound, wireEnd, end, into: &segment)
    }
    guard next == IPProtocol.tcp else { return .skipped(.notTCP) }
    let key = FragmentTable.Key(
      source: source, destination: destination, identification: bytes.u32(position + 4), ipProtocol: next)
    guard
      let whole = fragments.add(
        key, bytes, payload, at: Int(field >> 3) * 8, isLast: field & 1 == 0, segment.timestamp)
    else { return .skipped(.fragmentDropped) }
    guard whole else { return .skipped(.fragmentHeld) }
    let count = fragments.datagramCount
    let datagram = Bytes(fragments.datagram.bytes)
    let outcome = tcpOverIPv6(datagram, source, destination, 0, count, count, into: &segment)
    return outcome == .segment ? .reassembledSegment : outcome
  }
}
