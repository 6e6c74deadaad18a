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
  private var kills = 0
  private var token: [UInt8]?
  /// How much messages matter.
  let priority: Priority
  /// Whether each client writes to the next.
  let isRing: Bool
  private let ringName = String(UInt32.random(in: 0 ... .max), radix: 36)
  /// Whether a client's state outlives its process.
  let keepsState: Bool
  /// Where both ends of a ring disagree, complete when the run has ended.
  var differences = RingDifferences()
  private var server: Endpoint?
  var tally = LoadTally()
  private(set) var reporter: Reporter?
  /// Whether an alert fired.
  private(set) var hasAlerted = false

  init(_ options: Load) throws(Complaint) {
    self.options = options
    maker = MessageMaker(options.mix, sizes: options.size.range)
    tunesSockets = options.client.tunesSockets
    (priority, isRing) = (options.priority.priority, options.isRing)
    keepsState = options.isRing && options.killRate > 0
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
    token = try options.connection.token()
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
      let user = options.users || isRing ? name(of: number) : nil
      var configuration = options.client.configuration(server: server, user: user, number: UInt64(number))
      configuration.token = token
      let client = LoadClient(self, number: number, configuration, tls: tls)
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
    if options.backlog.bytes > 0 { for client in clients { client.fill(options.backlog.bytes) } }
    isSending = true
    let end = monotonicNow() + Int64(options.duration * 1e9)
    var pace: Pace?
    if options.rate > 0 {
      pace = Pace(loop, rate: options.rate) { [unowned self] due in send(due) }
    } else {
      for client in clients { client.transport.update { _, _ in } }
    }
    let killer = options.killRate > 0 ? Pace(loop, rate: options.killRate) { [unowned self] due in kill(due) } : nil
    while monotonicNow() < end, !isInterrupted { try turn() }
    pace?.stop()
    killer?.stop()
    isSending = false
  }

  /// Kills what `count` clients have, one after another.
  private func kill(_ count: Int) -> Int {
    for _ in 0..<count {
      // A stride that has no divisor in common with most counts of clients.
      let client = clients[kills * 7_919 % clients.count]
      if keepsState, kills % 2 == 1 { client.killProcess() } else { client.killConnections() }
      kills += 1
    }
    return count
  }

  // MARK: the ring

  /// The name of a client. In a ring it is of this run alone: what an earlier run left at the server is for others.
  func name(of client: Int) -> String { isRing ? "load-\(ringName)-\(client)" : "load-\(client)" }

  /// The client that another one writes to.
  func next(after client: Int) -> Int { (client + 1) % max(1, options.connections) }

  /// Whether a message has arrived at the client that it was for.
  func hasArrived(_ number: UInt64, from client: Int) -> Bool { clients[next(after: client)].arrivals.has(number) }

  /// Messages that reached the clients that they were for.
  var arrived: UInt64 { clients.reduce(0) { $0 + $1.arrivals.count } }
  /// Messages that were called late.
  var late: UInt64 { clients.reduce(0) { $0 + $1.arrivals.late } }
  /// Whether both ends of a ring disagree about a message.
  var hasDifferences: Bool { differences.count > 0 }

  /// Compares what each client was told with what the next one has got.
  private func compare() {
    for (place, client) in clients.enumerated() {
      let arrivals = clients[next(after: place)].arrivals
      for number in 0..<client.count {
        if client.failures.contains(number) {
          if arrivals.has(number) { differences.failedAndArrived += 1 }
        } else if !client.isOpen(number), !arrivals.has(number) {
          differences.lost += 1
        }
      }
      differences.duplicates += client.arrivals.duplicates
      differences.disordered += client.arrivals.disordered
      differences.strange += client.arrivals.strange
    }
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
    while tally.open > 0 || isRing && arrived < tally.delivered, monotonicNow() < end, !isInterrupted { try turn() }
    if isRing { compare() }
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
    clients.reduce(into: IMEndpoint.EndpointMetrics()) { $0.add($1.metrics) }
  }

  private func turn() throws(TransportError) {
    try loop.turn(longest: 100_000_000)
    reporter?.advance(to: loop.now)
    progress.show(tally, at: loop.now)
  }
}
