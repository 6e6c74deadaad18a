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
/// A fixed table over the whole capture: 2,048 pairs of places, each of which keeps the last two segments that fell on it. With one
/// place instead of two, one copy in 2,000 was missed of those with a packet or two between them and their first. It holds no payload.
/// What it misses, it misses silently; what it finds is certain but for a collision of 2⁻³².
struct RecentSegments: ~Copyable {
  /// What is remembered of one segment: the upper half of `key` names it, the lower half is the sum of its payload.
  private struct Place {
    var key: UInt64
    var print: SegmentPrint
    /// In ticks of 2¹⁶ ns, which come round after 3.2 days.
    var time: UInt32
  }

  /// What was remembered of a segment.
  struct Memory {
    /// The sum of its payload, or of the window and options of a segment without; 0 where sums are not made.
    var sum: UInt32
    var print: SegmentPrint
    /// The time from it to the segment that is compared with it, to 0.07 ms.
    var age: Nanoseconds
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

  /// The places, pair by pair, the newer one first.
  private let places: UnsafeMutablePointer<Place>
  private static var pairs: Int { 2_048 }

  init() {
    places = .allocate(capacity: 2 * Self.pairs)
    places.initialize(
      repeating: Place(key: 0, print: SegmentPrint(), time: 0), count: 2 * Self.pairs)
  }

  deinit { places.deallocate() }

  /// The first place of a segment's pair, and the upper half of its key.
  @inline(__always)
  private func place(_ serial: UInt32, _ side: Int, _ number: UInt32, _ count: Int) -> (Int, UInt64) {
    let h =
      (UInt64(serial) << 33 | UInt64(UInt(bitPattern: side)) << 32 | UInt64(number))
      &* GoldenRatio.of64Bits &+ UInt64(UInt(bitPattern: count)) &* 0xD1B5_4A32_D192_ED03
    return (2 &* (Int(truncatingIfNeeded: h >> 48) & (Self.pairs - 1)), h << 16 & 0xffff_ffff_0000_0000)
  }

  @inline(__always)
  private static func ticks(_ time: Timestamp) -> UInt32 { UInt32(truncatingIfNeeded: time.nanoseconds >> 16) }

  /// Remembers a segment of connection `serial` by its name.
  @inline(__always)
  func remember(_ serial: UInt32, _ segment: UnsafePointer<Segment>, _ name: Name) {
    let (number, count) = name.parts
    remember(serial, segment, number, count, sum: segment.pointee.payloadSum ?? 0)
  }

  /// Remembers a segment by its number and length, whose payload had the sum `sum` when it first came.
  @inline(__always)
  func remember(_ serial: UInt32, _ segment: UnsafePointer<Segment>, _ number: UInt32, _ count: Int, sum: UInt32) {
    let (i, tag) = place(serial, segment.pointee.side, number, count)
    places[i &+ 1] = places[i]
    places[i] = Place(
      key: tag | UInt64(sum), print: SegmentPrint(segment),
      time: Self.ticks(segment.pointee.timestamp))
  }

  /// What is remembered of the same stretch, if it is still there.
  @inline(__always)
  func recall(_ serial: UInt32, _ segment: UnsafePointer<Segment>, _ name: Name) -> Memory? {
    let (number, count) = name.parts
    let (i, tag) = place(serial, segment.pointee.side, number, count)
    func isNamed(_ place: Place) -> Bool { place.key != 0 && place.key & 0xffff_ffff_0000_0000 == tag }
    let found = isNamed(places[i]) ? places[i] : places[i &+ 1]
    guard isNamed(found) else { return nil }
    let ticks = Self.ticks(segment.pointee.timestamp).distance(from: found.time)
    return Memory(sum: UInt32(truncatingIfNeeded: found.key), print: found.print, age: Nanoseconds(Int64(ticks) << 16))
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
    guard other.identification == print.identification else { return false }
    let isSame = segment.pointee.payloadSum ?? 0 == sum
    // With other bytes it is none, whatever its checksum says: somebody can make two payloads of one checksum.
    if segment.pointee.payloadCount > 0, sum != 0, segment.pointee.payloadSum != nil, !isSame { return false }
    if other.identification == 0 { return isSame && other == print && distance <= Self.patienceWithoutIdentifier }
    return (isSame || other == print) && distance <= Self.patience
  }
}
