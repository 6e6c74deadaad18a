import IMEngine
import IMFilter
import IMOutput
import IMWire

/// Prints frames as they are decoded: `imdump -r` and `imdump -i` with `--format text` or `json`.
final class FrameSink: EngineSink {

  private var text: FrameTextWriter
  private var json: FrameJSONWriter
  private let isJSON: Bool
  private let plans: [ProtocolPlan]
  private let filter: Filter?
  private let output: Output
  private var names: [UInt32: String] = [:]
  private var out = ByteWriter(capacity: 300 << 10)
  /// Frames printed.
  private(set) var printed: UInt64 = 0

  init(plans: [ProtocolPlan], format: OutputFormat, style: TextStyle, filter: Filter?, output: Output) {
    self.plans = plans
    self.filter = filter
    self.output = output
    isJSON = format == .json
    text = FrameTextWriter(plans: plans, style: style)
    json = FrameJSONWriter(plans: plans)
  }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    let plan = plans[Int(connection.plan)]
    let session = plan.hasSession ? nil : names[note.session]
    if let filter {
      let isWanted = body.withUnsafeBytes { body in
        tlvs.withUnsafeBufferPointer { references in
          filter.matches(
            FrameFilterRecord(
              frame: frame, note: note, info: connection, direction: direction, plan: plan, session: session,
              body: body, references: references))
        }
      }
      guard isWanted else { return }
    }
    printed += 1
    if isJSON {
      json.write(frame, note, connection, direction, session: session, to: &out)
    } else {
      text.write(
        frame, note, connection, direction, session: session, bytes: bytes, body: body, tlvs: tlvs, to: &out)
    }
    if out.count > 256 << 10 { flush() }
  }

  /// Writes what is ready.
  func flush() { output.drain(&out) }

  func named(_ session: UInt32, _ name: String) { names[session] = name }
  func adopted(_ exchange: UInt32, _ times: [Timestamp]) {}
  func issue(_ issue: Issue, _ connection: ConnectionInfo) {}
  func opened(_ connection: ConnectionInfo, _ at: Timestamp) {}
  func connection(_ report: ConnectionReport) {}
  func settled(_ exchange: borrowing Exchange) {}
  func finished(_ exchange: borrowing Exchange) {}
}
