/// How many bytes the engine's tables hold, by what they are for, and how many they may.
///
/// Tables keep the memory that they have once needed and use it again, so their parts only grow, to seven eighths of
/// the limit. Each part may count on a sixteenth of that, however much another one wants; exchanges, which come fast and are
/// large with what a sink keeps of each, have no more than three eighths. What streams hold comes and goes
/// (`held`); it may have what is left, and at least a sixteenth. The last sixteenth is for where evicted connections go on.
///
/// It refuses; whoever is refused forgets what is oldest. Nothing here runs per packet.
final class MemoryBudget {
  /// What a table is for.
  enum Part: Int, CaseIterable {
    /// Flows, the index to them, and the queues of those that end.
    case connections
    /// What is counted for connections that a plan decodes, by the tracker and by the sink, and the servers' figures.
    case decoded
    /// Sessions and their names.
    case sessions
    /// Exchanges, and what the sink keeps of each.
    case exchanges
  }

  /// All that may be held, in bytes.
  let limit: Int
  /// The part of it that is for tables.
  private let tableLimit: Int
  /// What each part may count on.
  private let reserve: Int
  private var used: InlineArray<4, Int> = [0, 0, 0, 0]
  /// Bytes that streams hold: beyond holes, of frames that are not whole yet, and in fragments.
  var held = 0
  /// Bytes taken for where evicted connections go on, and never given back.
  private var resuming = 0

  /// The least that may be held, a megabyte, whatever `limit` says: the first places of all tables need some of it.
  private static var least: Int { 1 << 20 }

  init(limit: Int) {
    self.limit = max(limit, Self.least)
    tableLimit = self.limit / 16 * 14
    reserve = tableLimit / 16
  }

  /// What the tables hold or may count on.
  private var charge: Int {
    var sum = 0
    for part in 0..<4 { sum += max(used[part], reserve) }
    return sum
  }

  /// Everything that is held, in bytes.
  var total: Int { used[0] + used[1] + used[2] + used[3] + held + resuming }

  /// Whether streams hold more than they may.
  var isOverHeld: Bool { held > limit - resuming - min(charge, tableLimit) }

  /// Takes the sixteenth for where evicted connections go on, or what `cost` says is of use of it, and gives how much that is.
  func takeForResuming(_ cost: (Int) -> Int) -> Int {
    resuming = cost(limit / 16)
    return resuming
  }

  /// Whether `part` may grow by `count` bytes.
  func admits(_ part: Part, _ count: Int) -> Bool {
    let old = max(used[part.rawValue], reserve)
    let new = max(used[part.rawValue] + count, reserve)
    if part == .exchanges, new > tableLimit / 8 * 3 { return false }
    return charge - old + new <= tableLimit
  }

  /// Takes note that `part` has grown by `count` bytes.
  func take(_ part: Part, _ count: Int) { used[part.rawValue] += count }

  /// Takes note that `part` has grown by `count` bytes if it may; whether it did.
  func takeIfAdmitted(_ part: Part, _ count: Int) -> Bool {
    guard admits(part, count) else { return false }
    take(part, count)
    return true
  }
}

/// What was forgotten, or not kept, to stay within a limit on memory; `Ledger.evicted` counts it.
package enum Eviction: UInt8, CaseIterable, Sendable {
  /// A connection whose SYN nothing had answered yet, the oldest first.
  case halfOpen
  /// A connection that was over; its end had been told, or was told then.
  case ended
  /// Another connection, one of those that had been quiet for longest.
  case connection
  /// What a connection held beyond holes or of frames that were not whole: its holes were given up, its frames cut.
  case held
  /// A session: what comes next of its client begins a new one.
  case session
  /// A message that was still open: its fate is `unknown`.
  case exchange
  /// A connection whose server has no figures of its own; it counts in the total.
  case server
  /// A datagram whose fragments had not all come.
  case datagram

  /// The name in counters and documents.
  package var name: String { "\(key)" }

  /// The name as a member of a document.
  package var key: StaticString {
    switch self {
    case .halfOpen: "half_open"
    case .ended: "ended"
    case .connection: "connection"
    case .held: "held"
    case .session: "session"
    case .exchange: "exchange"
    case .server: "server"
    case .datagram: "datagram"
    }
  }

  /// The limit that is hit, as an option.
  package var option: String {
    switch self {
    case .exchange: "--limit exchanges, --mem"
    case .datagram: "--limit datagrams, --mem"
    case .halfOpen, .ended, .connection, .held, .session, .server: "--mem"
    }
  }

  /// What it is, for a message: "connections without an answer".
  package var text: String {
    switch self {
    case .halfOpen: "half-open connections"
    case .ended: "closed connections"
    case .connection: "quiet connections"
    case .held: "incomplete streams"
    case .session: "old sessions"
    case .exchange: "open messages"
    case .server: "metrics of single servers"
    case .datagram: "incomplete datagrams"
    }
  }
}

extension InlineArray where Element == UInt64, count == 8 {
  /// The count of one kind of eviction.
  package subscript(eviction: Eviction) -> UInt64 {
    get { self[Int(eviction.rawValue)] }
    set { self[Int(eviction.rawValue)] = newValue }
  }
}
