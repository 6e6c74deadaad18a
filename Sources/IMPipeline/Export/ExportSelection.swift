import IMEngine
import IMWire

/// Says of a packet whether it is exported: by the connection that it belongs to, and by its time.
struct ExportSelection: ~Copyable {
  private struct Span {
    let firstSeen: Timestamp
    let opening: Timestamp
    let isWanted: Bool
  }

  /// The connections between two ends, by the time at which they began: ports are used again.
  private var spans: [EndpointPair: [Span]] = [:]
  private let range: ExportRange?
  private var finder = EndpointFinder()
  /// Connections that are wanted.
  private(set) var count = 0

  init(_ connections: [ExportSink.Connection], wanted: (ExportSink.Connection) -> Bool, range: ExportRange?) {
    self.range = range
    for connection in connections.sorted(by: { ($0.firstSeen, $0.serial) < ($1.firstSeen, $1.serial) }) {
      let isWanted = wanted(connection)
      if isWanted { count += 1 }
      spans[connection.ends, default: []].append(
        Span(firstSeen: connection.firstSeen, opening: connection.opening, isWanted: isWanted))
    }
  }

  /// Whether a packet is wanted. All packets of the capture have to be asked for, in their order.
  mutating func includes(_ record: PacketRecord, _ bytes: RawSpan) -> Bool {
    switch finder.place(bytes, record) {
    // Whose it is shows when its datagram is whole, which is too late.
    case .fragment: return count > 0
    case .other: return false
    case .ends(let one, let other):
      guard let spans = spans[EndpointPair(one, other)] else { return false }
      let time = record.timestamp
      let span = spans.last { $0.firstSeen <= time } ?? spans[0]
      guard span.isWanted else { return false }
      return range?.contains(time) ?? true || time <= span.opening
    }
  }
}
