import IMWire

/// The figures that the tracker keeps of connections.
extension Tracker {
  /// Whether rare figures, or those of heartbeats, are nearly all in use, and there may be no more of them.
  var isShortOfRareFigures: Bool {
    isShort(rareFigures.count, rareFigures.room, OwnedPool<RareMetrics>.growthCost)
  }
  var isShortOfHeartbeats: Bool {
    isShort(heartbeats.count, heartbeats.room, OwnedPool<HeartbeatMetrics>.growthCost)
  }

  /// The same of what is kept of carriers.
  var isShortOfCarriers: Bool {
    carriers.count > 0 && carriers.room <= 64 && !budget.admits(.connections, Self.carrierGrowth)
  }
  static var carrierGrowth: Int { OwnedPool<CarrierRecord>.growthCost }

  private func isShort(_ count: Int, _ room: Int, _ growth: Int) -> Bool {
    count > 0 && room <= 64 && !budget.admits(.decoded, growth)
  }

  /// The other figures of a connection, made when they are not there. They are made also beyond the limit; room is made
  /// behind the frame.
  mutating func rare(_ figure: Ref<ConnectionMetrics>, _ flow: Ref<Flow>) -> Ref<RareMetrics> {
    if figure.pointee.rare == .max {
      if rareFigures.room == 0 { budget.take(.decoded, OwnedPool<RareMetrics>.growthCost) }
      figure.pointee.rare = rareFigures.allocate(RareMetrics(), owner: flow.pointee.index)
      if isShortOfRareFigures { sessions.hasNews = true }
    }
    return rareFigures.pointer(figure.pointee.rare)
  }

  /// The same of a connection that is decoded.
  mutating func rare(of flow: Ref<Flow>) -> Ref<RareMetrics> {
    rare(figures.pointer(flow.pointee.figures), flow)
  }

  /// The figures of a connection's heartbeats, in the same way.
  mutating func beats(_ figure: Ref<ConnectionMetrics>, _ flow: Ref<Flow>) -> Ref<HeartbeatMetrics> {
    if figure.pointee.heartbeats == .max { figure.pointee.heartbeats = newBeats(of: flow) }
    return heartbeats.pointer(figure.pointee.heartbeats)
  }

  /// The index of new metrics of heartbeats, for `flow`.
  mutating func newBeats(of flow: Ref<Flow>) -> UInt32 {
    if heartbeats.room == 0 { budget.take(.decoded, OwnedPool<HeartbeatMetrics>.growthCost) }
    let place = heartbeats.allocate(HeartbeatMetrics(), owner: flow.pointee.index)
    if isShortOfHeartbeats { sessions.hasNews = true }
    return place
  }

  /// The other figures as reports have them.
  mutating func rareFigures(of figures: ConnectionMetrics) -> RareMetrics {
    var result = figures.rare == .max ? RareMetrics() : rareFigures.pointer(figures.rare).pointee
    for way in 0...1 {
      result.fates[way].units = figures.units[way]
      result.fates[way].acked = figures.acked[way]
    }
    result.unansweredControls = figures.unansweredControls
    return result
  }

  /// Whether an answer, perhaps on another connection of the session, may still change these figures.
  mutating func mayStillChange(_ index: UInt32) -> Bool {
    let figure = figures.pointer(index)
    if figure.pointee.unsettled > 0 || figure.pointee.unansweredControls > 0 { return true }
    if figure.pointee.heartbeats != .max {
      let beats = heartbeats.pointer(figure.pointee.heartbeats)
      if beats.pointee.missed > 0 || beats.pointee.unknown > 0 { return true }
    }
    guard figure.pointee.rare != .max else { return false }
    let rare = rareFigures.pointer(figure.pointee.rare)
    return (0...1).contains { way in
      let fates = rare.pointee.fates[way]
      return fates.unanswered > 0 || fates.damaged > 0 || fates.unknown > 0
    }
  }

  /// Counts one more, or with `step` -1 one less, of `outcome` in direction `way`, for a type that has this role.
  @inline(__always)
  mutating func count(
    _ figure: Ref<ConnectionMetrics>, _ flow: Ref<Flow>, _ role: FrameRole, _ outcome: FateAndCause, _ way: Int,
    by step: Int32 = 1
  ) {
    if role != .message {
      if role != .heartbeat { countControl(figure, flow, outcome.fate, step) }
    } else if outcome.fate == .acked {
      figure.pointee.acked[way] &+= UInt32(bitPattern: step)
    } else {
      rare(figure, flow).pointee.fates[way].count(outcome, step)
    }
  }

  private mutating func countControl(
    _ figure: Ref<ConnectionMetrics>, _ flow: Ref<Flow>, _ fate: Fate, _ step: Int32
  ) {
    guard fate.isFailure else { return }
    let n = UInt32(bitPattern: step)
    if fate == .rejected {
      rare(figure, flow).pointee.rejectedControls &+= n
    } else {
      figure.pointee.unansweredControls &+= n
    }
  }

  /// Gives the figures of a connection that is forgotten back.
  mutating func release(_ index: UInt32) {
    let figure = figures.pointer(index)
    if figure.pointee.heartbeats != .max { heartbeats.release(figure.pointee.heartbeats) }
    if figure.pointee.rare != .max { rareFigures.release(figure.pointee.rare) }
    figures.release(index)
  }
}
