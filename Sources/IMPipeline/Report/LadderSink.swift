import IMEngine
import IMOutput
import IMReport
import IMWire

/// Collects the frames of chosen connections.
final class LadderSink: EngineSink {
  static let needs: EngineOptions.Needs = [.frames, .finished, .issues, .connections, .lateReports]

  /// The ladders being made, by the connections' numbers.
  private(set) var collectors: [UInt32: LadderCollector]
  /// The connections, in the order in which their first frame came, where it is one that was not chosen; a few.
  private(set) var others: [ConnectionInfo] = []
  /// How many these are.
  private(set) var otherCount: UInt64 = 0
  private var lastOther: UInt32 = 0
  /// Whether the first connection with a frame is chosen.
  private var choosesFirst: Bool
  private let firstPlan: LadderPlan
  private let plans: [ProtocolPlan]
  private var names: [UInt32: String] = [:]

  /// Collects the connections of `wanted`; without any, that of the first frame.
  init(plans: [ProtocolPlan], wanted: [UInt32: LadderPlan], first: LadderPlan = LadderPlan()) {
    self.plans = plans
    collectors = wanted.mapValues { LadderCollector($0) }
    choosesFirst = wanted.isEmpty
    firstPlan = first
  }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    let serial = connection.serial
    if choosesFirst {
      choosesFirst = false
      collectors[serial] = LadderCollector(firstPlan)
    }
    guard collectors[serial] != nil else {
      // Frames of one connection come in a row more often than not.
      if serial != lastOther, others.count < 8, !others.contains(where: { $0.serial == serial }) {
        others.append(connection)
      }
      lastOther = serial
      return
    }
    let plan = plans[Int(connection.plan)]
    collectors[serial]?.frame(frame, note, connection, direction, plan, session: names[note.session])
  }

  func finished(_ exchange: borrowing Exchange) {
    guard collectors[exchange.connection] != nil else { return }
    collectors[exchange.connection]?.finished(exchange)
  }

  func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    for serial in collectors.keys { collectors[serial]?.adopted(exchange, times) }
  }

  func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    guard collectors[connection.serial] != nil else { return }
    collectors[connection.serial]?.issue(issue)
  }

  func connection(_ report: ConnectionReport) {
    guard report.isFinal else { return }
    if collectors[report.info.serial] == nil {
      if report.figures != nil { otherCount += 1 }
      return
    }
    collectors[report.info.serial]?.ended(report, plans, name: report.session.flatMap { names[$0] })
  }

  func named(_ session: UInt32, _ name: String) { names[session] = name }
  func forgotten(_ session: UInt32) { names[session] = nil }
}
