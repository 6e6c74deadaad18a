import CMachine
import IMWire

/// Where exchanges are: in the window of their session, or in the index of all.
extension Tracker {
  /// Other exchanges that may stand before the one that is looked for; a search that passes more is a long walk.
  private static var shortWalk: Int { 8 }
  /// After so many long walks a session has too much under way for its window, and moves to the index.
  private static var patience: UInt8 { 40 }

  /// The newest exchange of a number, `nil` when there is none.
  @inline(__always)
  mutating func find(
    _ session: UInt32, _ direction: Direction, _ sequence: UInt64
  ) -> Ref<KeptExchange>? {
    guard let place = sessions.pointer(session).exchanges(session, direction, sequence) else {
      return table.find(session, direction, sequence)
    }
    let (found, steps) = table.find(session, direction, sequence, at: place)
    if steps > Self.shortWalk { noteLongWalk(session) }
    return found
  }

  /// The next older one with the same number.
  mutating func next(after exchange: Ref<KeptExchange>) -> Ref<KeptExchange>? {
    let (found, steps) = table.next(after: exchange)
    if steps > Self.shortWalk { noteLongWalk(exchange.pointee.session) }
    return found
  }

  /// Puts an open exchange at the front, where its number is looked for; there is room. Who knows it by its link learns of the
  /// new one. Its connection is remembered, as those of all open exchanges are.
  mutating func moveToFront(_ exchange: Ref<KeptExchange>) {
    let former = table.link(of: exchange)
    let session = exchange.pointee.session
    let place = sessions.pointer(session).exchanges(session, exchange.pointee.direction, table.sequence(of: exchange))
    let moved = table.move(exchange, to: place)
    let link = table.link(of: moved)
    if moved.pointee.mayHaveCopyElsewhere, let copy = elsewhere.removeValue(forKey: former) {
      elsewhere[link] = copy
    }
    guard moved.pointee.isHandshake else { return }
    let figure = figures.pointer(flows.pointer(moved.pointee.flow).pointee.figures)
    if figure.pointee.handshakeExchange == former { figure.pointee.handshakeExchange = link }
  }

  /// Asks for what is known of bytes of a flow that are missing.
  @inline(__always)
  func prefetchLosses(of flow: Ref<Flow>) {
    guard flow.pointee.figures != .max else { return }
    let rare = figures.pointer(flow.pointee.figures).pointee.rare
    guard rare != .max else { return }
    rareFigures.pointer(rare).prefetch()
  }

  /// Asks for what exchanges of a record's frame are found by.
  @inline(__always)
  func prefetchSession(of record: UnsafePointer<FrameRecord>, _ flow: Ref<Flow>) {
    let session = flow.pointee.session
    let place = sessions.pointer(session)
    place.prefetch(at: 0)
    place.prefetch(at: 64)
    if table.hasIndex { table.prefetchSlots(WantedExchange(session: session, sequence: record.pointee.wanted)) }
  }

  /// Asks for the newest exchange that a record's frame seems to belong to; its session was asked for before. A message whose
  /// number counts is new, but for the few that are sent again.
  @inline(__always)
  func prefetchExchange(of record: UnsafePointer<FrameRecord>) {
    guard record.pointee.isAnswer || !record.pointee.kind.pointee.flags.contains(.numbered) else { return }
    let id = flows.pointer(record.pointee.flow).pointee.session
    let sequence = record.pointee.wanted
    let direction = record.pointee.isAnswer ? record.pointee.direction.reversed : record.pointee.direction
    guard let place = sessions.pointer(id).exchanges(id, direction, sequence) else {
      return table.prefetchIndexed(WantedExchange(session: id, sequence: sequence))
    }
    table.prefetch(place.pointee)
  }

  /// Asks for the newest exchanges that a frame seems to belong to; what they are found by was asked for before.
  @inline(__always)
  func prefetchExchange(_ wanted: WantedExchange) {
    let session = sessions.pointer(wanted.session)
    guard let place = session.exchanges(wanted.session, .clientToServer, wanted.sequence) else {
      return table.prefetchIndexed(wanted)
    }
    table.prefetch(place.pointee)
    table.prefetch(place[ExchangeWindow.width])
  }

  @inline(never)
  private mutating func noteLongWalk(_ id: UInt32) {
    let session = sessions.pointer(id)
    guard sessions.isKnown(id), session.pointee.hasWindow else { return }
    session.pointee.longWalks &+= 1
    guard session.pointee.longWalks == Self.patience else { return }
    crowded.append(id)
    sessions.hasNews = true
  }

  /// Moves the exchanges of sessions that have too many for their window to the index.
  mutating func indexCrowded() {
    for id in crowded where sessions.isKnown(id) {
      sessions.pointer(id).pointee.hasWindow = false
      table.index(&sessions.pointer(id).pointee.window)
    }
    crowded.removeAll(keepingCapacity: true)
  }

  /// Begins a session called `key`. What the one that had to go for it has open is found in the index from now on.
  mutating func beginSession(
    _ key: UInt64, on flow: Ref<Flow>, _ flowIndex: UInt32, place: UInt64, _ plan: UnsafePointer<Plan>
  ) -> UInt32 {
    let index = sessions.add(
      key, flow.pointee.profile.plan, flow: flowIndex, serial: flow.pointee.serial, place: place,
      counts: plan.pointee.sequenceCounts, flows)
    if var window = sessions.displaced {
      sessions.displaced = nil
      table.index(&window)
    }
    return index
  }
}
