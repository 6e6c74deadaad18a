import IMEngine
import IMMetrics
import IMReport
import IMWire

/// Collects the connections of chosen sessions, and attempts that failed.
final class LaneSink: EngineSink {
  /// Sessions that have a lane, and connections in one.
  static let maximumLanes = 30, maximumBars = 80
  private static let maximumFailures = 2_000

  private let places: [UInt32: Int]
  private var bars: [[Lane.Bar]]
  private var counts: [UInt64]
  /// The addresses of the lanes' clients.
  private var addresses: [IPAddress: Set<Int>] = [:]
  private var failures: [(bar: Lane.Bar, address: IPAddress)] = []

  init(_ sessions: [UInt32]) {
    places = Dictionary(sessions.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    bars = Array(repeating: [], count: sessions.count)
    counts = Array(repeating: 0, count: sessions.count)
  }

  func connection(_ report: ConnectionReport) {
    guard report.isFinal else { return }
    let bar = Lane.Bar(report)
    if report.isFailure {
      if failures.count < Self.maximumFailures { failures.append((bar, report.info.client.address)) }
      return
    }
    guard report.figures != nil, let place = report.session.flatMap({ places[$0] }) else { return }
    counts[place] += 1
    if bars[place].count < Self.maximumBars { bars[place].append(bar) }
    if addresses.count < 4_096 { addresses[report.info.client.address, default: []].insert(place) }
  }

  /// The lanes, in the order of the sessions, called by `name`.
  func lanes(_ sessions: [UInt32], _ name: (UInt32, [Lane.Bar]) -> String) -> [Lane] {
    for (bar, address) in failures {
      // Of several sessions behind one address nobody can tell whose attempt it was.
      guard let lanes = addresses[address], lanes.count == 1, let place = lanes.first else { continue }
      counts[place] += 1
      if bars[place].count < Self.maximumBars { bars[place].append(bar) }
    }
    failures = []
    return sessions.indices.map { place in
      let sorted = bars[place].sorted { ($0.from, $0.serial) < ($1.from, $1.serial) }
      return Lane(name: name(sessions[place], sorted), bars: sorted, leftOut: counts[place] - UInt64(sorted.count))
    }.filter { !$0.bars.isEmpty }
  }
}

extension Lane.Bar {
  /// A connection that is over, or was open when the capture ended.
  init(_ report: ConnectionReport) {
    self.init(
      serial: report.info.serial, from: report.firstSeen, to: report.end,
      state: report.reason.words, isBroken: report.reason == .reset, isFailed: report.isFailure,
      reconnectTime: report.rare.reconnectTime?.microseconds)
  }
}
