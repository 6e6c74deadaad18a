import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// A sink that only counts has frames wait for one another before they are tracked. It must be told what one is told that
/// hears of each frame, for which none waits.
@Suite struct RecordQueueTests {
  private static let counting: EngineOptions.Needs = [.resolved, .finished, .connections]

  @Test(arguments: try Samples.captures()) func samples(_ name: String) throws {
    guard let packets = try? Pcap.packets(name) else { return }
    expectSame(packets, name)
  }

  @Test(arguments: UInt64(0)..<UInt64(LongRun.times(3, of: 20))) func drawn(_ group: UInt64) {
    for seed in group * 5..<group * 5 + 5 { expectSame(DrawnCapture.capture(seed).packets, "seed \(seed)") }
  }

  private func expectSame(_ packets: [TimedPacket], _ name: String) {
    let waiting = Run(packets, plans: Plans.usual) { $0.needs = Self.counting }
    let alone = Run(packets, plans: Plans.usual) { $0.needs = Self.counting.union([.frames, .issues]) }
    expectSame(waiting.heard.resolved.map { "\($0)" }, alone.heard.resolved.map { "\($0)" }, "\(name): fates")
    expectSame(waiting.heard.finished.map { "\($0)" }, alone.heard.finished.map { "\($0)" }, "\(name): exchanges")
    expectSame(waiting.heard.reports.map(Self.text), alone.heard.reports.map(Self.text), "\(name): reports")
    expectSame(waiting.totals.map { "\($0)" }, alone.totals.map { "\($0)" }, "\(name): totals")
    expectSame(waiting.orders.map { "\($0)" }, alone.orders.map { "\($0)" }, "\(name): orders")
    expectSame(["\(waiting.ledger)"], ["\(alone.ledger)"], "\(name): ledger")
    expectSame(["\(waiting.heard.names)".count], ["\(alone.heard.names)".count], "\(name): names")
    expectSame(waiting.heard.reads, alone.heard.reads, "\(name): receipts")
    expectSame(waiting.heard.deliveries, alone.heard.deliveries, "\(name): receipts of delivery")
  }

  /// A report, but for the places of figures in their pools.
  private static func text(_ report: ConnectionReport) -> String {
    var report = report
    report.figures?.rare = 0
    report.figures?.heartbeats = 0
    return "\(report)"
  }

  private func expectSame<Element: Equatable>(_ a: [Element], _ b: [Element], _ name: String) {
    guard a != b else { return }
    let place = zip(a, b).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(a.count, b.count)
    Testing.Issue.record(
      """
      \(name), \(a.count) and \(b.count), number \(place):
      \(place < a.count ? "\(a[place])" : "nothing")
      \(place < b.count ? "\(b[place])" : "nothing")
      """)
  }
}
