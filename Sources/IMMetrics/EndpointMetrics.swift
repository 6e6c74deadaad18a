package import IMEngine
package import IMWire

/// The figures of one server, or of a whole run.
///
/// Fates and round trips come from exchanges when they are settled; everything else from the reports of connections when
/// they end. Definitions: `docs/metrics.md`.
package struct EndpointMetrics: Sendable {
  /// Messages: what users or applications said. The success and loss that imdump prints are theirs.
  package private(set) var messages = MessageTally()
  /// Everything else that asks for an answer, heartbeats excepted: control frames, receipts.
  package private(set) var control = MessageTally()
  /// Refused exchanges of every role, by type and status.
  package private(set) var rejections = RejectionCounts()
  /// Signs of life.
  package private(set) var heartbeats = HeartbeatCounts()
  /// Round trips by Karn's rule, of everything but heartbeats, by direction of what was answered, client to server first.
  package private(set) var roundTripsByDirection: InlineArray<2, RTTRecorder> = [RTTRecorder(), RTTRecorder()]
  /// From messages' first copies to the first receipts that say that they were read, by direction of the message, client to server first.
  package private(set) var reads: InlineArray<2, RTTRecorder> = [RTTRecorder(), RTTRecorder()]
  /// From messages' first copies to the first receipts that say that they were delivered, in the same way.
  package private(set) var deliveries: InlineArray<2, RTTRecorder> = [RTTRecorder(), RTTRecorder()]
  /// How connections began and ended.
  package private(set) var connections = ConnectionCounts()
  /// What became of the protocol's own handshakes.
  package private(set) var handshakes = HandshakeCounts()
  /// What the reports of connections count.
  package private(set) var counts = ReportCounts()
  /// How long TCP took.
  package private(set) var tcp = TCPMetrics()
  /// The longest silence that a connection survived, in microseconds; `nil` where there was none.
  package private(set) var longestSilenceSurvived: Int64?
  /// The shortest silence that a connection did not survive, in microseconds; `nil` where there was none.
  package private(set) var shortestFatalSilence: Int64?

  /// What the metrics of one server may cost in memory, in bytes: round trips of every length fill the whole histograms of both
  /// directions.
  package static let cost = 400 << 10

  /// Nothing counted.
  package init() {}

  /// Counts a batch of settlements in `endpoints`, which have the places that the engine gives servers; `roles` tells what
  /// their types are for.
  package static func count(_ batch: Span<Resolution>, _ roles: RoleTable, in endpoints: inout [EndpointMetrics]) {
    guard batch.count > 0 else { return }
    var last: UInt32 = 0
    for i in batch.indices { last = max(last, batch[i].endpoint) }
    reserve(last, in: &endpoints)
    endpoints.withUnsafeMutableBufferPointer { endpoints in
      batch.withUnsafeBufferPointer { batch in
        guard let places = batch.baseAddress else { return }
        for i in 0..<batch.count {
          let place = places + i
          let role = roles[place.pointee.plan, place.pointee.kind]
          let endpoint = Int(place.pointee.endpoint)
          // Nearly all are messages that were simply answered.
          if case .message = role, let (direction, roundTrip) = Resolution.plain(place) {
            endpoints[endpoint].acked(direction, roundTrip)
          } else {
            endpoints[endpoint].resolved(place.pointee, role: role)
          }
        }
      }
    }
  }

  /// Counts a message that was answered after one copy and in time, after so many microseconds; `.max` where no round trip is
  /// known.
  @inline(__always)
  private mutating func acked(_ direction: Direction, _ roundTrip: UInt32) {
    messages.acked(direction)
    if roundTrip != .max {
      roundTripsByDirection[Int(direction.rawValue & 1)].record(microseconds: Int64(roundTrip))
    }
  }

  /// Makes a place for the server with the index `endpoint`.
  package static func reserve(_ endpoint: UInt32, in endpoints: inout [EndpointMetrics]) {
    while endpoints.count <= Int(endpoint) { endpoints.append(EndpointMetrics()) }
  }

  /// The round trips of both directions, put together at each call.
  package var roundTrips: RTTRecorder {
    if roundTripsByDirection[1].count == 0 { return roundTripsByDirection[0] }
    if roundTripsByDirection[0].count == 0 { return roundTripsByDirection[1] }
    var both = roundTripsByDirection[0]
    both.add(roundTripsByDirection[1])
    return both
  }

  /// Whether no exchange was counted.
  package var isEmpty: Bool { messages.isEmpty && control.isEmpty && heartbeats.isEmpty }

  /// Counts a settlement.
  package mutating func resolved(_ resolution: Resolution, role: FrameRole) {
    if !resolution.isPlain, resolution.fate == .rejected { rejections.add(resolution) }
    switch role {
    case .heartbeat:
      heartbeats.resolved(resolution)
      return
    case .message: messages.resolved(resolution)
    case .acknowledgment, .control, .receipt, .other: control.resolved(resolution)
    }
    if let roundTrip = resolution.roundTrip {
      roundTripsByDirection[Int(resolution.direction.rawValue)].record(roundTrip)
    }
  }

  /// Counts the first receipt of its level of a message.
  package mutating func receipt(_ receipt: MessageReceipt) {
    let way = Int(receipt.direction.rawValue)
    switch receipt.level {
    case .delivered: deliveries[way].record(receipt.latency)
    case .read: reads[way].record(receipt.latency)
    }
  }

  /// Counts the time between two heartbeats of a connection.
  package mutating func heartbeat(after interval: Nanoseconds) { heartbeats.spacing.record(interval) }

  /// Counts a heartbeat by itself, which came `interval` after the one before on its connection; `nil` of the first.
  package mutating func beat(after interval: Nanoseconds?) {
    heartbeats.sent(after: interval, change: nil)
    if let interval { heartbeat(after: interval) }
  }

  /// Adds all that another one counted.
  package mutating func add(_ other: EndpointMetrics) {
    addOutcomes(other)
    heartbeats.add(other.heartbeats)
    connections.add(other.connections)
    handshakes.add(other.handshakes)
    counts.add(other.counts)
    tcp.add(other.tcp)
    if let silence = other.longestSilenceSurvived { longestSilenceSurvived = max(longestSilenceSurvived ?? 0, silence) }
    if let silence = other.shortestFatalSilence { shortestFatalSilence = min(shortestFatalSilence ?? .max, silence) }
  }

  /// Adds what another one counted of exchanges; what it counted of connections stays where it is.
  package mutating func addExchanges(_ other: EndpointMetrics) {
    addOutcomes(other)
    heartbeats.addAnswers(other.heartbeats)
  }

  /// Adds what became of messages and control frames.
  private mutating func addOutcomes(_ other: EndpointMetrics) {
    messages.add(other.messages)
    control.add(other.control)
    rejections.add(other.rejections)
    for way in 0...1 {
      roundTripsByDirection[way].add(other.roundTripsByDirection[way])
      reads[way].add(other.reads[way])
      deliveries[way].add(other.deliveries[way])
    }
  }

  /// Adds what a connection counted that is over, or was open when the capture ended; `told` is what its report counts. Where
  /// heartbeats were counted one by one, their cadence is known.
  package mutating func ended(
    _ report: borrowing ConnectionReport, _ told: ReportCounts, hasCountedBeats: Bool = false
  ) {
    counts.add(told)
    connections.add(ConnectionCounts(beginning: report))
    connections.add(ConnectionCounts(end: report))
    tcp.add(report)
    if let beats = report.heartbeats {
      let pings = PingCounts(report)
      if hasCountedBeats {
        heartbeats.absent += UInt64(beats.absent)
        heartbeats.sent += pings.sent
      } else {
        heartbeats.addCadence(beats)
      }
      heartbeats.addPings(pings)
    }
    guard let figures = report.figures else { return }
    if let outcome = report.handshake { handshakes.add(outcome, figures) }
    if report.rare.isReconnect { connections.reconnects += 1 }
    if report.rare.followsCleanClose { connections.reconnectsAfterClose += 1 }
    silences(report, figures)
  }

  private mutating func silences(_ report: borrowing ConnectionReport, _ figures: ConnectionMetrics) {
    guard figures.lastFrameAt != .distantPast else { return }
    let survived = figures.longestSilence.microseconds
    if survived > 0 { longestSilenceSurvived = max(longestSilenceSurvived ?? 0, survived) }
    if let silence = report.fatalSilence?.microseconds {
      shortestFatalSilence = min(shortestFatalSilence ?? .max, silence)
    }
  }
}

extension ConnectionReport {
  /// Whether its handshake was seen from the SYN to its end.
  package var isSuccess: Bool { synCount > 0 && establishedAt != nil }
  /// Whether nobody answered its SYN, or a reset did, so that it never carried a byte.
  package var isFailure: Bool {
    (reason == .refused || reason == .timeout) && streamBytes[0] == 0 && streamBytes[1] == 0
  }
}
