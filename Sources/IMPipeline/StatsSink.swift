import IMEngine
import IMWire

/// Hears of connections and exchanges for `imdump stats`.
final class StatsSink: EngineSink {
  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {}
  func named(_ session: UInt32, _ name: String) {}
  func adopted(_ exchange: UInt32, _ times: [Timestamp]) {}
  func issue(_ issue: Issue, _ connection: ConnectionInfo) {}
  func opened(_ connection: ConnectionInfo, _ at: Timestamp) {}
  func connection(_ report: ConnectionReport) {}
  func settled(_ exchange: borrowing Exchange) {}
  func finished(_ exchange: borrowing Exchange) {}
}
