import IMWire

/// Reports on connections while they live.
extension Connections {
  /// Reports on the connections whose minute is over. One that has ended gets its last report elsewhere.
  ///
  /// After a long silence all that are due begin a new minute together, so that times in the queue stay in order.
  @inline(never)
  mutating func reportLiving() {
    var earliest = Timestamp.distantPast
    while let entry = streams.living.pop(at: clock.now) {
      let flow = reassembler.flows.pointer(entry.flow)
      guard flow.pointee.serial == entry.serial, flow.pointee.phase != .closed, !flow.pointee.reported else { continue }
      report(flow, isFinal: false)
      var due = max(entry.due.advanced(by: Streams.reportInterval), earliest)
      if due <= clock.now {
        due = clock.now.advanced(by: Streams.reportInterval)
        earliest = due
      }
      // At the end of time no further minute comes.
      if due > clock.now { streams.living.add(flow: entry.flow, serial: entry.serial, due: due) }
    }
  }

}
