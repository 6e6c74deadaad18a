import IMOutput
import IMStore
import IMTerminal
import IMWire

/// The lists of connections and of types.
extension Browser {
  private static func count(_ value: Int64, _ color: Style.Colour? = nil) -> (String, Style) {
    let text = grouped(UInt64(max(0, value)))
    return (text, value > 0 ? color.map { Style($0) } ?? .plain : Style(.faint))
  }

  /// Puts the titles and the visible rows of a list, and beneath them why nothing was decoded, where that is so.
  func putTable<Item, ID>(_ list: SelectableList<Item, ID>, _ columns: [Column<Item>], _ grid: inout Grid) {
    let layout = ColumnLayout(columns, width: grid.width)
    layout.putTitles(&grid, row: listTop - 1)
    for (i, index) in list.visible.enumerated() {
      layout.put(list.items[index], &grid, row: listTop + i)
      if index == list.index { select(&grid, row: listTop + i) }
    }
    putUnread(&grid, below: list.visible.count)
  }

  // MARK: Connections

  mutating func putConnections(_ grid: inout Grid) {
    connections.rows.resize(beginList(&grid))
    putTable(connections.rows, connectionColumns, &grid)
    if let connection = connections.rows.selected {
      putPreview(
        &grid, "connection #\(connection.id): latest problems",
        none: connection.profile == nil ? Self.undecoded(connection) : "no problems")
    }
  }

  /// Why a connection has no messages.
  static func undecoded(_ connection: StoredConnection) -> String {
    switch connection.state {
    case "refused": "refused: a reset answered the SYN"
    case "timeout": "timed out: nothing answered the SYN"
    default: "not decoded" + (connection.label.map { ": \($0)" } ?? "")
    }
  }

  /// The protocol of a connection, and what carries it.
  private static func protocolText(_ connection: StoredConnection) -> String {
    let carriers = connection.profile == nil ? [] : connection.carrier.map(DetailWords.carriers) ?? []
    return ([connection.label ?? "-"] + carriers).joined(separator: "/")
  }

  private var connectionColumns: [Column<StoredConnection>] {
    let zone = zone
    // Names of servers come from the traffic: a long one leaves room for the other columns.
    let widest = min(60, connections.rows.items.map { cells(Self.protocolText($0)) }.max() ?? 0)
    let client = connections.rows.items.reduce(0) { max($0, $1.client.utf8.count) }
    let server = connections.rows.items.reduce(0) { max($0, $1.server.utf8.count) }
    let hasOneWay = totals.oneWay > 0
    // Where nothing is decoded, endpoints and protocol matter more than unknown counts.
    let isRead = totals.connections.all == 0 || totals.connections.undecoded < totals.connections.all
    func counted(_ count: KeyPath<StoredConnection, Int64>, _ colour: Style.Colour? = nil) -> (StoredConnection) -> (
      String, Style
    ) {
      { $0.profile == nil ? ("-", Style(.faint)) : Self.count($0[keyPath: count], colour) }
    }
    func clock(_ time: Timestamp?) -> (String, Style) {
      (time.map { String(MessageItem.clock($0, zone).prefix(8)) } ?? "-", .plain)
    }
    func bytes(_ count: Int64?) -> (String, Style) {
      (count.map { grouped(UInt64(max(0, $0))) } ?? "-", .plain)
    }
    func end(_ connection: StoredConnection) -> (String, Style) {
      switch connection.state {
      case "closed": ("fin", .plain)
      case "reset": ("rst" + (connection.resetBy.map { " " + $0 } ?? ""), Style(.warning))
      case "refused": ("refused", Style(.alarm))
      case "timeout": ("timeout", Style(.alarm))
      // What follows a FIN of one side only may be anything.
      case "half": ("open", .plain)
      default: (connection.state, .plain)
      }
    }
    return [
      Column(title: "", width: 1, priority: 0) { connection in
        connection.lost > 0 || connection.rejected > 0
          ? ("!", Style(.alarm, .bold)) : (connection.retries > 0 ? "R" : " ", Style(.warning, .bold))
      },
      Column(title: "#", width: 5, isRight: true, priority: 0) { ("\($0.id)", Style(.faint)) },
      Column(title: "start", width: 8, priority: isRead ? 6 : 5) { clock($0.first) },
      Column(title: "client", width: 19, longest: client, priority: 1) { ($0.client, Style(.name)) },
      Column(title: "server", width: 18, longest: server, priority: isRead ? 9 : 3) { ($0.server, .plain) },
      Column(
        title: "protocol", width: isRead ? 8 : min(20, max(8, widest)), longest: widest, priority: isRead ? 5 : 2
      ) { (Self.protocolText($0), .plain) },
      Column(title: "end", width: 7, priority: 4) { end($0) },
      Column(title: "msgs", width: 6, isRight: true, priority: isRead ? 2 : 16, text: counted(\.messages)),
      Column(title: "one-way", width: 7, isRight: true, isShown: hasOneWay, priority: 8, text: counted(\.oneWay)),
      Column(title: "retry", width: 5, isRight: true, priority: isRead ? 7 : 18, text: counted(\.retries, .warning)),
      Column(title: "lost", width: 5, isRight: true, priority: isRead ? 3 : 17, text: counted(\.lost, .alarm)),
      Column(
        title: "rejected", width: 8, isRight: true, priority: isRead ? 10 : 19, text: counted(\.rejected, .alarm)),
      Column(
        title: "hb missed", width: 9, isRight: true, priority: isRead ? 11 : 20,
        text: counted(\.lostHeartbeats, .warning)),
      Column(title: "retrans", width: 7, isRight: true, priority: 12) { Self.count($0.retransmissions, .warning) },
      Column(title: "bytes c2s", width: 10, isRight: true, priority: 13) { bytes($0.bytesToServer) },
      Column(title: "bytes s2c", width: 10, isRight: true, priority: 13) { bytes($0.bytesToClient) },
      Column(title: "handshake", width: 9, isRight: true, priority: 14) {
        ($0.handshake.map(Words.shortLength) ?? "-", .plain)
      },
      Column(title: "last", width: 8, priority: 15) { clock($0.last) },
    ]
  }

  // MARK: Types

  mutating func putTypes(_ grid: inout Grid) {
    types.rows.resize(beginList(&grid))
    putTable(types.rows, typeColumns, &grid)
    if types.found?.topics.isEmpty == true, types.rows.items.count < types.rows.height {
      grid.put(
        totals.keepsPayload ? " no topics" : " topics are off (--payload)",
        row: listTop + types.rows.items.count, column: 0, style: Style(.faint))
    }
    if let type = types.rows.selected { putPreview(&grid, "\(type.name): latest problems", none: "no problems") }
  }

  private var typeColumns: [Column<StoredTypeCount>] {
    func trip(_ microseconds: Int64?) -> (String, Style) { (microseconds.map(Words.shortLength) ?? "-", .plain) }
    let hasOneWay = totals.oneWay > 0
    let hasTopics = types.found?.topics.isEmpty == false
    let hasProfiles = Set(types.found?.types.map(\.profile) ?? []).count > 1
    return [
      Column(
        title: hasTopics ? "type or topic" : "type", width: hasTopics ? 13 : 10, isFlexible: true, priority: 0
      ) {
        ((hasProfiles && !$0.profile.isEmpty ? $0.profile + " " : "") + $0.name, Style(.name))
      },
      Column(title: "role", width: 9, priority: 10) { ($0.role, Style(.faint)) },
      Column(title: "frames", width: 7, isRight: true, priority: 8) { Self.count($0.count) },
      Column(title: "msgs", width: 7, isRight: true, priority: 1) { Self.count($0.messages) },
      Column(title: "one-way", width: 7, isRight: true, isShown: hasOneWay, priority: 7) { Self.count($0.oneWay) },
      Column(title: "lost", width: 7, isRight: true, priority: 2) { Self.count($0.lost, .alarm) },
      Column(title: "rejected", width: 8, isRight: true, priority: 5) { Self.count($0.rejected, .alarm) },
      Column(title: "retry", width: 7, isRight: true, priority: 4) { Self.count($0.retries, .warning) },
      Column(title: "hb missed", width: 9, isRight: true, priority: 9) { Self.count($0.lostHeartbeats, .warning) },
      Column(title: "p50 c2s", width: 8, isRight: true, priority: 6) { trip($0.roundTrip50ToServer) },
      Column(title: "p95 c2s", width: 8, isRight: true, priority: 3) { trip($0.roundTrip95ToServer) },
      Column(title: "p50 s2c", width: 8, isRight: true, priority: 7) { trip($0.roundTrip50ToClient) },
      Column(title: "p95 s2c", width: 8, isRight: true, priority: 3) { trip($0.roundTrip95ToClient) },
    ]
  }
}
