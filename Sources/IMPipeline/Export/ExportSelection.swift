import IMEngine
import IMWire

/// Says of a packet whether it is exported: by the connection that it belongs to, and by its time.
struct ExportSelection: ~Copyable {
  struct Span {
    let firstSeen: Timestamp
    let opening: Timestamp
    let isWanted: Bool
    /// The connection's number, and its client's end.
    let serial: UInt32
    let client: Endpoint
  }

  /// The connections between two ends, by the time at which they began: ports are used again.
  private var spans: [EndpointPair: [Span]] = [:]
  private let range: ExportRange?
  private var finder = EndpointFinder()
  /// The numbers of the connections that are wanted.
  private(set) var wanted: Set<UInt32> = []
  /// How many they are.
  var count: Int { wanted.count }

  init(_ connections: [ExportSink.Connection], wanted: (ExportSink.Connection) -> Bool, range: ExportRange?) {
    self.range = range
    for connection in connections.sorted(by: { ($0.firstSeen, $0.serial) < ($1.firstSeen, $1.serial) }) {
      let isWanted = wanted(connection)
      if isWanted { self.wanted.insert(connection.serial) }
      spans[connection.ends, default: []].append(
        Span(
          firstSeen: connection.firstSeen, opening: connection.opening, isWanted: isWanted, serial: connection.serial,
          client: connection.client))
    }
  }

  /// Whether a packet is wanted. All packets of the capture have to be asked for, in their order.
  mutating func includes(_ record: PacketRecord, _ bytes: RawSpan) -> Bool {
    switch finder.place(bytes, record) {
    // Whose it is shows when its datagram is whole, which is too late.
    case .fragment: return count > 0
    case .other: return false
    case .ends(let one, let other): return span(EndpointPair(one, other), record.timestamp) != nil
    }
  }

  /// Whether a connection is among those that are wanted.
  func wants(_ serial: UInt32) -> Bool { wanted.contains(serial) }

  /// The wanted connection of a packet of that time between two ends.
  func span(_ ends: EndpointPair, _ time: Timestamp) -> Span? {
    guard let spans = spans[ends] else { return nil }
    let span = spans.last { $0.firstSeen <= time } ?? spans[0]
    guard span.isWanted, range?.contains(time) ?? true || time <= span.opening else { return nil }
    return span
  }
}
