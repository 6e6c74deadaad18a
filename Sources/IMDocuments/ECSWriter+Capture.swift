import IMEngine
import IMMetrics
import IMOutput
import IMWire

/// What can happen to the interface of a live capture; the raw value is the document's `event.action`.
package enum CaptureIncident: String, Sendable {
  /// It went down.
  case interfaceDown = "interface_down"
  /// It is up again.
  case interfaceUp = "interface_up"
  /// It has disappeared.
  case interfaceGone = "interface_gone"
  /// There is one of its name again.
  case interfaceBack = "interface_back"

  /// In words.
  var sentence: String {
    switch self {
    case .interfaceDown: "the interface went down"
    case .interfaceUp: "the interface is up again"
    case .interfaceGone: "the interface disappeared"
    case .interfaceBack: "the interface is back"
    }
  }
}

extension ECSWriter {
  /// When in the life of a run a capture document is written.
  enum CaptureMoment {
    case start
    /// The end of a period.
    case period(Timestamp)
    case end
    /// Something happened to the interface; the number counts such documents.
    case incident(CaptureIncident, UInt64)
  }

  /// What the sink itself has counted of its documents.
  struct OutputCounts: Equatable {
    var written: UInt64 = 0, sampledOut: UInt64 = 0
  }

  /// The document of the capture: what came in, what was lost and why, cumulative and since `previous`. `file` is the name of
  /// the file that it begins, which then stands in front.
  func capture(
    _ moment: CaptureMoment, from start: Timestamp, to end: Timestamp, _ figures: CaptureMetrics,
    since previous: CaptureMetrics?, _ output: OutputCounts, file: String? = nil, _ lines: inout JSONLines
  ) -> Bool {
    if file == nil {
      begin(.capture, at: end, &lines)
    } else {
      lines.begin()
      lines.instant("@timestamp", end)
      own(figures, since: previous, output, file, &lines)
      lines.members(heads[ECSDataset.capture.rawValue])
    }
    event(.capture, types: "[\"info\"]", &lines)
    switch moment {
    case .start:
      lines.members("\"action\":\"capture_start\"")
      lines.text("id", "\(runPrefix)-cap-start")
      lines.instant("start", start)
    case .period(let boundary):
      lines.members("\"action\":\"capture_report\"")
      lines.text("id", "\(runPrefix)-cap-\(boundary.seconds)")
      span(start, end, &lines)
    case .end:
      lines.members("\"action\":\"capture_end\"")
      lines.text("id", "\(runPrefix)-cap-end")
      span(start, end, &lines)
    case .incident(let incident, let number):
      lines.text("action", incident.rawValue)
      lines.text("id", "\(runPrefix)-cap-e\(number)")
    }
    lines.close()
    if file == nil { own(figures, since: previous, output, nil, &lines) }
    lines.text("message", sentence(moment, figures))
    return lines.end()
  }

  /// `imdump`.
  private func own(
    _ figures: CaptureMetrics, since previous: CaptureMetrics?, _ output: OutputCounts, _ file: String?,
    _ lines: inout JSONLines
  ) {
    lines.open("imdump")
    if let file {
      lines.open("log")
      lines.text("file", file)
      lines.close()
    }
    lines.members(imdumpMembers)
    lines.open("capture")
    MetricTrees.write(
      CaptureSnapshot(figures, since: previous, written: output.written, sampledOut: output.sampledOut), &lines)
    lines.text("filter", figures.filter)
    lines.number("snaplen", figures.snaplen)
    lines.text("link_type", figures.linkType)
    lines.close()
    lines.close()
  }

  private func sentence(_ moment: CaptureMoment, _ figures: CaptureMetrics) -> String {
    let place = context.interface ?? context.mode.rawValue
    if case .incident(let incident, _) = moment { return "\(place): \(incident.sentence)" }
    guard let received = figures.received ?? figures.processed else {
      switch moment {
      case .start: return "\(place): capture begins"
      case .period: return "\(place): capture continues"
      case .end, .incident: return "\(place): capture ends"
      }
    }
    let dropped = figures.dropped.map { ", \($0) dropped" } ?? ""
    return "\(place): \(received) packets received\(dropped)"
  }
}
