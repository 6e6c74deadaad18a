import IMEngine
package import IMMetrics
import IMWire

/// What a list of connections is sorted by: names and places the lowest first, counts and times the highest, which hurts most.
package enum ConnectionOrder: String, CaseIterable, Sendable {
  case conn, start, duration, client, server, `protocol`
  case bytes, bytesToServer = "c2s.bytes", bytesToClient = "s2c.bytes"
  case packets, packetsToServer = "c2s.packets", packetsToClient = "s2c.packets"
  case handshake, ackToServer = "c2s.ack_rtt", ackToClient = "s2c.ack_rtt"
  case retransmissions, gaps, gapBytes = "gap_bytes"
  case messages, lost, retries, rejected, end, problems

  /// Whether `a` comes before `b`; of equals, the connection that began first.
  package func areInOrder(_ a: ListedConnection, _ b: ListedConnection, profiles: [String]) -> Bool {
    func ordered<Key: Comparable>(_ key: (ListedConnection) -> Key) -> Bool {
      let (first, second) = (key(a), key(b))
      return first == second ? a.info.serial < b.info.serial : first < second
    }
    switch self {
    case .conn: return a.info.serial < b.info.serial
    case .start: return ordered { $0.firstSeen }
    case .client: return areInOrder(a, b) { $0.info.client }
    case .server: return areInOrder(a, b) { $0.info.server }
    case .protocol: return ordered { $0.label(profiles) ?? "\u{7f}" }
    case .end: return ordered { UInt16($0.reason.rawValue) << 8 | UInt16($0.resetBy?.rawValue ?? 0) }
    default:
      let (first, second) = (value(a), value(b))
      guard first != second else { return a.info.serial < b.info.serial }
      // What is not known comes last.
      return first.map { first in second.map { first > $0 } ?? true } ?? false
    }
  }

  private func areInOrder(
    _ a: ListedConnection, _ b: ListedConnection, _ end: (ListedConnection) -> Endpoint
  ) -> Bool {
    let (first, second) = (end(a), end(b))
    guard first != second else { return a.info.serial < b.info.serial }
    func isLess(_ a: UInt64, _ b: UInt64) -> Bool? { a == b ? nil : a < b }
    return isLess(first.address.isIPv6 ? 1 : 0, second.address.isIPv6 ? 1 : 0)
      ?? isLess(first.address.high, second.address.high) ?? isLess(first.address.low, second.address.low)
      ?? (first.port < second.port)
  }

  /// The count, or the time in nanoseconds, that is compared; `nil` where it is not known.
  private func value(_ row: ListedConnection) -> UInt64? {
    func sum(_ read: (Int) -> UInt64) -> UInt64 { read(0) &+ read(1) }
    func time(_ time: Nanoseconds?) -> UInt64? { time.map { UInt64(clamping: $0.count) } }
    switch self {
    case .duration: return time(row.duration)
    case .bytes: return sum { row.wireBytes[$0] }
    case .bytesToServer: return row.wireBytes[0]
    case .bytesToClient: return row.wireBytes[1]
    case .packets: return sum { UInt64(row.packets[$0]) }
    case .packetsToServer: return UInt64(row.packets[0])
    case .packetsToClient: return UInt64(row.packets[1])
    case .handshake: return time(row.handshake)
    case .ackToServer: return time(row.segments[0].roundTrips.mean)
    case .ackToClient: return time(row.segments[1].roundTrips.mean)
    case .retransmissions: return sum { UInt64(row.segments[$0].retransmissions) }
    case .gaps: return UInt64(row.gapCount)
    case .gapBytes: return row.gapBytes
    case .messages: return row.isDecoded ? sum { UInt64(row.fates[$0].units) } : nil
    case .lost: return row.isDecoded ? sum { row.fates[$0].lost } : nil
    case .retries: return row.isDecoded ? UInt64(row.retries) : nil
    case .rejected: return row.isDecoded ? sum { UInt64(row.fates[$0].rejected) } : nil
    case .problems: return row.problems
    case .conn, .start, .client, .server, .protocol, .end: return nil
    }
  }
}

extension ListedConnection {
  /// What it carries, as lists say it: `tjp`, `TLS chat.example.com`, `TLS 1.3`; `nil` where that is not known.
  package func label(_ profiles: [String]) -> String? {
    if let serverName { return "TLS \(serverName)" }
    return tlsVersion ?? (isTLS ? "TLS" : profile(of: profiles))
  }
}
