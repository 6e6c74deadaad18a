import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// The metrics above the tables of `imdump stats -i`: the last minute and the whole run side by side, and the clients with the most problems.
///
/// A message counts in the period of its first copy, as with `--per`. Periods are kept apart until their fates are final.
final class LiveMetrics: EngineSink {
  /// Seconds of a period, of the window that is shown, and until fates are final.
  private static let step: Int64 = 5, window: Int64 = 60, final: Int64 = 180
  /// Clients that are shown, and those that are counted; connections whose clients are remembered.
  private static let mostShown = 5, mostClients = 10_000, mostConnections = 65_536

  private let periods: PeriodSink
  private let roles: RoleTable
  private let writer: LivePeriodsWriter
  /// The sum of the periods whose fates are final.
  private var older = PeriodSeries.Row()
  private var clients: [UInt32: IPAddress] = [:]
  private var problems: [IPAddress: ClientProblems] = [:]

  init(plans: [ProtocolPlan]) {
    periods = PeriodSink(PeriodSeries(plans: plans) { $0 / Self.step }, isLive: true)
    roles = RoleTable(plans: plans)
    writer = LivePeriodsWriter(hasChecksums: plans.contains { $0.checksumName != nil })
  }

  static var needs: EngineOptions.Needs { PeriodSink.needs(isLive: true).union([.connections]) }

  /// The lines of a terminal of `width` columns, at `now`, in seconds since 1970; `total` is what the tables show.
  func lines(at now: Int64, _ total: EndpointMetrics, width: Int) -> [String] {
    // The window is whole periods, the last of which is not over.
    let number = now / Self.step
    for (_, row) in periods.takeRows(before: number - Self.final / Self.step) { older.add(row) }
    var whole = older
    whole.add(periods.series.sum(from: .min))
    let minute = periods.series.sum(from: number - Self.window / Self.step + 1)
    let worst = problems.values.sorted { $0.isWorse(than: $1) }.prefix(Self.mostShown)
    let clients = writer.lines(clients: Array(worst), width: width)
    return writer.lines(minute: minute, whole: whole, total: total, width: width)
      + (clients.isEmpty ? [] : [""] + clients)
  }

  // MARK: Events of the engine

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    periods.frame(frame, note, connection, direction, bytes: bytes, body: body, tlvs: tlvs)
    if clients[connection.serial] == nil, clients.count < Self.mostConnections {
      clients[connection.serial] = connection.client.address
    }
    if note.isFurtherCopy, frame.kind.pointee.role == .message {
      change(connection.serial) { $0.retries += 1 }
    }
  }

  func resolved(_ exchange: borrowing Exchange) {
    periods.resolved(exchange)
    guard roles[exchange.plan, exchange.kind] == .message else { return }
    let isLate = Resolution(copy exchange, endpoint: .max).flags.contains(.late)
    switch exchange.fate {
    case .unanswered, .damaged: change(exchange.connection) { $0.lost += 1 }
    case .rejected: change(exchange.connection) { $0.rejected += 1 }
    case .acked, .ackedAfterRetry: if isLate { change(exchange.connection) { $0.lost -= $0.lost > 0 ? 1 : 0 } }
    case .pending, .unacknowledged, .unknown: break
    }
  }

  func ping(_ step: PingStep, _ connection: UInt32, sentAt: Timestamp) {
    periods.ping(step, connection, sentAt: sentAt)
  }
  func issue(_ issue: Issue, _ connection: ConnectionInfo) { periods.issue(issue, connection) }
  func connection(_ report: ConnectionReport) {
    if report.isFinal { clients[report.info.serial] = nil }
  }

  private func change(_ connection: UInt32, _ body: (inout ClientProblems) -> Void) {
    guard let client = clients[connection] else { return }
    guard problems[client] != nil || problems.count < Self.mostClients else { return }
    body(&problems[client, default: ClientProblems(name: "\(client)")])
  }
}
