import IMEngineTestSupport
import IMMetrics
import IMOutput
import IMTestSupport
import IMWire

@testable import IMEngine
@testable import IMReport

/// Models of reports, made of exchanges and connections as a run counts them.
enum MadeReport {
  static let plans = [MadePlan.tjp(statusNames: [3: "no_route"])]

  /// A model of a capture of ten minutes with two decoded connections.
  static func model(
    _ exchanges: [MadeExchange] = [], connections: [ConnectionReport] = [], live: ReportModel.Live? = nil,
    _ more: (inout ReportModel) -> Void = { _ in }, ledger change: (inout Ledger) -> Void = { _ in }
  ) -> ReportModel {
    var figures = ReportMetrics(), series = TimeBuckets<ReportBucket>()
    var kinds = [KindTotals](repeating: KindTotals(), count: 65)
    for made in exchanges {
      let exchange = made.exchange, way = Int(made.direction.rawValue), kind = Int(made.kind.rawValue)
      figures.resolved(Resolution(exchange, endpoint: 0), made.role)
      if made.kind == .heartbeat { figures.heartbeat(after: nil) }
      kinds[kind].fates[way].units += 1
      kinds[kind].fates[way].count(exchange.outcome)
      series.change(exchange.firstAt) { $0.count(exchange, made.role) }
    }
    for report in connections { figures.ended(report) }
    var ledger = Ledger()
    (ledger.packets, ledger.connections, ledger.decodedConnections, ledger.decodedBytes) = (1_234, 2, 2, 10_000)
    (ledger.firstAt, ledger.lastAt) = (MadeExchange.begin, MadeExchange.begin.advanced(by: 600_000_000_000))
    change(&ledger)
    let summary = Summary(
      plans: plans, ledger: ledger, reassembly: ReassemblyCounters(), capture: CaptureCounts(), kinds: [kinds],
      sequences: [[]], checksums: InlineArray(repeating: 0))
    var model = ReportModel(
      version: "1.2.3", captures: ["/home/somebody/secret/night.pcap"], filter: nil, figures: figures, summary: summary,
      countedLines: ["1,234 packets"])
    model.live = live
    model.series = series
    model.typeNames = [0: "data", 1: "heartbeat", 3: "control", 4: "receipt"]
    more(&model)
    return model
  }

  /// A live page of `eth0` that covers the last `seconds` of the capture.
  static func live(_ seconds: Int64, begun: Int64 = 0) -> ReportModel.Live {
    var live = ReportModel.Live(interface: "eth0", windowSeconds: seconds)
    let end = MadeExchange.begin.advanced(by: 600_000_000_000)
    live.covered = (
      end.advanced(by: -seconds * 1_000_000_000), end, MadeExchange.begin.advanced(by: begun * 1_000_000_000)
    )
    return live
  }

  /// The page, parsed into a tree.
  static func page(_ model: ReportModel) throws -> PageParser.Element {
    try PageParser.read(String(decoding: Page().html(model), as: UTF8.self))
  }
}

extension PageParser.Element {
  /// The element with this anchor.
  func element(_ id: String) -> PageParser.Element? { all.first { $0.attributes["id"] == id } }
  /// The texts of all elements of this name.
  func texts(_ name: String) -> [String] { all.filter { $0.name == name }.map(\.text) }
  /// The anchors of the sections that the navigation lists.
  var sections: [String] {
    first("nav")?.all.compactMap { $0.attributes["href"].map { String($0.dropFirst()) } } ?? []
  }
}
