import IMWire

/// Reports on connections while they live.
extension Connections {
  /// Reports on the connections whose minute is over at `moment`, a time that has come. One that has ended gets its last report
  /// elsewhere.
  ///
  /// Each is made at its own moment, when the clock shows that: what it says depends on the connection's own packets, and not on how
  /// often packets of others came. Where more than a minute has passed in silence up to `end`, minutes in which nothing could happen to
  /// the connection are left out.
  @inline(never)
  mutating func reportLiving(at moment: Timestamp, upTo end: Timestamp) {
    while let entry = streams.living.pop(at: moment) {
      let flow = reassembler.flows.pointer(entry.flow)
      guard flow.pointee.serial == entry.serial, flow.pointee.phase != .closed, !flow.pointee.reported else { continue }
      report(flow, isFinal: false)
      let next = entry.due.advanced(by: Streams.reportInterval)
      if next <= end, mayChange(flow, at: entry.due) {
        streams.living.add(flow: entry.flow, serial: entry.serial, due: next)
        continue
      }
      let due = Self.nextReport(after: entry.due, beyond: end)
      // At the end of time no further minute comes.
      if due > end { reported.append(ClosingQueue.Entry(due: due, flow: entry.flow, serial: entry.serial)) }
    }
  }

  /// Whether time alone may still change what is known of a connection: messages wait for answers, or segments for those before them.
  private mutating func mayChange(_ flow: Ref<Flow>, at time: Timestamp) -> Bool {
    guard time.time(since: flow.pointee.lastSeen) < Self.longestSilence else { return false }
    let figures = flow.pointee.figures
    return flow.holdsSegments || figures != .max && tracker.figures.pointer(figures).pointee.unsettled > 0
  }

  /// The longest silence of a connection in which each minute is looked at. A profile may have messages wait for longer, and a capture's
  /// clock may leap by years: what becomes of those messages then is in the next report.
  private static var longestSilence: Nanoseconds { .seconds(600) }

  /// Lets the connections that were reported wait for their next minute, the one that comes first in front.
  mutating func awaitReports() {
    guard !reported.isEmpty else { return }
    // After a silence they come from different minutes.
    reported.sort { ($0.due, $0.serial) < ($1.due, $1.serial) }
    for entry in reported { streams.living.add(flow: entry.flow, serial: entry.serial, due: entry.due) }
    reported.removeAll(keepingCapacity: true)
  }

  /// The first moment after `end` that is a whole number of minutes after `due`; the end of time where there is none.
  private static func nextReport(after due: Timestamp, beyond end: Timestamp) -> Timestamp {
    let length = Streams.reportInterval
    let minutes = max(0, end.nanoseconds(since: due)) / length.count
    return due.advanced(by: minutes * length.count).advanced(by: length)
  }
}
