internal import IMWire

/// The addresses of a server, and which of them the next connection goes to.
///
/// The first connection of an attempt goes to the address that worked last, and each further one to the next, round and round, until one is
/// open. From then on all connections go to its address: another one may be another host, which knows nothing of the sessions.
struct ServerAddresses: Sendable {
  /// Addresses that are kept, at most.
  static var limit: Int { 16 }

  private(set) var all: [Endpoint]
  /// The place of the address that worked last, and of the one that is tried next.
  private var good = 0, next = 0
  /// Addresses that were not tried yet in this attempt.
  private var untried: Int

  /// The first of these is tried first.
  init(_ endpoints: [Endpoint]) {
    all = Self.distinct(endpoints)
    untried = all.count
  }

  private static func distinct(_ endpoints: [Endpoint]) -> [Endpoint] {
    var all: [Endpoint] = []
    for endpoint in endpoints where !all.contains(endpoint) && all.count < limit { all.append(endpoint) }
    return all
  }

  /// Whether an address is left that this attempt has not tried.
  var hasUntried: Bool { untried > 0 }

  /// An attempt begins.
  mutating func begin() { (next, untried) = (good, all.count) }

  /// The address of a further connection, beside an open one or without one.
  mutating func take(isConnected: Bool) -> Endpoint {
    guard !isConnected else { return all[good] }
    defer {
      next = (next + 1) % all.count
      untried = max(0, untried - 1)
    }
    return all[next]
  }

  /// A connection to this address is the first that is open.
  mutating func succeeded(_ endpoint: Endpoint) {
    if let place = all.firstIndex(of: endpoint) { (good, next) = (place, place) }
  }

  /// The server's name has other addresses now. The one that worked last stays the first where it is among them.
  mutating func replace(_ endpoints: [Endpoint]) {
    let new = Self.distinct(endpoints)
    guard !new.isEmpty, new != all else { return }
    let last = all[good]
    all = new
    good = all.firstIndex(of: last) ?? 0
    begin()
  }
}
