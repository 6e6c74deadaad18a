import IMOutput
import IMStore
import IMTerminal
import IMWire

/// The columns of the list of sessions.
enum SessionTable {
  /// A state in a column's width.
  static func shortState(_ name: String) -> String {
    switch name {
    case ConnectionState.reconnected: "RECON"
    case ConnectionState.timeout.rawValue: "NO ANS"
    case ConnectionState.refused.rawValue: "REFUSE"
    case ConnectionState.evicted.rawValue: "LOST"
    default: name.uppercased()
    }
  }

  /// The columns of `sessions`; that of one-way messages is shown where `hasOneWay`, and `person` gives the name beside a session's
  /// id, where names were asked for.
  static func columns(
    _ order: SessionOrder, _ zone: LocalZone, of sessions: [StoredSession], hasOneWay: Bool = false,
    person: ((StoredSession) -> String?)? = nil
  ) -> [Column<StoredSession>] {
    let client = sessions.reduce(0) { max($0, $1.client.utf8.count) }
    let server = sessions.reduce(0) { max($0, $1.server.utf8.count) }
    func number(_ value: Int64) -> String { grouped(UInt64(max(0, value))) }
    func title(_ text: String, _ sort: SessionSort) -> String {
      order.sort == sort ? text + (order.isReversed ? "▲" : "▼") : text
    }
    func counted(_ value: Int64, _ colour: Style.Colour) -> (String, Style) {
      (number(value), value > 0 ? Style(colour) : Style(.faint))
    }
    func state(_ name: String) -> (String, Style) {
      (shortState(name), ["reset", "refused", "timeout"].contains(name) ? Style(.warning) : .plain)
    }
    func isBad(_ session: StoredSession) -> Bool { session.lost > 0 || session.rejected > 0 }
    func roundTrip(_ microseconds: Int64?) -> (String, Style) {
      (microseconds.map(Words.shortLength) ?? "-", .plain)
    }
    let persons = person.map { person in
      [Column<StoredSession>(title: "name", width: 14, priority: 2) { (person($0) ?? "", Style(.name)) }]
    }
    let first: [Column<StoredSession>] = [
      Column(title: "", width: 2, priority: 0) { session in
        (
          (order.pins.contains(session.id) ? "*" : " ") + (isBad(session) ? "!" : session.retries > 0 ? "R" : " "),
          Style(isBad(session) ? .alarm : .warning, .bold)
        )
      },
      Column(title: title("#", .number), width: 6, isRight: true, priority: 8) { (String($0.id), Style(.faint)) },
      Column(title: title("session", .name), width: 9, isFlexible: true, priority: 1) { session in
        session.name.map { ($0, Style(.name)) } ?? ("-", Style(.faint))
      },
    ]
    let others: [Column<StoredSession>] = [
      Column(title: "client", width: 21, longest: client, priority: 7) { ($0.client, .plain) },
      Column(title: "server", width: 21, longest: server, priority: 11) { ($0.server, .plain) },
      Column(title: "profile", width: 8, priority: 12) { ($0.profile, .plain) },
      Column(title: "state", width: 6, priority: 6) { state($0.state) },
      Column(title: "conns", width: 5, isRight: true, priority: 10) { (number($0.connections), .plain) },
      Column(title: title("msgs", .messages), width: 7, isRight: true, priority: 2) { (number($0.messages), .plain) },
      Column(title: "one-way", width: 7, isRight: true, isShown: hasOneWay, priority: 5) {
        (number($0.oneWay), .plain)
      },
      Column(title: title("p95 c2s", .roundTrip), width: 8, isRight: true, priority: 4) {
        roundTrip($0.roundTrip95ToServer)
      },
      Column(title: title("p95 s2c", .roundTrip), width: 8, isRight: true, priority: 4) {
        roundTrip($0.roundTrip95ToClient)
      },
      Column(title: title("retry", .retries), width: 6, isRight: true, priority: 5) { counted($0.retries, .warning) },
      Column(title: title("lost", .lost), width: 5, isRight: true, priority: 3) { counted($0.lost, .alarm) },
      Column(title: "rejected", width: 8, isRight: true, priority: 13) { counted($0.rejected, .alarm) },
      Column(title: "hb missed", width: 9, isRight: true, priority: 9) { counted($0.lostHeartbeats, .warning) },
      Column(title: title("last", .last), width: 8, priority: 9) { session in
        (session.last.map { String(MessageItem.clock($0, zone).prefix(8)) } ?? "-", .plain)
      },
    ]
    return first + (persons ?? []) + others
  }
}
