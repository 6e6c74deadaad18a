import IMEngine
import IMRun
import IMWire

/// Says of a packet whether it is exported: by the connection that it belongs to, and by its time.
final class ExportSelection {
  /// A connection between two ends.
  struct Span {
    let ends: EndpointPair
    let firstSeen: Timestamp
    let opening: Timestamp
    /// The sequence numbers of its streams' first bytes, the client's first.
    let firstSequences: (UInt32?, UInt32?)
    /// How far each direction has come, which tells which of the many places with a sequence number is meant.
    var reached: (Int64, Int64) = (0, 0)
    /// The connection's number.
    let serial: UInt32
    let isWanted: Bool
    /// Whether the client is the lower one of `ends`.
    let clientIsLower: Bool

    /// Whether an end is the client's.
    func isClient(_ end: Endpoint) -> Bool { ends.begins(with: end) == clientIsLower }
  }

  /// The connections by the ends that they are between, and by the time at which they began: ports are used again.
  @exclusivity(unchecked) private var spans: [Span] = []
  /// Where in `spans` a connection between two ends is, by their hash, and 1 more; 0 for nowhere. At first it is the first one, then the
  /// one that was asked for last.
  @exclusivity(unchecked) private var slots: [UInt32]
  private let seed = UInt64.random(in: .min ... .max)
  private let range: TimeRange?
  @exclusivity(unchecked) private var finder = EndpointFinder()
  /// How many are wanted.
  private(set) var count = 0
  /// Those that are wanted, by their numbers.
  private var wanted = NumberTable<Void>()

  init(_ connections: [ExportSink.Connection], wanted: (ExportSink.Connection) -> Bool, range: TimeRange?) {
    self.range = range
    var capacity = 64
    while capacity < 2 * connections.count { capacity *= 2 }
    slots = [UInt32](repeating: 0, count: capacity)
    spans.reserveCapacity(connections.count)
    for connection in connections {
      let isWanted = wanted(connection)
      if isWanted {
        count += 1
        self.wanted.insert((), connection.serial)
      }
      spans.append(
        Span(
          ends: connection.ends, firstSeen: connection.firstSeen, opening: connection.opening,
          firstSequences: connection.firstSequences, serial: connection.serial, isWanted: isWanted,
          clientIsLower: connection.ends.begins(with: connection.client)))
    }
    spans.sort { ($0.ends, $0.firstSeen, $0.serial) < ($1.ends, $1.firstSeen, $1.serial) }
    for (i, span) in spans.enumerated() where i == 0 || spans[i - 1].ends != span.ends {
      slots[slot(span.ends)] = UInt32(i + 1)
    }
  }

  /// About how many bytes of memory it takes.
  var byteCount: Int { spans.count * MemoryLayout<Span>.stride + slots.count * 4 + wanted.count * 32 }

  /// Where two ends are in `slots`, or would be.
  private func slot(_ ends: EndpointPair) -> Int {
    var slot = Int(truncatingIfNeeded: ends.hash(seed)) & (slots.count - 1)
    while slots[slot] != 0, spans[Int(slots[slot]) - 1].ends != ends { slot = (slot + 1) & (slots.count - 1) }
    return slot
  }

  /// Whether a packet is wanted. All packets of the capture have to be asked for, in their order.
  func includes(_ record: PacketRecord, _ bytes: RawSpan) -> Bool {
    switch finder.place(bytes, record) {
    // Whose it is shows when its datagram is whole, which is too late.
    case .fragment: return count > 0
    case .other: return false
    case .ends(let one, let other): return place(EndpointPair(one, other), record.timestamp) != nil
    }
  }

  /// Whether all connections of the capture are, at whatever time.
  var wantsAll: Bool { range == nil && count == spans.count }

  /// Whether a connection is among those that are wanted.
  func wants(_ serial: UInt32) -> Bool { wanted[serial] != nil }

  /// Where the wanted connection of a packet of that time between two ends is.
  func place(_ ends: EndpointPair, _ time: Timestamp) -> Int? {
    let slot = slot(ends)
    guard slots[slot] != 0 else { return nil }
    // From the one of the packet before: times go on, as a rule.
    var place = Int(slots[slot]) - 1
    while place + 1 < spans.count, spans[place + 1].firstSeen <= time, spans[place + 1].ends == ends { place += 1 }
    while place > 0, spans[place].firstSeen > time, spans[place - 1].ends == ends { place -= 1 }
    slots[slot] = UInt32(place + 1)
    guard spans[place].isWanted, range?.contains(time) ?? true || time <= spans[place].opening else { return nil }
    return place
  }

  /// The number of the connection at a place, and whether a packet from `source` travels from its server.
  func connection(_ place: Int, from source: Endpoint) -> (serial: UInt32, isBack: Bool) {
    (spans[place].serial, !spans[place].isClient(source))
  }

  /// The place in its stream of a segment with bytes, of the connection at `place`.
  func offset(_ sequence: UInt32, _ place: Int, isBack: Bool) -> Int64 {
    let first = isBack ? spans[place].firstSequences.1 : spans[place].firstSequences.0
    guard let first else { return 0 }
    let near = isBack ? spans[place].reached.1 : spans[place].reached.0
    let distance = Int64(sequence.distance(from: first &+ UInt32(truncatingIfNeeded: near)))
    let offset = near + distance
    // What is far away belongs to no stream, and must not lead others astray.
    if abs(distance) < 1 << 30 {
      if isBack {
        spans[place].reached.1 = max(near, offset)
      } else {
        spans[place].reached.0 = max(near, offset)
      }
    }
    return offset
  }
}
