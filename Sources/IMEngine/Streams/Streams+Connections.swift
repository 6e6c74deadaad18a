import IMWire

/// What begins when a connection has got its plan.
extension Streams {
  /// Time from one report on a living connection to the next.
  static var reportInterval: Nanoseconds { .seconds(60) }
  /// Free places for figures that are kept ready: a connection needs one.
  private static var margin: Int { 64 }

  /// Registers a connection that has just got its plan. Its first report is due in a minute, at a tick of the clock: reports that are due then are
  /// made before a packet of that time, whichever connections have packets.
  mutating func watch(_ index: UInt32, _ flow: Ref<Flow>) {
    guard needs.contains(.progress) else { return }
    let due = PacketClock.tick(before: clock.moment.advanced(by: Self.reportInterval))
    living.add(flow: index, serial: flow.pointee.serial, due: due)
  }

  /// What a connection costs that a plan decodes, without its rare figures and those of its heartbeats.
  private var costOfFigures: Int { Pool<ConnectionMetrics>.costPerElement + 32 + sinkCost }
  private var growthOfFigures: Int { Pool<ConnectionMetrics>.growth * costOfFigures }

  /// Whether figures of connections are nearly all in use, and there may be no more of them.
  var isShortOfFigures: Bool { tracker.figures.room <= Self.margin && !budget.admits(.decoded, growthOfFigures) }

  /// Sees to it that there is room for one more connection's figures, or soon will be.
  mutating func makeRoomForFigures() {
    guard tracker.figures.room <= Self.margin else { return }
    if budget.admits(.decoded, growthOfFigures) {
      if tracker.figures.room == 0 { budget.take(.decoded, growthOfFigures) }
    } else {
      clock.wakeNow()
    }
  }
}
