/// Names beside ids: which are known, which are to be looked up, and which have none.
///
/// A pure state machine. Ids are looked up in batches of 100 at most, one batch at a time and each id once, whatever comes of it; lists
/// show what is known meanwhile.
package struct NameRegistry: Sendable {
  /// Ids of a batch, and ids that are remembered, at most; behind that they stand without a name.
  package static let batchCount = 100, limit = 1_000_000

  /// What is known of an id.
  private enum Entry { case waiting, named(String), nameless }

  private var entries: [String: Entry] = [:]
  /// Ids that wait to be looked up, the last ones first: what is on the screen is asked for last.
  private var waiting: [String] = []
  /// The batch that is on its way.
  private var awaited: NameRequest?

  /// Nothing is known.
  package init() {}

  /// The name of an id; `nil` where it has none, or it is not known yet.
  package func name(of id: String) -> String? {
    if case .named(let name) = entries[id] { name } else { nil }
  }

  /// Has ids looked up that were not yet; these before those of earlier calls.
  package mutating func want(_ ids: some BidirectionalCollection<String>) {
    for id in ids.reversed() where entries[id] == nil && entries.count < Self.limit {
      entries[id] = .waiting
      waiting.append(id)
    }
  }

  /// The batch that is to be looked up now; `nil` while one is, and where nothing waits.
  package mutating func nextRequest() -> NameRequest? {
    guard awaited == nil, !waiting.isEmpty else { return nil }
    let ids = Array(waiting.suffix(Self.batchCount).reversed())
    waiting.removeLast(ids.count)
    let request = NameRequest(ids: ids)
    awaited = request
    return request
  }

  /// Takes the names of a batch; ids that are not among them have none, unless `isLast` says that others follow. One that nobody waits for
  /// is dropped; tells whether it was taken.
  package mutating func accept(_ request: NameRequest, _ names: [String: String], isLast: Bool = true) -> Bool {
    guard request == awaited else { return false }
    guard isLast else {
      for id in request.ids { if let name = names[id] { entries[id] = .named(name) } }
      return true
    }
    awaited = nil
    for id in request.ids { entries[id] = names[id].map { .named($0) } ?? .nameless }
    return true
  }

  /// The batch could not be looked up: its ids are without names.
  package mutating func fail(_ request: NameRequest) { _ = accept(request, [:]) }
}

/// Ids that are to be looked up.
package struct NameRequest: Equatable, Sendable {
  /// The ids.
  package var ids: [String]
}
