package import IMStore
import IMTerminal
package import IMWire

/// By what sessions are sorted.
package enum SessionSort: String, CaseIterable, Sendable {
  /// By what is worst: messages lost, then rejected, retries, heartbeats missed, then messages; most first.
  case problems
  /// By their numbers, as they came.
  case number
  /// By name.
  case name
  /// By the number of messages, most first.
  case messages
  /// By round trips of either direction, slowest first.
  case roundTrip = "round trip"
  /// By retries, most first.
  case retries
  /// By messages that were lost, and then by those that were refused, most first.
  case lost
  /// By their last messages, latest first.
  case last
}

/// Which sessions are listed, and how.
package struct SessionOrder: Equatable, Sendable {
  /// By what they are sorted.
  package var sort = SessionSort.problems
  /// Whether the order is turned round.
  package var isReversed = false
  /// Words, each of which a session has in its name, its addresses or its profile; empty for all. `state:reset` stands for sessions in
  /// a state, of which the beginning is enough, and `!state:closed` for all others.
  package var filter = ""
  /// Sessions that stand in front of the others.
  package var pins: Set<Int64> = []

  /// Sessions that lasted into this time; `nil` for all.
  package var times: Range<Timestamp>?

  /// All, the worst first.
  package init() {}

  /// Sessions in this order, pinned ones first, also where the filter leaves them out. `nil` when `isStale` says that nobody wants them any more.
  package func arrange(_ sessions: [StoredSession], isStale: () -> Bool = { false }) -> [StoredSession]? {
    let words = filter.split(separator: " ").map { String($0).lowercased() }
    var pinned: [StoredSession] = []
    var others: [StoredSession] = []
    for (i, session) in sessions.enumerated() {
      if i % 1_024 == 0, isStale() { return nil }
      if pins.contains(session.id) {
        pinned.append(session)
      } else if lasts(session), words.isEmpty || words.allSatisfy({ Self.has(session, $0) }) {
        others.append(session)
      }
    }
    if isStale() { return nil }
    return sorted(pinned) + sorted(others)
  }

  /// Whether a session had begun before the time was over, and was not over before it began.
  private func lasts(_ session: StoredSession) -> Bool {
    guard let times else { return true }
    guard let first = session.first, let last = session.last else { return false }
    return first < times.upperBound && last >= times.lowerBound
  }

  private static func has(_ session: StoredSession, _ word: String) -> Bool {
    if word.hasPrefix("state:") { return isIn(session.state, String(word.dropFirst(6))) }
    if word.hasPrefix("!state:") { return word.count == 7 || !isIn(session.state, String(word.dropFirst(7))) }
    let texts = [session.name ?? "", session.client, session.server, session.profile]
    return texts.contains { contains($0.lowercased(), word) }
  }

  /// Whether a state is meant: by its name, or by what the column shows. What is typed as yet is nothing means all.
  private static func isIn(_ state: String, _ text: String) -> Bool {
    state.hasPrefix(text) || SessionTable.shortState(state).lowercased().hasPrefix(text)
  }

  private static func contains(_ text: String, _ part: String) -> Bool {
    var (text, part) = (text, part)
    return text.withUTF8 { text in
      part.withUTF8 { part in
        guard let first = part.first else { return true }
        guard text.count >= part.count else { return false }
        return (0...text.count - part.count).contains { at in
          text[at] == first && text[at..<at + part.count].elementsEqual(part)
        }
      }
    }
  }

  private func sorted(_ sessions: [StoredSession]) -> [StoredSession] {
    let rows: [StoredSession] =
      switch sort {
      case .problems: Self.worstFirst(sessions)
      case .number: sessions.sorted { $0.id < $1.id }
      // Sessions without a name stand behind the others.
      case .name:
        sessions.sorted {
          ($0.name == nil ? 1 : 0, $0.name ?? "", $0.id) < ($1.name == nil ? 1 : 0, $1.name ?? "", $1.id)
        }
      case .messages: Self.descending(sessions) { $0.messages }
      case .roundTrip: Self.descending(sessions) { $0.slowestRoundTrip95 ?? -1 }
      case .retries: Self.descending(sessions) { $0.retries }
      case .lost: Self.descending(sessions) { ($0.lost &<< 31) &+ min(max(0, $0.rejected), 1 << 31 - 1) }
      case .last: Self.descending(sessions) { $0.last?.nanoseconds ?? .min }
      }
    return isReversed ? rows.reversed() : rows
  }

  private static func worstFirst(_ sessions: [StoredSession]) -> [StoredSession] {
    func key(_ session: StoredSession) -> (Int64, Int64, Int64, Int64, Int64, Int64) {
      (
        session.lost, session.rejected, session.retries, session.lostHeartbeats, session.messages, session.oneWay
      )
    }
    let keyed = sessions.map { (key: key($0), session: $0) }
    return keyed.sorted { $0.key == $1.key ? $0.session.id < $1.session.id : $0.key > $1.key }.map(\.session)
  }

  private static func descending(_ sessions: [StoredSession], _ key: (StoredSession) -> Int64) -> [StoredSession] {
    let keyed: [(key: Int64, session: StoredSession)] = sessions.map { (key($0), $0) }
    let sorted = keyed.sorted { one, other in
      if one.key != other.key { return one.key > other.key }
      return one.session.id < other.session.id
    }
    return sorted.map(\.session)
  }
}
