import IMEngine
import IMEngineTestSupport
import IMWire

extension ConnectionReport {
  /// The last report of an undecoded connection that lasted one second.
  static func made(
    _ serial: UInt32, _ reason: CloseReason = .fin, _ change: (inout ConnectionReport) -> Void = { _ in }
  ) -> ConnectionReport {
    var report = ConnectionReport.undecoded(
      Sent.info(serial, plan: .max), reason, from: Timestamp(seconds: 1_000, fraction: 0),
      to: Timestamp(seconds: 1_001, fraction: 0))
    change(&report)
    return report
  }
}
