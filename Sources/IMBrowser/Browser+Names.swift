import IMStore

/// Names beside the ids of sessions.
extension Browser {
  /// The name of a session's id, or else that of its client's address; `nil` where neither has one.
  static func personName(_ session: StoredSession, _ names: NameRegistry) -> String? {
    session.name.flatMap { names.name(of: $0) } ?? names.name(of: host(session.client))
  }

  /// Asks for the names of what is seen, and then of all others.
  mutating func wantNames() {
    guard names != nil else { return }
    if namesWanted != sessions.items.count {
      namesWanted = sessions.items.count
      names?.want(sessions.items.flatMap(Self.ids))
    }
    names?.want(sessions.visible.flatMap { Self.ids(sessions.items[$0]) })
    if let request = names?.nextRequest() { outbox.append(.names(request)) }
  }

  private static func ids(_ session: StoredSession) -> [String] {
    [session.name, host(session.client)].compactMap { $0 }
  }

  /// An end without its port and brackets.
  private static func host(_ end: String) -> String {
    guard let colon = end.lastIndex(of: ":") else { return end }
    let host = end[..<colon]
    return String(host.first == "[" ? host.dropFirst().dropLast() : host)
  }
}
