/// The connections that a guess is not made from, so that they can say whether it holds: every fourth, or the last of fewer.
struct HeldOutConnections {
  /// The connections; empty where there is only one.
  let connections: Set<Int>

  /// Chooses among `connections`, each of which may come many times.
  init(_ connections: [Int]) {
    let all = Set(connections).sorted()
    guard all.count > 1, let last = all.last else {
      self.connections = []
      return
    }
    self.connections =
      all.count < 4 ? [last] : Set(all.enumerated().filter { $0.offset % 4 == 3 }.map(\.element))
  }

  /// Whether a connection was left out.
  func contains(_ connection: Int) -> Bool { connections.contains(connection) }
}
