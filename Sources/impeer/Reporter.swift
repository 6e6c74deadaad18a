import Glibc
import IMAlerts
import IMDelivery
import IMDocuments
import IMEndpoint
import IMOutput
import IMSystem
import IMWire

/// Tells of this end while it works: documents and alerts, from what its cores count and its connections carry.
final class Reporter {
  private let alerts: PeerAlerts
  private let file: LineFile?
  private let report: PeerReport
  /// What is added to a moment to have nanoseconds since 1970.
  private let epoch: Int64
  /// The end's counters, in all.
  var metrics: () -> IMEndpoint.EndpointMetrics = { IMEndpoint.EndpointMetrics() }

  /// What `options` ask for; nil when that is nothing. Throws for files that cannot be made or read, and for wrong rules.
  init?(_ options: ReportOptions, _ role: PeerReport.Role, server: Endpoint, isQuiet: Bool) throws(Complaint) {
    guard options.isWanted else { return nil }
    do throws(UsageError) {
      alerts = try PeerAlerts(options.alerts, sensor: options.sensor, isQuiet: isQuiet)
    } catch {
      throw Complaint(error.message, .usage)
    }
    let file = if let path = options.documents { try LineFile(path) } else { LineFile?.none }
    self.file = file
    report = PeerReport(
      role, server: server, plan: alerts.plan, rules: alerts.rules, context: alerts.context(version: imdumpVersion),
      write: { file?.append($0) }, tell: { [alerts] in alerts.take($0) })
    epoch = wallClockOffset()
    report.counted = { [unowned self] in
      Dictionary(metrics().values.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
    alerts.resume(report, at: time(monotonicNow()))
  }

  /// The ear on the connections of a client, or of the server.
  func tap(client: Int?) -> any WireTap { ReportTap(self, client: client) }

  /// Time goes on.
  func advance(to now: Int64) {
    report.advance(to: time(now))
    alerts.keepState(of: report)
    file?.flush()
  }

  /// The last documents, and the end of what delivers alerts. Whether an alert fired; throws where something was lost.
  func finish(at now: Int64) throws(Complaint) -> Bool {
    report.finish(at: time(now), keepsState: alerts.keepsState)
    file?.flush()
    let isKept = alerts.writeState(of: report)
    let isDelivered = alerts.end()
    if let problem = file?.problem { throw Complaint(problem, .cannotCreate) }
    if !isKept { throw Complaint("the state of the rules was not written", .cannotCreate) }
    if !isDelivered { throw Complaint("alerts were not delivered", .system) }
    return report.alertFigures.fired > 0
  }

  // MARK: what happens

  func opening(at now: Instant) { report.opening(at: time(now)) }
  func opened(_ client: Int, from address: Endpoint, wasAsked: Bool, at now: Instant) {
    report.opened(UInt32(client + 1), from: address, wasAsked: wasAsked, at: time(now))
  }
  func closed(_ client: Int, hadComeAbout: Bool, because reason: PeerReport.CloseReason, at now: Instant) {
    report.closed(UInt32(client + 1), hadComeAbout: hadComeAbout, because: reason, at: time(now))
  }
  func returned(_ client: Int, at now: Instant) { report.returned(UInt32(client + 1), at: time(now)) }
  func passed(_ byteCount: Int, _ direction: Direction, at now: Instant) {
    report.passed(byteCount, direction, at: time(now))
  }
  func sent(by client: Int, at now: Instant) -> UInt32 { report.sent(by: UInt32(client + 1), at: time(now)) }
  func resolved(_ id: UInt32, by client: Int, isAnswered: Bool, copies: Int, sentAt: Instant, at now: Instant) {
    report.resolved(
      id, by: UInt32(client + 1), isAnswered: isAnswered, copies: copies, sentAt: time(sentAt), at: time(now))
  }
  func beat(at now: Instant) { report.beat(at: time(now)) }
  func beatSettled(by client: Int, isAnswered: Bool, roundTrip: Int64?, at now: Instant) {
    report.beatSettled(
      by: UInt32(client + 1), isAnswered: isAnswered, roundTrip: roundTrip, at: time(now))
  }

  private func time(_ moment: Instant) -> Timestamp { time(moment.nanoseconds) }
  private func time(_ nanoseconds: Int64) -> Timestamp {
    let wall = nanoseconds &+ epoch
    return Timestamp(seconds: wall / 1_000_000_000, fraction: wall % 1_000_000_000)
  }
}

/// What is added to a moment of the loop's clock to have nanoseconds since 1970.
func wallClockOffset() -> Int64 {
  var wall = timespec()
  clock_gettime(CLOCK_REALTIME, &wall)
  return Int64(wall.tv_sec) &* 1_000_000_000 &+ Int64(wall.tv_nsec) &- monotonicNow()
}

/// The reporter's ear on the connections of one transport.
private final class ReportTap: WireTap {
  private let reporter: Reporter
  /// Which client's connections they are; nil for a server's, each of which is a client of its own.
  private let client: Int?
  private var opened: [ConnectionID: Int] = [:]
  private var accepted = 0

  init(_ reporter: Reporter, client: Int?) {
    self.reporter = reporter
    self.client = client
  }

  func opening(_ connection: ConnectionID, to remote: Endpoint, at now: Instant) { reporter.opening(at: now) }

  func opened(_ connection: ConnectionID, local: Endpoint?, remote: Endpoint, at now: Instant) {
    accepted += 1
    opened[connection] = client ?? accepted
    reporter.opened(
      client ?? accepted, from: client == nil ? remote : local ?? remote, wasAsked: client != nil, at: now)
  }

  func wrote(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) {
    reporter.passed(bytes.byteCount, client == nil ? .serverToClient : .clientToServer, at: now)
  }

  func read(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) {
    reporter.passed(bytes.byteCount, client == nil ? .clientToServer : .serverToClient, at: now)
  }

  func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant) {
    let known = opened.removeValue(forKey: connection)
    let word: PeerReport.CloseReason =
      switch reason {
      case .reset: .reset
      case .refused: .refused
      case .timedOut, .unreachable: .timedOut
      case .requested: .requested
      case .finished, .secureChannel, .system: .other
      }
    reporter.closed(known ?? client ?? 0, hadComeAbout: known != nil, because: word, at: now)
  }
}

/// Several ears on the same connections.
final class Taps: WireTap {
  private let taps: [any WireTap]

  private init(_ taps: [any WireTap]) { self.taps = taps }

  /// One ear for those that there are; nil for none.
  static func joined(_ taps: (any WireTap)?...) -> (any WireTap)? {
    let taps = taps.compactMap { $0 }
    return taps.count > 1 ? Taps(taps) : taps.first
  }

  func opening(_ connection: ConnectionID, to remote: Endpoint, at now: Instant) {
    for tap in taps { tap.opening(connection, to: remote, at: now) }
  }
  func opened(_ connection: ConnectionID, local: Endpoint?, remote: Endpoint, at now: Instant) {
    for tap in taps { tap.opened(connection, local: local, remote: remote, at: now) }
  }
  func wrote(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) {
    for tap in taps { tap.wrote(bytes, on: connection, at: now) }
  }
  func read(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) {
    for tap in taps { tap.read(bytes, on: connection, at: now) }
  }
  func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant) {
    for tap in taps { tap.closed(connection, because: reason, at: now) }
  }
}
