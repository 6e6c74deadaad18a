import IMWire

/// The last packets of one direction, by which a packet that was captured twice is told from a retransmission.
///
/// A capture on several interfaces sees the same packet on each, microseconds apart. The copies agree in the whole TCP
/// header, options and checksum included, and in the identification of their IPv4 header; a retransmission has at least
/// another identification or timestamp, and comes later than the patience of `RecentSegments.Memory`, which is the engine's.
struct RecentPackets {
  private static var capacity: Int { 32 }

  private struct Entry {
    var print: UInt64
    var time: Timestamp
  }

  private var entries: [Entry] = []
  private var next = 0

  /// Remembers `segment`; true when it is a copy of one remembered.
  mutating func isCopy(_ segment: Segment, _ bytes: borrowing Bytes) -> Bool {
    let print = Self.print(segment, bytes)
    let time = segment.timestamp
    let patience =
      segment.identification == 0
      ? RecentSegments.Memory.patienceWithoutIdentifier : RecentSegments.Memory.patience
    if entries.contains(where: { $0.print == print && (0...patience).contains(time.nanoseconds(since: $0.time)) }) {
      return true
    }
    let entry = Entry(print: print, time: time)
    if entries.count < Self.capacity {
      entries.append(entry)
    } else {
      entries[next] = entry
      next = (next + 1) % Self.capacity
    }
    return false
  }

  /// A number made of the TCP header, the payload's length and the identification (FNV-1a). Copies behind address
  /// translation are of another stream, so that ports and addresses need not be left out.
  private static func print(_ segment: Segment, _ bytes: borrowing Bytes) -> UInt64 {
    var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    func mix(_ value: UInt64) { hash = (hash ^ value) &* 0x0000_0100_0000_01b3 }
    let header = segment.options.lowerBound - 20
    for position in header..<segment.options.upperBound { mix(UInt64(bytes.u8(position))) }
    mix(UInt64(truncatingIfNeeded: segment.payloadCount + segment.cutCount))
    mix(UInt64(segment.identification))
    return hash
  }
}
