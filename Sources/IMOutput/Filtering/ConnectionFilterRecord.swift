import IMEngine
package import IMFilter
package import IMMetrics
import IMWire

/// A connection as a `-Y` filter of `imdump streams` looks at it.
package struct ConnectionFilterRecord: FilterRecord {
  private let row: ListedConnection
  private let profiles: [String]

  /// A record of one connection; `profiles` are the names of the plans.
  package init(_ row: ListedConnection, profiles: [String]) { (self.row, self.profiles) = (row, profiles) }

  /// The value of a field, the `index`th where it has several; `nil` where it has none.
  package func value(of field: Int, at index: Int) -> FilterValue? {
    guard let field = ConnectionField(rawValue: field) else { return nil }
    let (client, server) = (row.info.client, row.info.server)
    switch field {
    case .ip: return index < 2 ? .address(index == 0 ? client.address : server.address) : nil
    case .port: return index < 2 ? .integer(Int64(index == 0 ? client.port : server.port)) : nil
    default: break
    }
    guard index == 0 else { return nil }
    switch field {
    case .conn: return .unsigned(UInt64(row.info.serial))
    case .start: return .time(row.firstSeen)
    case .durationMilliseconds: return Self.milliseconds(row.duration)
    case .clientIP: return .address(client.address)
    case .clientPort: return .integer(Int64(client.port))
    case .serverIP: return .address(server.address)
    case .serverPort: return .integer(Int64(server.port))
    case .tls: return .flag(row.isTLS)
    case .sawSyn: return .flag(row.sawSyn)
    case .end: return .word(Int(row.reason.rawValue))
    case .resetBy: return row.resetBy.map { .word(Int($0.rawValue)) }
    case .packets: return .unsigned(UInt64(row.packets[0]) + UInt64(row.packets[1]))
    case .packetsToServer: return .unsigned(UInt64(row.packets[0]))
    case .packetsToClient: return .unsigned(UInt64(row.packets[1]))
    case .bytes: return .unsigned(row.wireBytes[0] &+ row.wireBytes[1])
    case .bytesToServer: return .unsigned(row.wireBytes[0])
    case .bytesToClient: return .unsigned(row.wireBytes[1])
    case .handshakeMilliseconds: return row.handshake.flatMap(Self.milliseconds)
    case .ackToServer: return row.segments[0].roundTrips.mean.flatMap(Self.milliseconds)
    case .ackToClient: return row.segments[1].roundTrips.mean.flatMap(Self.milliseconds)
    case .retransmissions:
      return .unsigned(UInt64(row.segments[0].retransmissions) + UInt64(row.segments[1].retransmissions))
    case .gaps: return .unsigned(UInt64(row.gapCount))
    case .gapBytes: return .unsigned(row.gapBytes)
    case .messages: return decoded { UInt64(row.fates[$0].units) }
    case .lost: return decoded { row.fates[$0].lost }
    case .retries: return row.isDecoded ? .unsigned(UInt64(row.retries)) : nil
    case .rejected: return decoded { UInt64(row.fates[$0].rejected) }
    case .ip, .port, .profile, .sni: return nil
    }
  }

  /// Whether `test` takes the field's text.
  package func anyText(of field: Int, path: FilterPath, where test: (RawSpan) -> Bool) -> Bool {
    switch ConnectionField(rawValue: field) {
    case .profile: return row.profile(of: profiles).map { lend($0, test) } ?? false
    case .sni: return row.serverName.map { lend($0, test) } ?? false
    default: return false
    }
  }

  private static func milliseconds(_ time: Nanoseconds) -> FilterValue? { .real(Double(time.count) / 1_000_000) }

  /// A count of both directions; absent where nothing was decoded.
  private func decoded(_ read: (Int) -> UInt64) -> FilterValue? {
    row.isDecoded ? .unsigned(read(0) &+ read(1)) : nil
  }
}

extension ListedConnection {
  /// The name of the plan that decodes it, of `profiles`; `nil` where none does.
  func profile(of profiles: [String]) -> String? {
    isDecoded && Int(info.plan) < profiles.count ? profiles[Int(info.plan)] : nil
  }
}
