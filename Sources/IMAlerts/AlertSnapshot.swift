import IMEngine
import IMMetrics
package import IMWire

/// What the rules of a run have counted and told so far, as a file keeps it for the next run.
///
///     0   8   `imalerts`
///     8   4   the format's number, little endian
///     12  8   bytes of the state, little endian
///     20  n   the state: the rules' text, times, and for each rule its series with their windows
///     ..  8   FNV-1a of the state, little endian
///
/// It names servers, connections, sessions, owners and types, because the numbers that an engine gives them differ between runs.
package struct AlertSnapshot: Sendable {
  /// One series of a rule.
  struct Series: Sendable {
    var number: Int
    var subject: AlertSeries.Subject
    var knownSince: Timestamp
    var phase: AlertState.Phase
    var isActive = false, isOver = false, isMuted = false, isHeldTold = false
    var count: UInt64 = 0
    var episode: Timestamp?
    var window: [(number: Int64, counts: SlidingWindow.Counts)] = []
  }

  /// One rule.
  struct Rule: Sendable {
    var name: String
    var created = 0
    var next: Timestamp
    var minute: Timestamp
    var told: UInt64 = 0, suppressed: UInt64 = 0
    var series: [Series] = []
  }

  /// The largest file, in bytes.
  package static let maximumBytes = 64 << 20
  /// The first bytes of a file.
  static let magic = Array("imalerts".utf8)
  /// The number of the format.
  static let format: UInt8 = 2
  /// Bytes in front of the state.
  static let headerBytes = 20
  /// The largest text of rules, in bytes: that of a file of rules.
  static let maximumText = 256 << 10
  /// The longest name in a series, in bytes.
  static let maximumName = 4_096
  /// Steps of a window that are kept: twice as many as a window has.
  static let maximumSteps = 128

  /// The file of rules that counted.
  package var text: String
  /// Packet time up to which everything was counted.
  package internal(set) var clock: Timestamp
  var horizon: Timestamp
  var lastDropAt: Timestamp?, lastKernelDropAt: Timestamp?, unwatchedUntil: Timestamp?
  var dropped: UInt64 = 0, kernelDropped: UInt64 = 0
  /// The names of the profiles that `plan` of a subject and of a connection is an index of.
  var profiles: [String]
  /// The rules, in the order of their file.
  var rules: [Rule] = []

  /// A state without rules.
  init(text: String, clock: Timestamp, horizon: Timestamp, profiles: [String]) {
    (self.text, self.clock, self.horizon, self.profiles) = (text, clock, horizon, profiles)
  }

  /// The bytes of a file; `nil` where there are more than a file may have.
  package var bytes: [UInt8]? {
    var out = AlertStateWriter()
    out.text(text)
    out.time(clock)
    out.time(horizon)
    for time in [lastDropAt, lastKernelDropAt, unwatchedUntil] { out.time(time) }
    out.number(dropped)
    out.number(kernelDropped)
    out.number(UInt64(profiles.count))
    for name in profiles { out.text(name) }
    out.number(UInt64(rules.count))
    for rule in rules {
      out.text(rule.name)
      out.number(UInt64(rule.created))
      out.time(rule.next)
      out.time(rule.minute)
      out.count(rule.told)
      out.count(rule.suppressed)
      out.number(UInt64(rule.series.count))
      for series in rule.series { Self.write(series, &out) }
      guard out.bytes.count <= Self.maximumBytes - 64 else { return nil }
    }
    var header = AlertStateWriter()
    for byte in Self.magic + [Self.format, 0, 0, 0] { header.byte(byte) }
    header.word(UInt64(out.bytes.count))
    var sum = AlertStateWriter()
    sum.word(fnv1a(out.bytes))
    return header.bytes + out.bytes + sum.bytes
  }

  private static func write(_ series: Series, _ out: inout AlertStateWriter) {
    out.number(UInt64(series.number))
    write(series.subject, &out)
    out.time(series.knownSince)
    let flags = [series.isActive, series.isOver, series.isMuted, series.isHeldTold]
    out.byte(flags.enumerated().reduce(0) { $0 | ($1.element ? 1 << UInt8($1.offset) : 0) })
    switch series.phase {
    case .inactive: out.byte(0)
    case .pending(let since):
      out.byte(1)
      out.time(since)
    case .firing(let since, let right):
      out.byte(2)
      out.time(since)
      out.time(right)
    }
    out.count(series.count)
    out.time(series.episode)
    let entries = series.window.suffix(maximumSteps)
    out.number(UInt64(entries.count))
    for entry in entries {
      out.signed(entry.number)
      write(entry.counts, &out)
    }
  }

  private static func write(_ subject: AlertSeries.Subject, _ out: inout AlertStateWriter) {
    out.byte(subject.plan ?? .max)
    out.byte(subject.direction.map { $0.rawValue &+ 1 } ?? 0)
    out.byte(subject.server == nil ? 0 : 1)
    if let server = subject.server { out.endpoint(server) }
    out.byte(subject.connection == nil ? 0 : 1)
    if let connection = subject.connection {
      out.endpoint(connection.client)
      out.endpoint(connection.peer)
    }
    out.text(subject.owner ?? "")
    switch subject.group {
    case nil: out.byte(0)
    case .client(let address):
      out.byte(1)
      out.address(address)
    case .session(let name, let isNumber):
      out.byte(isNumber ? 3 : 2)
      out.text(name)
    case .type(_, _, let name):
      out.byte(4)
      out.text(name)
    case .owner(let name):
      out.byte(5)
      out.text(name)
    case .network(let address, let bits):
      out.byte(6)
      out.address(address)
      out.byte(bits)
    }
  }

  private static func write(_ counts: SlidingWindow.Counts, _ out: inout AlertStateWriter) {
    for value in [counts.samples, counts.affected, counts.unknown] { out.count(value) }
    out.real(counts.sum)
    out.real(counts.maximum)
    let buckets = counts.roundTrips.counted
    out.number(UInt64(buckets.count))
    if !buckets.isEmpty {
      out.signed(counts.roundTrips.sum)
      out.signed(counts.roundTrips.minimum ?? 0)
      out.signed(counts.roundTrips.maximum ?? 0)
    }
    for bucket in buckets {
      out.number(UInt64(bucket.index))
      out.count(bucket.count)
    }
    for affected in [counts.first, counts.last] {
      out.byte(affected == nil ? 0 : 1)
      guard let affected else { continue }
      out.endpoint(affected.connection.client)
      out.endpoint(affected.connection.server)
      out.time(affected.at)
    }
  }
}
