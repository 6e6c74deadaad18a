import IMWire

/// Reports on connections while they live.
extension Connections {
  /// Reports on the connections whose minute ends at `moment`, a time that has come. A connection that has ended gets its last report elsewhere.
  ///
  /// Each report is made at its own moment, when the clock reaches it: its content depends on the connection's own packets, and not on how often
  /// packets of other connections came. If more than a minute of silence has passed up to `end`, minutes in which nothing could happen to the
  /// connection are skipped.
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

  /// Whether time alone may still change the state of a connection: messages wait for answers, or segments for those before them.
  private mutating func mayChange(_ flow: Ref<Flow>, at time: Timestamp) -> Bool {
    guard time.time(since: flow.pointee.lastSeen) < Self.longestSilence else { return false }
    let figures = flow.pointee.figures
    return flow.holdsSegments || figures != .max && tracker.figures.pointer(figures).pointee.unsettled > 0
  }

  /// The longest silence of a connection during which each minute is examined. A profile may let messages wait longer, and a capture's clock may jump
  /// by years: the next report then has the outcome of those messages.
  private static var longestSilence: Nanoseconds { .seconds(600) }

  /// Queues the reported connections for their next minute, the earliest first.
  mutating func awaitReports() {
    guard !reported.isEmpty else { return }
    // After a silence, their minutes differ.
    reported.sort { ($0.due, $0.serial) < ($1.due, $1.serial) }
    for entry in reported { streams.living.add(flow: entry.flow, serial: entry.serial, due: entry.due) }
    reported.removeAll(keepingCapacity: true)
  }

  /// The first moment after `end` that is a whole number of minutes after `due`; the maximum time if there is none.
  private static func nextReport(after due: Timestamp, beyond end: Timestamp) -> Timestamp {
    let length = Streams.reportInterval
    let minutes = max(0, end.nanoseconds(since: due)) / length.count
    return due.advanced(by: minutes * length.count).advanced(by: length)
  }
}
