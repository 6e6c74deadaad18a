import IMWire

/// Reports on connections while they live.
extension Engine {
  /// Time from one report to the next, in nanoseconds.
  private static var reportInterval: Int64 { 60_000_000_000 }

  /// Takes note of a connection that has just got its plan; its first report is due in a minute.
  mutating func watch(_ index: UInt32, _ flow: UnsafeMutablePointer<Flow>) {
    guard needs.contains(.progress) else { return }
    let due = moment.advanced(by: Self.reportInterval)
    living.add(flow: index, serial: flow.pointee.serial, due: due)
  }

  /// Reports on the connections whose minute is over. One that has ended gets its last report elsewhere.
  ///
  /// After a long silence all that are due begin a new minute together, so that times in the queue stay in order.
  @inline(never)
  mutating func reportLiving() {
    var earliest = Timestamp.distantPast
    while let entry = living.pop(at: now) {
      let flow = reassembler.flows.pointer(entry.flow)
      guard flow.pointee.serial == entry.serial, flow.pointee.phase != .closed, !flow.pointee.reported else { continue }
      report(flow, isFinal: false)
      var due = max(entry.due.advanced(by: Self.reportInterval), earliest)
      if due <= now {
        due = now.advanced(by: Self.reportInterval)
        earliest = due
      }
      // At the end of time no further minute comes.
      if due > now { living.add(flow: entry.flow, serial: entry.serial, due: due) }
    }
  }

  /// Tells of bytes that were passed over in search of a frame which never came.
  mutating func tellSkipped(_ flow: UnsafeMutablePointer<Flow>) {
    guard flow.pointee.journal != .max else { return }
    for side in 0...1 {
      let note = reassembler.note(flow, side)
      let total = note.pointee.skipped
      guard total > 0 else { continue }
      note.pointee.skipped = 0
      raise(
        Issue(
          .resynchronised, timestamp: now, direction: flow.pointee.direction(side),
          streamOffset: reader(flow, side)?.pointee.innerSkippedFrom ?? flow.half(side).pointee.offset &- total,
          byteCount: total), flow)
    }
  }
}
