import IMEngine
import IMMetrics
import IMWire

/// The state in the bytes of a file, which are not trusted.
extension AlertSnapshot {
  /// The state in the bytes of a file, with at most `maximumSeries` series. Throws what is wrong and where.
  package init(_ bytes: [UInt8], maximumSeries: Int) throws(AlertStateError) {
    guard bytes.count >= Self.magic.count, bytes.starts(with: Self.magic) else {
      throw AlertStateError(offset: 0, message: "not an alert state")
    }
    guard bytes.count >= Self.headerBytes else {
      throw AlertStateError(offset: bytes.count, message: "the file ends in its header")
    }
    var header = AlertStateReader(bytes[8..<20])
    let format = (0..<4 as Range<Int>).reduce(UInt32(0)) { $0 | UInt32(bytes[8 + $1]) << UInt32(8 * $1) }
    guard format == UInt32(Self.format) else {
      throw AlertStateError(offset: 8, message: "format \(format), expected \(Self.format)")
    }
    for _ in 0..<4 { _ = try header.byte() }
    let length = try header.word()
    guard length <= UInt64(Self.maximumBytes), bytes.count == Self.headerBytes + Int(length) + 8 else {
      throw AlertStateError(
        offset: min(bytes.count, 12), message: "it announces \(length) bytes but has \(max(0, bytes.count - 28))")
    }
    let end = Self.headerBytes + Int(length)
    var trailer = AlertStateReader(bytes[end...])
    guard try trailer.word() == fnv1a(bytes[Self.headerBytes..<end]) else {
      throw AlertStateError(offset: end, message: "the checksum is wrong")
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
    guard reader.isAtEnd else { throw reader.error("unexpected data after the rules") }
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
        throw reader.error("not a histogram of round trips", at: start)
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
