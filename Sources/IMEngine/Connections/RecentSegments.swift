import IMWire

/// What of a segment is compared with its copies, beside its place in the stream.
///
///      0                 16                32
///     +-----------------+-----------------+
///     | IPv4 identifier | TCP checksum    |   as they travel; the identifier is 0 for IPv6
///     +-----------------+-----------------+
struct SegmentPrint: Equatable {
  var rawValue: UInt32

  /// A segment's print.
  @inline(__always)
  init(_ segment: UnsafePointer<Segment>) {
    rawValue = UInt32(segment.pointee.identification) << 16 | UInt32(segment.pointee.checksumField)
  }

  /// No print.
  init() { rawValue = 0 }

  @inline(__always)
  var identification: UInt16 { UInt16(truncatingIfNeeded: rawValue >> 16) }
}

/// Segments seen lately: by them a retransmission with other bytes is noticed after the first copy was delivered and
/// forgotten, and a packet that was captured twice is told from one that was sent twice.
///
/// It remembers every segment for `lifetime`, however many other connections send: what it answers of a connection depends on
/// that connection's packets alone. A ring holds the segments in the order in which they came, and a table of chains leads to
/// them by name. The ring doubles while its oldest segment is younger than `lifetime`; at its limit the oldest one goes. It holds
/// no payload. What it finds is certain but for a collision of 2⁻³².
struct RecentSegments: ~Copyable {
  /// What is remembered of one segment: the upper half of `key` names it, the lower half is the sum of its payload.
  private struct Entry {
    var key: UInt64
    var print: SegmentPrint
    /// In ticks of 2¹⁶ ns, which come round after 3.2 days.
    var time: UInt32
    /// The number of the entry before it in its chain.
    var previous: UInt32
    /// The length of its payload, which does not name it: it may be sent again in other pieces.
    var count: UInt32
  }

  /// How long a segment is remembered: longer than the first retransmissions of a segment take. Of later ones the age is known
  /// otherwise, see `Reassembler.age`.
  static var lifetime: Nanoseconds { .seconds(4) }
  /// Entries of a chain that are looked at: chains are short but for names that were chosen to collide.
  private static var chainLimit: Int { 16 }
  private static var leastCapacity: Int { 4_096 }

  /// What was remembered of a segment.
  struct Memory {
    /// The sum of its payload, or of the window and options of a segment without; 0 where sums are not made.
    var sum: UInt32
    var print: SegmentPrint
    /// The time from it to the segment that is compared with it, to 0.07 ms.
    var age: Nanoseconds
    /// Whether it has the length of the segment that is compared with it.
    var hasSameLength: Bool
  }

  /// Which number names a segment. Those without payload are not told by their sequence number.
  enum Name {
    /// The sequence number of the payload and its length.
    case payload(UInt32, Int)
    /// The sequence and acknowledgment numbers of a segment that carries nothing.
    case acknowledgment(UInt32, UInt32)
    /// The sequence number of a SYN, FIN or reset, and its flags.
    case control(UInt32, TCPFlags)

    @inline(__always)
    fileprivate var parts: (UInt32, Int) {
      switch self {
      case .payload(let sequence, let count): (sequence, count)
      case .acknowledgment(let sequence, let number): (number &+ sequence &* GoldenRatio.of32Bits, -1)
      case .control(let sequence, let flags): (sequence, -2 &- Int(flags.rawValue))
      }
    }
  }

  /// The ring: the entry with number n is at n modulo the capacity.
  private var entries: UnsafeMutablePointer<Entry>
  /// The number of the newest entry of each chain. A number that is no longer in the ring ends its chain.
  private var heads: UnsafeMutablePointer<UInt32>
  private var capacity = leastCapacity
  /// The capacity beyond which it does not grow.
  private let limit: Int
  /// The number of the next entry. It comes round after 2³² segments.
  private var next: UInt32 = 1

  /// A memory of at most about a hundredth of `memory` bytes, and of 7 MB.
  init(memory: Int) {
    var limit = Self.leastCapacity
    while limit < 1 << 18, limit &* 2 &* (MemoryLayout<Entry>.stride + 4) <= memory / 64 { limit *= 2 }
    self.limit = limit
    entries = Self.emptyRing(capacity)
    heads = .allocate(capacity: capacity)
    heads.initialize(repeating: 0, count: capacity)
  }

  deinit {
    entries.deallocate()
    heads.deallocate()
  }

  private static func emptyRing(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
    let entries = UnsafeMutablePointer<Entry>.allocate(capacity: capacity)
    entries.initialize(repeating: Entry(key: 0, print: SegmentPrint(), time: 0, previous: 0, count: 0), count: capacity)
    return entries
  }

  /// The upper half of the key of a segment.
  @inline(__always)
  private static func tag(_ serial: UInt32, _ side: Int, _ number: UInt32, _ count: Int) -> UInt32 {
    let h =
      (UInt64(serial) << 33 | UInt64(UInt(bitPattern: side)) << 32 | UInt64(number))
      &* GoldenRatio.of64Bits &+ UInt64(UInt(bitPattern: min(0, count))) &* 0xD1B5_4A32_D192_ED03
    return UInt32(truncatingIfNeeded: h >> 32)
  }

  @inline(__always)
  private static func ticks(_ time: Timestamp) -> UInt32 { UInt32(truncatingIfNeeded: time.nanoseconds >> 16) }

  /// `lifetime` in ticks.
  private static var lifetimeTicks: Int { Int(lifetime.count >> 16) }

  /// The place of an entry in the ring, and the head of a name's chain.
  @inline(__always)
  private func index(_ number: UInt32) -> Int { Int(number) & (capacity &- 1) }
  @inline(__always)
  private func head(_ tag: UInt32) -> UnsafeMutablePointer<UInt32> { heads + (Int(tag >> 14) & (capacity &- 1)) }

  /// Remembers a segment of connection `serial` by its name.
  @inline(__always)
  mutating func remember(_ serial: UInt32, _ segment: UnsafePointer<Segment>, _ name: Name) {
    let (number, count) = name.parts
    remember(serial, segment, number, count, sum: segment.pointee.payloadSum ?? 0)
  }

  /// Remembers a segment by its number and length, whose payload had the sum `sum` when it first came.
  @inline(__always)
  mutating func remember(
    _ serial: UInt32, _ segment: UnsafePointer<Segment>, _ number: UInt32, _ count: Int, sum: UInt32
  ) {
    let tag = Self.tag(serial, segment.pointee.side, number, count)
    let now = Self.ticks(segment.pointee.timestamp)
    if capacity < limit, isYoung(entries[index(next)], now) { grow() }
    let head = head(tag)
    entries[index(next)] = Entry(
      key: UInt64(tag) << 32 | UInt64(sum), print: SegmentPrint(segment), time: now, previous: head.pointee,
      count: UInt32(truncatingIfNeeded: count))
    head.pointee = next
    next &+= 1
  }

  /// Whether the entry that would be overwritten must be kept.
  @inline(__always)
  private func isYoung(_ entry: Entry, _ now: UInt32) -> Bool {
    abs(now.distance(from: entry.time)) <= Self.lifetimeTicks && entry.key != 0
  }

  /// Doubles the ring.
  @inline(never)
  private mutating func grow() {
    let (old, oldCapacity) = (entries, capacity)
    capacity *= 2
    entries = Self.emptyRing(capacity)
    heads.deallocate()
    heads = .allocate(capacity: capacity)
    heads.initialize(repeating: next &- UInt32(truncatingIfNeeded: capacity) &- 1, count: capacity)
    for age in stride(from: oldCapacity, to: 0, by: -1) {
      let number = next &- UInt32(truncatingIfNeeded: age)
      var entry = old[Int(number) & (oldCapacity - 1)]
      let head = head(UInt32(truncatingIfNeeded: entry.key >> 32))
      entry.previous = head.pointee
      entries[index(number)] = entry
      head.pointee = number
    }
    old.deallocate()
  }

  /// What is remembered of the newest segment of this name, one of the same length before others, where it is not older than
  /// `lifetime`.
  @inline(__always)
  func recall(_ serial: UInt32, _ segment: UnsafePointer<Segment>, _ name: Name) -> Memory? {
    let (number, count) = name.parts
    let tag = Self.tag(serial, segment.pointee.side, number, count)
    var at = head(tag).pointee
    var distance = 0
    var found: Memory?
    for _ in 0..<Self.chainLimit {
      // Each entry of a chain is older than the one that leads to it.
      let further = Int(next &- at)
      guard further > distance, further <= capacity else { break }
      distance = further
      let entry = entries[index(at)]
      if UInt32(truncatingIfNeeded: entry.key >> 32) == tag, entry.key != 0 {
        let ticks = Self.ticks(segment.pointee.timestamp).distance(from: entry.time)
        guard abs(ticks) <= Self.lifetimeTicks else { break }
        let memory = Memory(
          sum: UInt32(truncatingIfNeeded: entry.key), print: entry.print, age: Nanoseconds(Int64(ticks) << 16),
          hasSameLength: entry.count == UInt32(truncatingIfNeeded: count))
        if memory.hasSameLength { return memory }
        found = found ?? memory
      }
      at = entry.previous
    }
    return found
  }
}

extension Segment {
  /// Puts what tells a segment without payload from its like in the place of the payload's sum.
  ///
  /// The last options are a clock or a block. Where there are none, only a packet of the other side between two equal
  /// acknowledgments tells that both were sent; `peerPackets` counts those.
  mutating func markAcknowledgment(_ bytes: borrowing Bytes, peerPackets: UInt32) {
    payloadSum =
      UInt32(window) << 16
      ^ (options.isEmpty
        ? peerPackets : bytes.u32(options.upperBound &- 8) ^ bytes.u32(options.upperBound &- 4))
  }
}

extension RecentSegments.Name {
  /// The name of a segment without payload: by the identification too, so that acknowledgments which repeat one another are
  /// remembered apart.
  init(ofAcknowledgment segment: UnsafePointer<Segment>) {
    self = .acknowledgment(
      segment.pointee.sequence ^ UInt32(segment.pointee.identification) << 16, segment.pointee.acknowledgment)
  }
}

extension RecentSegments.Memory {
  /// How far copies of a packet with an identifier are apart, and of one without, in nanoseconds.
  ///
  /// A mirror port or a second interface adds the time that a switch or a bridge needs. An identifier of its own is given
  /// to every packet that is sent, also when its segment was sent before. Where it is 0, the checksum decides, which has
  /// the sender's clock in it; the shorter time is below what it takes to notice a loss.
  static var patience: Nanoseconds { .milliseconds(10) }
  static var patienceWithoutIdentifier: Nanoseconds { .milliseconds(3) }

  /// Whether it is `segment` itself, captured twice.
  ///
  /// Not part of it: the link header, the hop limit, and the address of whoever sent it on. The checksum may differ where one
  /// capture point comes before the network card that fills it in, when identifier and payload are the same.
  func isCopy(of segment: UnsafePointer<Segment>) -> Bool {
    let other = SegmentPrint(segment)
    let distance = Nanoseconds(abs(age.count))
    guard hasSameLength, other.identification == print.identification else { return false }
    let isSame = segment.pointee.payloadSum ?? 0 == sum
    // With other bytes it is none, whatever its checksum says: somebody can make two payloads of one checksum.
    if segment.pointee.payloadCount > 0, sum != 0, segment.pointee.payloadSum != nil, !isSame { return false }
    if other.identification == 0 { return isSame && other == print && distance <= Self.patienceWithoutIdentifier }
    return (isSame || other == print) && distance <= Self.patience
  }
}
