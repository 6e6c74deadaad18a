package import IMEngine
package import IMWire

/// The figures of a run over time: one `PeriodMetrics` for each period of packet time.
///
/// A message and all that became of it count in the period in which its first copy came, however late its fate was decided;
/// copies, frames and missing bytes in the period in which they came. So the periods add up to the whole run, and a period
/// tells what happened to what was sent in it.
package struct PeriodSeries: Sendable {
  /// One period.
  package struct Row: Sendable {
    /// What was counted.
    package var metrics = PeriodMetrics()
    /// Messages whose first copy came, those that ask for no answer included.
    package var sent: UInt64 = 0
    /// Bytes of streams that were missing.
    package var missingBytes: UInt64 = 0

    /// Messages whose first copy came.
    package var messages: UInt64 {
      let oneWay =
        UInt64(metrics.messages.unacknowledged(.clientToServer))
        + UInt64(metrics.messages.unacknowledged(.serverToClient))
      return sent - min(sent, oneWay)
    }
    /// Messages that are not decided yet.
    package var open: UInt64 {
      let told = UInt64(metrics.messages.both.units)
      return messages - min(messages, told)
    }

    /// Nothing counted.
    package init() {}

    /// Adds what another period counted.
    package mutating func add(_ other: Row) {
      metrics.add(other.metrics)
      sent &+= other.sent
      missingBytes &+= other.missingBytes
    }
  }

  /// At most so many periods are kept apart; what comes in further ones is counted together, in `others`.
  package static let maximumCount = 20_000

  /// The periods in which something happened, by their number.
  package private(set) var rows: [Int64: Row] = [:]
  /// The memory for exact percentiles of all periods together, 64 MiB.
  private var room = FineBucketRoom(bytes: 64 << 20)
  /// What came when there was no room for another period.
  package private(set) var others: Row?
  /// Pings of connections that have no last report yet, which says whether these count as heartbeats: by connection and period.
  private var pings: [UInt32: [Int64: PingCounts]] = [:]
  /// Connections and periods in `pings`, and the most that there may be; further pings count where their connection began.
  private var pingRows = 0
  private static let maximumPingRows = 262_144
  /// Periods below this number have been taken.
  private var begin = Int64.min
  private let number: @Sendable (Int64) -> Int64
  private let roles: RoleTable
  /// The second that was asked for last, and its period.
  private var last: (second: Int64, number: Int64) = (.min, 0)

  /// A series of the periods that `number` gives for seconds since 1970: equal numbers are one period.
  package init(plans: [ProtocolPlan], number: @escaping @Sendable (Int64) -> Int64) {
    roles = RoleTable(plans: plans)
    self.number = number
  }

  /// Counts a frame.
  package mutating func frame(_ frame: Frame, _ note: FrameNote, _ direction: Direction) {
    let isSent = note.copy == 1 && !note.isAck && frame.kind.pointee.role == .message
    change(frame.timestamp) { row in
      if isSent { row.sent &+= 1 }
      row.metrics.frame(frame, note, direction)
    }
  }

  /// Counts an exchange whose fate was decided, or decided anew.
  package mutating func resolved(_ exchange: borrowing Exchange) {
    let role = roles[exchange.plan, exchange.kind]
    let (time, resolution) = (exchange.firstAt, Resolution(copy exchange, endpoint: .max))
    let roundTrip = exchange.roundTrip
    guard period(of: time) >= begin else { return }
    var room = self.room
    change(time) { row in
      let before = row.metrics.roundTrips.fineBuckets
      row.metrics.resolved(resolution, role: role, elsewhere: false, roundTrip: roundTrip)
      row.metrics.fit(into: &room, since: before)
    }
    self.room = room
  }

  /// Counts missing bytes.
  package mutating func missing(_ byteCount: UInt64, at time: Timestamp) {
    change(time) { $0.missingBytes &+= byteCount }
  }

  /// Takes note of a step of a carrier's ping, which counts when its connection has its last report.
  package mutating func ping(_ step: PingStep, _ connection: UInt32, sentAt: Timestamp) {
    let number = period(of: sentAt)
    if pings[connection]?[number] == nil {
      guard pingRows < Self.maximumPingRows else { return }
      pingRows += 1
    }
    pings[connection, default: [:]][number, default: PingCounts()].add(PingCounts(step))
  }

  /// Counts a step of a carrier's ping that counts as a heartbeat, at once.
  package mutating func heartbeat(_ step: PingStep, sentAt: Timestamp) {
    change(sentAt) { $0.metrics.pinged(PingCounts(step)) }
  }

  /// Counts the pings of a connection that has its last report, each in the period in which it was sent.
  private mutating func countPings(_ report: borrowing ConnectionReport) {
    let known = pings.removeValue(forKey: report.info.serial) ?? [:]
    pingRows -= known.count
    guard report.heartbeatsArePings else { return }
    var counted = PingCounts()
    for (number, counts) in known {
      counted.add(counts)
      change(period: number) { $0.metrics.pinged(counts) }
    }
    let others = PingCounts(report).since(counted)
    if others != PingCounts() { change(report.firstSeen) { $0.metrics.pinged(others) } }
  }

  /// Counts a connection that has its last report: where it began, and where it ended.
  package mutating func ended(_ report: borrowing ConnectionReport) {
    let report = copy report
    countPings(report)
    change(report.firstSeen) { $0.metrics.began(report) }
    // What no profile decodes ends in no period.
    guard report.figures != nil, let closedAt = report.closedAt else { return }
    change(closedAt) { $0.metrics.ended(report) }
  }

  /// The sum of the periods from `number` on.
  package func sum(from number: Int64) -> Row {
    var sum = Row()
    for (key, row) in rows where key >= number { sum.add(row) }
    return sum
  }

  /// Takes out what was counted in the periods with numbers below `number`, in their order. They are over: what comes in
  /// one of them later counts in the first that is not, and fates that are decided later are left out.
  package mutating func takeRows(before number: Int64) -> [(number: Int64, row: Row)] {
    begin = max(begin, number)
    let taken = rows.keys.filter { $0 < number }.sorted()
    return taken.compactMap { key in
      guard let row = rows.removeValue(forKey: key) else { return nil }
      room.release(row.metrics.roundTrips)
      return (key, row)
    }
  }

  private mutating func period(of time: Timestamp) -> Int64 {
    let second = time.seconds
    if second != last.second { last = (second, number(second)) }
    return last.number
  }

  private mutating func change(_ time: Timestamp, _ body: (inout Row) -> Void) {
    change(period: period(of: time), body)
  }

  private mutating func change(period number: Int64, _ body: (inout Row) -> Void) {
    let key = max(begin, number)
    if let place = rows.index(forKey: key) {
      // In place: a row has about a kilobyte.
      body(&rows.values[place])
    } else if rows.count < Self.maximumCount {
      body(&rows[key, default: Row()])
    } else {
      var row = others ?? Row()
      body(&row)
      others = row
    }
  }
}
