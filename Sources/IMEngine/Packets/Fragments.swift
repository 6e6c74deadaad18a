import IMWire

/// Datagrams that came in pieces.
///
/// Bounded by count, by memory and by capture time; the first copy of a byte wins, as for TCP. Off the hot path: segments
/// and the tunnels around them are rarely fragmented, so ordinary collections serve.
struct FragmentTable: ~Copyable {
  /// At most this many datagrams wait; the oldest goes first.
  var maximumDatagrams = 4_096
  /// A datagram waits this long in capture time, in nanoseconds.
  var patience = Nanoseconds.seconds(30)

  /// Stretches of a datagram with holes between them: a sender's own packets make few, however they are overtaken.
  private static var maximumChunks: Int { 256 }

  struct Key: Hashable {
    var source: IPAddress
    var destination: IPAddress
    var identification: UInt32
    var ipProtocol: UInt8
    /// Tunnels around it: a datagram in fragments may carry another one that is in fragments, too.
    var depth: Int
  }

  /// What became of a fragment.
  enum Verdict {
    /// It made its datagram whole: `datagram` has it.
    case whole
    /// Kept until the rest comes.
    case held
    /// It cannot be kept.
    case dropped
    /// Its datagram carries nothing that is read.
    case unwanted
  }

  private struct Datagram {
    var bytes: [UInt8] = []
    /// Which bytes are there, as sorted ranges that do not touch.
    var present: [Range<Int>] = []
    var total: Int?
    var first: Timestamp
    /// Whether its first fragment told that nothing in it is read; it holds no bytes then.
    var isUnwanted = false
  }

  /// Told of what is held; at most a sixteenth of its limit is.
  var budget: MemoryBudget?
  private var held = 0 {
    didSet { budget?.held += held - oldValue }
  }
  private var waiting: [Key: Datagram] = [:]
  private var order = RingQueue<Key>()
  /// The last datagram that became whole, with `RawBuffer.slack` bytes behind it.
  private(set) var datagram: [UInt8] = []
  /// Datagrams given up before they were whole.
  private(set) var expired = 0
  /// Of those, the ones that were given up for want of room.
  private(set) var evicted: UInt64 = 0

  /// Adds `range` of the packet as the bytes at `offset` of the datagram.
  mutating func add(
    _ key: Key, _ packet: borrowing Bytes, _ range: Range<Int>, at offset: Int, isLast: Bool, _ now: Timestamp
  ) -> Verdict {
    expire(now)
    let end = offset + range.count
    guard end <= 65_535, !range.isEmpty else { return .dropped }
    if waiting[key] == nil { makeRoom(key) }
    // Taken out, so that nothing it holds is copied.
    var entry = waiting.removeValue(forKey: key) ?? Datagram(first: now)
    if offset == 0, !Tunnel.isRead(key.ipProtocol, packet, range) {
      held -= entry.bytes.count
      entry = Datagram(first: entry.first, isUnwanted: true)
    }
    guard !entry.isUnwanted, !isLast || entry.total == nil || entry.total == end,
      entry.present.count < Self.maximumChunks
    else {
      defer { waiting[key] = entry }
      return entry.isUnwanted ? .unwanted : .dropped
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
    guard let total = entry.total, entry.present == [0..<total] else {
      waiting[key] = entry
      return .held
    }
    held -= entry.bytes.count
    entry.bytes.removeSubrange(total...)
    entry.bytes += [UInt8](repeating: 0, count: RawBuffer.slack)
    datagram = entry.bytes
    return .whole
  }

  /// Makes room for a new datagram, and gives it its turn.
  private mutating func makeRoom(_ key: Key) {
    while waiting.count >= maximumDatagrams || held > (budget?.limit ?? .max) / 16, let old = dropOldest() {
      evicted += old.isUnwanted ? 0 : 1
    }
    // Keys of datagrams that became whole stay in it until their turn comes.
    if order.count > 4 * maximumDatagrams {
      var seen: Set<Key> = []
      order.removeAll { waiting[$0] == nil || !seen.insert($0).inserted }
    }
    order.append(key)
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
      guard now.time(since: entry.first) > patience else { break }
      dropOldest()
    }
  }

  @discardableResult
  private mutating func dropOldest() -> Datagram? {
    while let key = order.popFirst() {
      if let entry = waiting.removeValue(forKey: key) {
        held -= entry.bytes.count
        expired += entry.isUnwanted ? 0 : 1
        return entry
      }
    }
    return nil
  }
}

extension PacketParser {
  /// One fragment of an IPv4 datagram. Its payload is `header..<total` of the packet at `ip`, of which the bytes before
  /// `end` are there; `field` is that of its flags and its place in the datagram.
  @inline(never)
  mutating func ipv4Fragment(
    _ bytes: borrowing Bytes, at ip: Int, header: Int, total: Int, end: Int, field: UInt16,
    into segment: inout Segment
  ) -> Outcome {
    guard end - ip >= total else { return .skipped(.fragmentDropped) }
    let key = FragmentTable.Key(
      source: IPAddress(v4: bytes.u32(ip + 12)), destination: IPAddress(v4: bytes.u32(ip + 16)),
      identification: UInt32(bytes.u16(ip + 4)), ipProtocol: bytes.u8(ip + 9), depth: depth)
    guard
      key.ipProtocol == IPProtocol.tcp || key.ipProtocol == IPProtocol.authentication
        || Tunnel.carriesIP(key.ipProtocol)
    else { return .skipped(.notTCP) }
    let verdict = fragments.add(
      key, bytes, (ip + header)..<(ip + total), at: Int(field & 0x1fff) * 8, isLast: field & 0x2000 == 0,
      segment.timestamp)
    guard verdict == .whole else { return .skipped(verdict) }
    // A copy of its own, as what it carries may be the last fragment of another.
    let datagram = fragments.datagram
    let whole = Bytes(datagram.span.bytes)
    let count = datagram.count - RawBuffer.slack
    let payload = PayloadPlace(start: 0, wireEnd: count, end: count)
    let (source, destination) = (
      UInt32(truncatingIfNeeded: key.source.low), UInt32(truncatingIfNeeded: key.destination.low)
    )
    switch key.ipProtocol {
    case IPProtocol.tcp:
      return Self.reassembled(tcpOverIPv4(whole, payload, from: source, to: destination, into: &segment))
    case IPProtocol.authentication:
      return Self.reassembled(authenticated(whole, payload, from: source, to: destination, into: &segment))
    default: return Self.reassembled(other(whole, key.ipProtocol, 0, count, into: &segment))
    }
  }

  /// One fragment of an IPv6 datagram; its fragment header, eight bytes of which are there, is at the beginning of `rest`.
  mutating func ipv6Fragment(
    _ bytes: borrowing Bytes, _ rest: PayloadPlace, from source: IPAddress, to destination: IPAddress,
    into segment: inout Segment
  ) -> Outcome {
    // A fragment header behind a fragment header nests like a tunnel.
    guard depth < Self.maximumDepth else { return .skipped(.tooDeep) }
    depth += 1
    defer { depth -= 1 }
    let next = bytes.u8(rest.start)
    let field = bytes.u16(rest.start + 2)
    let payload = rest.from(rest.start + 8)
    if field & 0xfff9 == 0 {
      // An atomic fragment is a whole datagram (RFC 6946).
      return ipv6Payload(bytes, payload, kind: next, from: source, to: destination, into: &segment)
    }
    guard rest.end == rest.wireEnd else { return .skipped(.fragmentDropped) }
    guard next == IPProtocol.tcp || IPProtocol.isExtension(next) || Tunnel.carriesIP(next) else {
      return .skipped(.notTCP)
    }
    let key = FragmentTable.Key(
      source: source, destination: destination, identification: bytes.u32(rest.start + 4), ipProtocol: next,
      depth: depth)
    let verdict = fragments.add(
      key, bytes, payload.start..<payload.end, at: Int(field >> 3) * 8, isLast: field & 1 == 0, segment.timestamp)
    guard verdict == .whole else { return .skipped(verdict) }
    let datagram = fragments.datagram
    let count = datagram.count - RawBuffer.slack
    return Self.reassembled(
      ipv6Payload(
        Bytes(datagram.span.bytes), PayloadPlace(start: 0, wireEnd: count, end: count), kind: next, from: source,
        to: destination, into: &segment))
  }

  /// The outcome of what a whole datagram carries.
  private static func reassembled(_ outcome: Outcome) -> Outcome {
    outcome == .segment ? .reassembledSegment : outcome
  }
}

extension PacketParser.Outcome {
  /// A packet that is skipped because it is a fragment.
  fileprivate static func skipped(_ verdict: FragmentTable.Verdict) -> Self {
    switch verdict {
    case .whole, .held: .skipped(.fragmentHeld)
    case .dropped: .skipped(.fragmentDropped)
    case .unwanted: .skipped(.notTCP)
    }
  }
}
