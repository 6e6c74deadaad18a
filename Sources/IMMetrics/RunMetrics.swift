package import IMEngine

/// The figures of a run: of every server that a profile decodes, and of all together.
///
///     let metrics = RunMetrics(plans: plans)
///     // in the sink:
///     metrics.frame(note, info)
///     metrics.settled(exchange)
///     metrics.connection(report)
///     // at the end:
///     metrics.total.roundTrips.percentile(95)
///     metrics.endpoints[0].ratios.success
///
/// Frames tell which endpoint an exchange belongs to. Who knows that without them calls `settled(_:endpoint:)`: one call
/// for each settled exchange costs two array places and two histogram counters. `endpoint(of:)` is a dictionary, so callers
/// keep its answer with the connection.
package final class RunMetrics {
  /// Figures of the whole run, also of connections that belong to no endpoint.
  package private(set) var total = EndpointMetrics(key: nil)
  /// Figures by endpoint, in the order in which they appeared.
  package private(set) var endpoints: [EndpointMetrics] = []
  private var table: EndpointTable
  private let roles: RoleTable
  private var book = ExchangeBook()
  /// Exchanges that were settled before the frame of their first copy was told: it comes next.
  private var early: [Exchange] = []
  private static let maximumEarly = 8
  /// The connection of the last frame, its plan and its endpoint.
  private var last: (serial: UInt32, plan: UInt8, endpoint: UInt32?) = (0, .max, nil)

  /// Nothing counted yet of what `plans` decode.
  package init(plans: [ProtocolPlan]) {
    table = EndpointTable(plans: plans)
    roles = RoleTable(plans: plans)
  }

  /// The index in `endpoints` of a connection's server, as long as a plan decodes it; `nil` for others.
  package func endpoint(of info: ConnectionInfo) -> UInt32? {
    let index = table.index(of: info)
    grow()
    return index
  }

  /// Takes note of a frame: where the exchange belongs that it begins.
  package func frame(_ note: FrameNote, _ info: ConnectionInfo) {
    guard note.copy == 1 else { return }
    if last.serial != info.serial || last.plan != info.plan { last = (info.serial, info.plan, endpoint(of: info)) }
    book.add(note.exchange, owner: last.endpoint ?? .max)
    guard let place = early.firstIndex(where: { $0.id == note.exchange }) else { return }
    settled(early.remove(at: place))
  }

  /// Counts an exchange whose fate was decided, at the endpoint of its first frame and in the total.
  package func settled(_ exchange: borrowing Exchange) {
    if let entry = book.settle(exchange.id) {
      settled(exchange, endpoint: entry.owner == .max ? nil : entry.owner)
      return
    }
    if early.count >= Self.maximumEarly { settled(early.removeFirst(), endpoint: nil) }
    early.append(copy exchange)
  }

  /// Counts what still waits for its frame. After the engine's `finish`.
  package func finish() {
    for exchange in early { settled(exchange, endpoint: nil) }
    early.removeAll()
  }

  /// Counts an exchange whose fate was decided, at `endpoint` and in the total; `nil` counts in the total only.
  package func settled(_ exchange: borrowing Exchange, endpoint: UInt32?) {
    let role = roles[exchange.plan, exchange.kind]
    total.settled(exchange, role: role)
    if let endpoint, Int(endpoint) < endpoints.count { endpoints[Int(endpoint)].settled(exchange, role: role) }
  }

  /// Counts a connection at its last report; reports while it lives change nothing.
  package func connection(_ report: borrowing ConnectionReport) {
    guard report.isFinal else { return }
    total.ended(report)
    let index = table.index(of: report.info, failed: report.isFailure)
    grow()
    if let index, Int(index) < endpoints.count { endpoints[Int(index)].ended(report) }
  }

  private func grow() {
    while endpoints.count < table.keys.count { endpoints.append(EndpointMetrics(key: table.keys[endpoints.count])) }
  }
}
