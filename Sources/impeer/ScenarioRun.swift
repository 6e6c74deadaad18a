import IMEndpoint
import IMMetrics
import IMWire

/// A scenario at work: server and clients in one loop, over the loopback.
final class ScenarioRun: Watcher {
  private let scenario: Scenario
  private let run: LoadRun
  private let server: LinuxTransport<ForgetfulCore>
  private let arrivals = Arrivals()
  private var endpoint: Endpoint
  private var watch = EventLoop.Watch.none
  private var problem: TransportError?

  init(_ scenario: Scenario) throws(Complaint) {
    self.scenario = scenario
    run = try LoadRun(scenario.load)
    var serve = Serve()
    serve.isEcho = scenario.isEcho
    serve.isSink = !scenario.isEcho
    serve.faults = scenario.faults
    server = LinuxTransport(
      ForgetfulCore(ServerCore(serve.configuration), memory: scenario.faults.memory), loop: run.loop)
    do throws(TransportError) {
      endpoint = try server.listen(at: Endpoint(address: IPAddress(v4: 0x7f00_0001), port: 0))
    } catch {
      throw Complaint(error.description, .system)
    }
    server.tap = arrivals
    let watcher = ServerWatcher(nil)
    server.onTurn = { core, now in watcher.turn(&core.inner, now) }
  }

  /// Runs it, and says whether each expectation has come true.
  func perform() throws(Complaint) -> [(words: String, isMet: Bool)] {
    watch = run.loop.enroll(self)
    run.onStart = { [unowned self] in
      for (place, step) in scenario.steps.enumerated() {
        _ = run.loop.schedule(watch, at: run.loop.now + step.nanoseconds, kind: UInt8(truncatingIfNeeded: place))
      }
    }
    try run.perform(endpoint)
    server.shutDown()
    if let problem { throw Complaint(problem.description, .system) }
    return scenario.expectations.map(judge)
  }

  /// What came of the clients.
  var summary: LoadSummary { LoadSummary(run) }

  func isReady(_ readiness: Readiness) {}
  func flush() {}

  func deadlineCame(_ kind: UInt8) {
    guard Int(kind) < scenario.steps.count else { return }
    switch scenario.steps[Int(kind)].act {
    case .stop: server.drop()
    case .start: do throws(TransportError) { endpoint = try server.listen(at: endpoint) } catch { problem = error }
    }
  }

  private func judge(_ expectation: Scenario.Expectation) -> (words: String, isMet: Bool) {
    let tally = run.tally
    let reconnects = run.clients.reduce(0) { $0 + $1.transport.core.metrics.reconnects }
    func least(_ name: String, _ value: UInt64, _ wanted: Int) -> (String, Bool) {
      ("\(name): \(value), expected at least \(wanted)", value >= UInt64(wanted))
    }
    func most(_ name: String, _ microseconds: Int64?, _ wanted: Int64) -> (String, Bool) {
      let value = microseconds.map { milliseconds(Double($0)) + " ms" } ?? "none"
      return ("\(name): \(value), expected at most \(wanted / 1_000_000) ms", (microseconds ?? 0) * 1_000 <= wanted)
    }
    switch expectation {
    case .delivered(let percent):
      let isMet = tally.delivered * 100 >= tally.sent * UInt64(percent) && tally.sent > 0
      return ("delivered: \(tally.delivered) of \(tally.sent), expected at least \(percent) %", isMet)
    case .duplicates(let wanted):
      guard tally.echoed > 0 else {
        return ("duplicates: unknown, because the server does not send messages back", false)
      }
      return (
        "duplicates: \(tally.echoedTwice) of \(tally.echoed), expected at most \(wanted)",
        tally.echoedTwice <= UInt64(wanted)
      )
    case .reconnect(let limit): return most("longest time without a connection", tally.reconnecting.maximum, limit)
    case .latency(let limit): return most("longest wait for an acknowledgment", tally.latency.maximum, limit)
    case .connectsPerSecond(let wanted):
      return ("most connections in a second: \(arrivals.most), expected at most \(wanted)", arrivals.most <= wanted)
    case .reconnects(let wanted): return least("reconnects", reconnects, wanted)
    case .connections(let wanted):
      let opened = run.clients.reduce(0) { $0 + $1.transport.core.metrics.connectionSuccesses }
      return least("connections", opened, wanted)
    case .damaged(let wanted): return least("damaged frames", tally.damaged, wanted)
    case .refused(let wanted): return least("sessions refused", tally.refused, wanted)
    }
  }
}

/// Counts the connections that a server sees opened in each second, after the first ones.
final class Arrivals: WireTap {
  private var times: [Int64] = []
  private var hasClosed = false

  /// The most in any one second after a connection was lost for the first time.
  var most: Int {
    var most = 0
    var start = 0
    for end in times.indices {
      while times[end] - times[start] > 1_000_000_000 { start += 1 }
      most = max(most, end - start + 1)
    }
    return most
  }

  func opened(_ connection: ConnectionID, local: Endpoint?, remote: Endpoint, at now: Instant) {
    if hasClosed { times.append(now.nanoseconds) }
  }

  func closed(_ connection: ConnectionID, because reason: CloseReason, at now: Instant) { hasClosed = true }
  func opening(_ connection: ConnectionID, to remote: Endpoint, at now: Instant) {}
  func wrote(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) {}
  func read(_ bytes: RawSpan, on connection: ConnectionID, at now: Instant) {}
}
