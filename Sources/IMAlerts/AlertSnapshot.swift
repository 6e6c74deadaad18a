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
/// Servers, connections, sessions, owners and types stand in it by what they are called, as the numbers of an engine are another's in the
/// next run.
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
  private static let magic = Array("imalerts".utf8)
  private static let format: UInt8 = 1
  private static let headerBytes = 20
  /// The largest text of rules, in bytes: that of a file of rules.
  private static let maximumText = 256 << 10
  /// The longest name in a series, in bytes.
  private static let maximumName = 4_096
  /// Steps of a window that are kept: twice as many as a window has.
  private static let maximumSteps = 128

  /// The file of rules that counted.
  package var text: String
  /// Packet time up to which everything was counted.
  package private(set) var clock: Timestamp
  var horizon: Timestamp
  var lastDropAt: Timestamp?, lastKernelDropAt: Timestamp?, unwatchedUntil: Timestamp?
  var dropped: UInt64 = 0, kernelDropped: UInt64 = 0
  /// The names of the profiles that `plan` of a subject and of a connection is an index of.
  var profiles: [String]
  /// The names of the types of each profile, which groups by type are found by.
  var rules: [Rule] = []

  /// A state without rules.
  init(text: String, clock: Timestamp, horizon: Timestamp, profiles: [String]) {
    (self.text, self.clock, self.horizon, self.profiles) = (text, clock, horizon, profiles)
  }

  // MARK: Writing

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
      out.number(rule.told)
      out.number(rule.suppressed)
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
    out.number(series.count)
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
    for value in [counts.samples, counts.affected, counts.unknown] { out.number(value) }
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
      out.number(bucket.count)
    }
    for affected in [counts.first, counts.last] {
      out.byte(affected == nil ? 0 : 1)
      guard let affected else { continue }
      out.endpoint(affected.connection.client)
      out.endpoint(affected.connection.server)
      out.time(affected.at)
    }
  }

  // MARK: Reading

  /// The state in the bytes of a file, with at most `maximumSeries` series. Throws what is wrong and where.
  package init(_ bytes: [UInt8], maximumSeries: Int) throws(AlertStateError) {
    guard bytes.count >= Self.magic.count, bytes.starts(with: Self.magic) else {
      throw AlertStateError(offset: 0, message: "it is no state of alerts")
    }
    guard bytes.count >= Self.headerBytes else {
      throw AlertStateError(offset: bytes.count, message: "the file ends within its header")
    }
    var header = AlertStateReader(bytes[8..<20])
    let format = (0..<4 as Range<Int>).reduce(UInt32(0)) { $0 | UInt32(bytes[8 + $1]) << UInt32(8 * $1) }
    guard format == UInt32(Self.format) else {
      throw AlertStateError(offset: 8, message: "its format is \(format), and not \(Self.format)")
    }
    for _ in 0..<4 { _ = try header.byte() }
    let length = try header.word()
    guard length <= UInt64(Self.maximumBytes), bytes.count == Self.headerBytes + Int(length) + 8 else {
      throw AlertStateError(
        offset: min(bytes.count, 12), message: "it announces \(length) bytes and has \(max(0, bytes.count - 28))")
    }
    let end = Self.headerBytes + Int(length)
    var trailer = AlertStateReader(bytes[end...])
    guard try trailer.word() == fnv1a(bytes[Self.headerBytes..<end]) else {
      throw AlertStateError(offset: end, message: "the checksum is another")
    }
    var reader = AlertStateReader(bytes[Self.headerBytes..<end])
    text = try reader.text("rules", most: Self.maximumText)
    clock = try reader.time()
    horizon = try reader.time()
    lastDropAt = try reader.optionalTime()
    lastKernelDropAt = try reader.optionalTime()
    unwatchedUntil = try reader.optionalTime()
    dropped = try reader.number()
    kernelDropped = try reader.number()
    profiles = []
    for _ in 0..<(try reader.count("profiles", most: 255)) {
      profiles.append(try reader.text("profile", most: Self.maximumName))
    }
    var left = maximumSeries
    for _ in 0..<(try reader.count("rules", most: UInt64(AlertRules.maximumRules))) {
      let rule = try Self.rule(&reader, left)
      left -= rule.series.count
      rules.append(rule)
    }
    guard reader.isAtEnd else { throw reader.error("the rules end here, and more follows") }
  }

  private static func rule(_ reader: inout AlertStateReader, _ left: Int) throws(AlertStateError) -> Rule {
    let name = try reader.text("rule", most: maximumName)
    let created = Int(try reader.count("series"))
    let next = try reader.time()
    var rule = Rule(name: name, created: created, next: next, minute: try reader.time())
    rule.told = try reader.count("alerts")
    rule.suppressed = try reader.count("alerts")
    for _ in 0..<(try reader.count("series", most: UInt64(max(0, left)))) {
      rule.series.append(try series(&reader))
    }
    return rule
  }

  private static func series(_ reader: inout AlertStateReader) throws(AlertStateError) -> Series {
    let number = Int(try reader.count("number"))
    let subject = try subject(&reader)
    var series = Series(number: number, subject: subject, knownSince: try reader.time(), phase: .inactive)
    let flags = try reader.count("flags", most: 15)
    (series.isActive, series.isOver) = (flags & 1 != 0, flags & 2 != 0)
    (series.isMuted, series.isHeldTold) = (flags & 4 != 0, flags & 8 != 0)
    switch try reader.count("phase", most: 2) {
    case 1: series.phase = .pending(since: try reader.time())
    case 2:
      let since = try reader.time()
      series.phase = .firing(since: since, right: try reader.optionalTime())
    default: break
    }
    series.count = try reader.count("alerts")
    series.episode = try reader.optionalTime()
    for _ in 0..<(try reader.count("steps", most: UInt64(maximumSteps))) {
      let start = reader.position
      let number = try reader.signed()
      guard series.window.last.map({ $0.number < number }) ?? true else {
        throw reader.error("steps are not in order", at: start)
      }
      series.window.append((number, try counts(&reader)))
    }
    return series
  }

  private static func subject(_ reader: inout AlertStateReader) throws(AlertStateError) -> AlertSeries.Subject {
    var subject = AlertSeries.Subject()
    let plan = try reader.byte()
    subject.plan = plan == .max ? nil : plan
    let direction = try reader.count("direction", most: 2)
    subject.direction = direction == 0 ? nil : Direction(rawValue: UInt8(direction - 1))
    if try reader.byte() != 0 { subject.server = try reader.endpoint() }
    if try reader.byte() != 0 {
      guard let server = subject.server else { throw reader.error("a connection without a server") }
      var connection = ConnectionInfo(told: 0, client: try reader.endpoint(), server: server)
      connection.peer = try reader.endpoint()
      (connection.plan, connection.endpoint) = (plan, .max)
      subject.connection = connection
    }
    let owner = try reader.text("owner", most: maximumName)
    subject.owner = owner.isEmpty ? nil : owner
    switch try reader.count("group", most: 6) {
    case 1: subject.group = .client(try reader.address())
    case 2: subject.group = .session(try reader.text("session", most: maximumName), isNumber: false)
    case 3: subject.group = .session(try reader.text("session", most: maximumName), isNumber: true)
    case 4: subject.group = .type(plan: plan, kind: .max, name: try reader.text("type", most: maximumName))
    case 5: subject.group = .owner(try reader.text("owner", most: maximumName))
    case 6:
      let address = try reader.address()
      subject.group = .network(address, bits: UInt8(try reader.count("prefix", most: address.isIPv6 ? 128 : 32)))
    default: break
    }
    return subject
  }

  private static func counts(_ reader: inout AlertStateReader) throws(AlertStateError) -> SlidingWindow.Counts {
    var counts = SlidingWindow.Counts()
    counts.samples = try reader.count("samples")
    counts.affected = try reader.count("affected samples")
    counts.unknown = try reader.count("unknown samples")
    counts.sum = try reader.real()
    counts.maximum = try reader.real()
    let start = reader.position
    let count = try reader.count("buckets", most: UInt64(RTTBuckets.count))
    if count > 0 {
      let (sum, least, greatest) = (try reader.signed(), try reader.signed(), try reader.signed())
      var buckets: [(index: UInt16, count: UInt64)] = []
      for _ in 0..<count {
        let index = UInt16(try reader.count("bucket", most: UInt64(RTTBuckets.count - 1)))
        buckets.append((index, try reader.count("round trips")))
      }
      guard let roundTrips = RTTHistogram(buckets: buckets, sum: sum, minimum: least, maximum: greatest) else {
        throw reader.error("no histogram of round trips", at: start)
      }
      counts.roundTrips = roundTrips
    }
    counts.first = try affected(&reader)
    counts.last = try affected(&reader)
    return counts
  }

  private static func affected(
    _ reader: inout AlertStateReader
  ) throws(AlertStateError) -> SlidingWindow.Affected? {
    guard try reader.byte() != 0 else { return nil }
    let client = try reader.endpoint()
    let server = try reader.endpoint()
    let info = ConnectionInfo(told: 0, client: client, server: server)
    return SlidingWindow.Affected(connection: info, at: try reader.time())
  }
}
