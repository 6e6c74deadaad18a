/// The connections that are held out of a guess, to test it: every fourth, or the last if there are fewer.
struct HeldOutConnections {
  /// The connections; empty if there is only one.
  let connections: Set<Int>

  /// Chooses among `connections`, which may contain repetitions.
  init(_ connections: [Int]) {
    let all = Set(connections).sorted()
    guard all.count > 1, let last = all.last else {
      self.connections = []
      return
    }
    self.connections =
      all.count < 4 ? [last] : Set(all.enumerated().filter { $0.offset % 4 == 3 }.map(\.element))
  }

  /// Whether a connection is held out.
  func contains(_ connection: Int) -> Bool { connections.contains(connection) }
}
