import IMStore

/// Finds the names of ids: in the file that the person gave, then among those that were looked up before, and then by looking them up.
///
/// Of one thread.
struct NameFinder {
  /// Where names come from that were looked up, as `name_cache` has it.
  static let source = "dns"
  /// Names that wait to be kept, at most: each time that some are kept is a change of the store, at which all lists are read again.
  private static let keepCount = 1_000

  private let file: [String: String]
  private let cache: NameCache?
  private let resolver: (any NameResolving)?
  /// Seconds since 1970.
  private let now: () -> Int64
  private var learnt: [NameCache.Entry] = []

  /// A finder of what there is: names by ids, names that are kept, and who looks others up.
  init(file: [String: String], cache: NameCache?, resolver: (any NameResolving)?, now: @escaping () -> Int64) {
    (self.file, self.cache, self.resolver, self.now) = (file, cache, resolver, now)
  }

  /// The names of ids, by these; those that are missing have none. Ends when `isOver` says that nobody waits any more. Where some have to be
  /// looked up, which takes its time, `known` is told of the others first.
  mutating func names(
    of ids: [String], isOver: () -> Bool = { false }, known: ([String: String]) -> Void = { _ in }
  ) -> [String: String] {
    var names: [String: String] = [:]
    for id in ids { names[id] = file[id] }
    guard let resolver else { return names }
    var wanted = ids.filter { names[$0] == nil && NameResolver.isAddress($0) }
    if let kept = try? cache?.entries(of: wanted, at: now()) {
      for (id, entry) in kept { names[id] = entry.name }
      wanted.removeAll { kept[$0] != nil }
    }
    guard !wanted.isEmpty else { return names }
    if !names.isEmpty { known(names) }
    for (id, found) in resolver.names(of: wanted, isOver: isOver) {
      switch found {
      case .named(let name):
        names[id] = name
        learn(id, name)
      case .nameless: learn(id, nil)
      case .unknown: break
      }
    }
    if learnt.count >= Self.keepCount { keep() }
    return names
  }

  private mutating func learn(_ id: String, _ name: String?) {
    if cache != nil { learnt.append(NameCache.Entry(key: id, name: name, source: Self.source, at: now())) }
  }

  /// Keeps what was learnt. To be called at the end. A store that cannot be written keeps none.
  mutating func keep() {
    try? cache?.add(learnt)
    learnt = []
  }
}
