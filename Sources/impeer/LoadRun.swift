import Glibc
import IMDocuments
import IMEndpoint
import IMMetrics
import IMOutput
import IMWire

/// A load: clients that connect, send for a while, and wait until the fate of every message is known.
final class LoadRun {
  let loop: EventLoop
  var maker: MessageMaker
  let ledger: Ledger?
  /// Whether sockets get more than `TCP_NODELAY`.
  let tunesSockets: Bool
  /// Messages under way on each connection, when there is no rate.
  let window: Int?
  private let options: Load
  private(set) var clients: [LoadClient] = []
  private(set) var isSending = false
  private var next = 0
  private var server: Endpoint?
  var tally = LoadTally()
  private(set) var reporter: Reporter?
  /// Whether an alert fired.
  private(set) var hasAlerted = false

  init(_ options: Load) throws(Complaint) {
    self.options = options
    maker = MessageMaker(options.mix, sizes: options.size.range)
    tunesSockets = options.client.tunesSockets
    window = options.rate == 0 ? options.window : nil
    ledger = if let path = options.ledger { try Ledger(path) } else { nil }
    do throws(TransportError) { loop = try EventLoop() } catch { throw Complaint(error.description, .system) }
  }

  /// Called when the clients begin to connect.
  var onStart: () -> Void = {}

  /// Runs the load to its end, against `endpoint` or the server that the options name.
  func perform(_ endpoint: Endpoint? = nil) throws(Complaint) {
    let server = if let endpoint { endpoint } else { try options.connection.resolved()[0] }
    self.server = server
    let tls = try options.connection.security()
    reporter = try Reporter(options.report, .client, server: server, isQuiet: options.isQuiet)
    reporter?.metrics = { [unowned self] in metrics }
    do throws(TransportError) {
      try connect(server, tls)
      try sendAll()
      try drain()
      try end()
    } catch {
      throw Complaint(error.description, .system)
    }
    hasAlerted = try reporter?.finish(at: monotonicNow()) ?? false
    ledger?.file.flush()
    if let problem = ledger?.file.problem { throw Complaint(problem, .cannotCreate) }
  }

  private func connect(_ server: Endpoint, _ tls: TLSContext?) throws(TransportError) {
    onStart()
    for number in 0..<options.connections {
      let user = options.users ? "load-\(number)" : nil
      let client = LoadClient(
        self, number: number, options.client.configuration(server: server, user: user, number: UInt64(number)), tls: tls
      )
      clients.append(client)
      if options.connections < 1_000 || number == 0 { try? client.transport.watchPath(to: server) }
      client.connect()
      // The kernel's queue of the server takes so many at a time.
      if number % 128 == 127 { try loop.turn(longest: 2_000_000) }
    }
    let end = monotonicNow() + options.connectLimit * 1_000_000_000
    while clients.contains(where: { !$0.isUp }), monotonicNow() < end, !isInterrupted {
      if options.connections <= 10, options.rate > 0 { return }
      try turn()
    }
  }

  private func sendAll() throws(TransportError) {
    isSending = true
    let end = monotonicNow() + Int64(options.duration * 1e9)
    var pace: Pace?
    if options.rate > 0 {
      pace = Pace(loop, rate: options.rate) { [unowned self] due in send(due) }
    } else {
      for client in clients { client.transport.update { _, _ in } }
    }
    while monotonicNow() < end, !isInterrupted { try turn() }
    pace?.stop()
    isSending = false
  }

  /// Sends `count` messages, from each client in turn; how many were taken.
  private func send(_ count: Int) -> Int {
    var taken = 0
    for _ in 0..<count {
      next = (next + 1) % clients.count
      if clients[next].send() { taken += 1 }
    }
    return taken
  }

  private func drain() throws(TransportError) {
    let end = monotonicNow() + Int64(options.drain * 1e9)
    while tally.open > 0, monotonicNow() < end, !isInterrupted { try turn() }
  }

  private func end() throws(TransportError) {
    for client in clients { client.disconnect() }
    let end = monotonicNow() + 2_000_000_000
    while clients.contains(where: { $0.transport.connectionCount > 0 }), monotonicNow() < end { try turn() }
    for client in clients { client.transport.shutDown() }
    progress.end()
  }

  private lazy var progress = Progress(isQuiet: options.isQuiet)

  /// Why there was nothing to send on: no client ever had a connection. Nil where one had.
  var problem: String? {
    guard tally.connecting.count == 0, let server else { return nil }
    let reason = clients.lazy.compactMap(\.lastFailure).first.map { ": \($0)" } ?? ""
    return "no connection to \(server)\(reason)"
  }

  /// What all clients have counted.
  var metrics: IMEndpoint.EndpointMetrics {
    clients.reduce(into: IMEndpoint.EndpointMetrics()) { $0.add($1.transport.core.metrics) }
  }

  private func turn() throws(TransportError) {
    try loop.turn(longest: 100_000_000)
    reporter?.advance(to: loop.now)
    progress.show(tally, at: loop.now)
  }
}
