package import IMEngine
package import IMWire

/// What happened at one server in one period. Counts are of this period only; `active` is what it is at the end.
///
/// Whoever hears of events passes them on and counts nothing: what a figure means is said here. Frames and fates are no difference
/// of two readings: the engine counts them by connection and by type, and its connections are told of in reports, which do not
/// come when a minute ends. What reports tell is a difference: `counts` is what they have grown by.
package struct PeriodMetrics: Sendable {
  /// Messages whose fate was decided in the period. `late` are answers to messages that an earlier period counted.
  package private(set) var messages = MessageTally()
  /// Everything else that asks for an answer, heartbeats excepted.
  package private(set) var control = MessageTally()
  /// Signs of life.
  package private(set) var heartbeats = HeartbeatCounts()
  /// Round trips by Karn's rule, of everything but heartbeats, by the direction of the message.
  package private(set) var roundTrips = RTTByDirection()
  /// How connections began and ended.
  package private(set) var connections = ConnectionCounts()
  /// What became of the protocol's own handshakes, of connections that had their last report.
  package private(set) var handshakes = HandshakeCounts()
  /// Connections that are open.
  package private(set) var active: UInt64 = 0
  /// Frames.
  package private(set) var frames = FrameCounts()
  /// What the reports of connections count, as far as these were reported on in the period.
  package private(set) var counts = ReportCounts()
  /// Holes that the capture made: bytes that reached the other end and were not captured.
  package private(set) var captureGaps: UInt64 = 0

  /// Nothing counted.
  package init() {}

  /// Fits its round trips into `room`, as far as they have more than `before` fine buckets.
  mutating func fit(into room: inout FineBucketRoom, since before: Int) { room.fit(&roundTrips, since: before) }

  /// Counts an exchange whose fate was decided; `elsewhere` when an earlier period has counted it.
  package mutating func resolved(_ exchange: borrowing Exchange, role: FrameRole, elsewhere: Bool) {
    resolved(
      Resolution(copy exchange, endpoint: .max), role: role, elsewhere: elsewhere, roundTrip: exchange.roundTrip)
  }

  /// Counts a settlement; `elsewhere` when an earlier period has counted it. `roundTrip` is its own.
  package mutating func resolved(
    _ resolution: Resolution, role: FrameRole, elsewhere: Bool, roundTrip: Nanoseconds?
  ) {
    switch role {
    case .heartbeat:
      heartbeats.resolved(resolution, elsewhere: elsewhere)
      return
    case .message:
      if elsewhere {
        messages.settledElsewhere(resolution.direction)
      } else {
        messages.resolved(resolution)
      }
    case .acknowledgment, .control, .receipt, .other:
      if elsewhere {
        control.settledElsewhere(resolution.direction)
      } else {
        control.resolved(resolution)
      }
    }
    if let roundTrip { roundTrips.record(roundTrip, resolution.direction) }
  }

  // MARK: A capture

  /// Counts a frame. Of a heartbeat's first copy, or of one that asks for no answer, `beat` is how long after the one before on its connection it came, and how
  /// much that differs from the interval before; and `promised` are the seconds of silence that its client promised not to
  /// exceed, 0 for none.
  package mutating func frame(
    _ frame: borrowing Frame, _ note: FrameNote, _ direction: Direction,
    beat: (interval: Nanoseconds, change: Nanoseconds?)? = nil, promised: UInt64 = 0
  ) {
    frames.add(frame, note, direction)
    guard note.isHeartbeat(frame) else { return }
    heartbeats.sent(after: beat?.interval, change: beat?.change)
    if promised > 0 { heartbeats.expect(seconds: promised) }
  }

  /// Counts a connection on which a frame was decoded, which proves that it was opened.
  package mutating func began(_ info: ConnectionInfo, isOpen: Bool) {
    connections.add(ConnectionCounts(carrying: info))
    if isOpen { active += 1 }
  }

  /// Counts what a report of a connection says that those before it did not.
  package mutating func reported(_ report: borrowing ConnectionReport, _ news: ReportHistory.News) {
    counts.add(news.counts)
    pinged(news.pings)
    if report.isFinal, let outcome = report.handshake, let figures = report.figures { handshakes.add(outcome, figures) }
    if news.isReconnect { connections.reconnects += 1 }
    // One that never carried a frame is a failed attempt, or none that was seen.
    if !news.isDecoded, report.isFinal, report.isFailure { connections.add(ConnectionCounts(beginning: report)) }
    guard news.isEnd else { return }
    connections.add(ConnectionCounts(end: report))
    if active > 0 { active -= 1 }
  }

  /// Counts pings of a carrier that count as heartbeats.
  package mutating func pinged(_ pings: PingCounts) {
    heartbeats.sent += pings.sent
    heartbeats.addPings(pings)
  }

  /// Counts a connection that is over where it began.
  package mutating func began(_ report: borrowing ConnectionReport) {
    connections.add(ConnectionCounts(beginning: report))
  }

  /// Counts a connection that is over where it ended.
  package mutating func ended(_ report: borrowing ConnectionReport) { connections.add(ConnectionCounts(end: report)) }

  /// Counts a hole that the capture made.
  package mutating func missed() { captureGaps += 1 }

  // MARK: An endpoint, which tells of itself

  /// Counts a connection that is being opened.
  package mutating func tried() { connections.attempts += 1 }

  /// Counts a connection that came about.
  package mutating func opened() {
    connections.succeeded += 1
    connections.opened += 1
    active += 1
  }

  /// Counts a connection that is gone.
  package mutating func closed(isReset: Bool) {
    connections.closed += 1
    connections.reset += isReset ? 1 : 0
    active -= active > 0 ? 1 : 0
  }

  /// Counts a connection that did not come about: it was refused, or not answered.
  package mutating func failed(isRefused: Bool) {
    if isRefused { connections.refused += 1 } else { connections.timedOut += 1 }
  }

  /// Takes a connection back that this end wanted no more before it came about.
  package mutating func withdrawn() { connections.attempts -= connections.attempts > 0 ? 1 : 0 }

  /// Counts a client whose connections were all lost, and that has one again.
  package mutating func returned() { connections.reconnects += 1 }

  /// Counts bytes that were sent or came.
  package mutating func passed(_ byteCount: Int, _ direction: Direction) {
    frames.bytes[Int(direction.rawValue)] &+= UInt64(byteCount)
  }

  /// Counts a heartbeat that was sent.
  package mutating func beat() { heartbeats.sent += 1 }

  /// Adds what another period counted. `active` is of one moment, and stays.
  package mutating func add(_ other: PeriodMetrics) {
    messages.add(other.messages)
    control.add(other.control)
    heartbeats.add(other.heartbeats)
    roundTrips.add(other.roundTrips)
    connections.add(other.connections)
    handshakes.add(other.handshakes)
    frames.add(other.frames)
    counts.add(other.counts)
    captureGaps &+= other.captureGaps
  }

  /// Forgets the period's counts; `active` goes on.
  package mutating func begin() {
    let open = active
    self = PeriodMetrics()
    active = open
  }
}
