import IMEngine
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
    case .interfaceBack: "the interface is there again"
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
    _ moment: CaptureMoment, from start: Timestamp, to end: Timestamp, _ figures: CaptureFigures,
    since previous: CaptureFigures?, _ output: OutputCounts, file: String? = nil, _ lines: inout JSONLines
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
      lines.text("id", "\(run)-cap-start")
      lines.instant("start", start)
    case .period(let boundary):
      lines.members("\"action\":\"capture_report\"")
      lines.text("id", "\(run)-cap-\(boundary.seconds)")
      span(start, end, &lines)
    case .end:
      lines.members("\"action\":\"capture_end\"")
      lines.text("id", "\(run)-cap-end")
      span(start, end, &lines)
    case .incident(let incident, let number):
      lines.text("action", incident.rawValue)
      lines.text("id", "\(run)-cap-e\(number)")
    }
    lines.close()
    if file == nil { own(figures, since: previous, output, nil, &lines) }
    lines.text("message", sentence(moment, figures))
    return lines.end()
  }

  /// `imdump`.
  private func own(
    _ figures: CaptureFigures, since previous: CaptureFigures?, _ output: OutputCounts, _ file: String?,
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
    packets(figures, since: previous, &lines)
    reassembly(figures, &lines)
    lines.open("output")
    lines.number("written", output.written)
    lines.number("sampled_out", output.sampledOut)
    lines.number("failed", figures.outputFailed)
    lines.number("dropped", figures.outputDropped)
    lines.close()
    if figures.cpuMilliseconds != nil || figures.residentBytes != nil || figures.uptimeSeconds != nil {
      lines.open("process")
      lines.decimal("cpu_ms", figures.cpuMilliseconds)
      lines.number("rss_bytes", figures.residentBytes)
      lines.number("uptime_s", figures.uptimeSeconds)
      lines.close()
    }
    lines.text("filter", figures.filter)
    lines.number("snaplen", figures.snaplen)
    lines.text("link_type", figures.linkType)
    lines.close()
    lines.close()
  }

  /// How much a figure has grown; `nil` when it is not known.
  static func growth(_ now: UInt64?, _ before: UInt64?) -> UInt64? {
    guard let now else { return nil }
    return now >= (before ?? 0) ? now - (before ?? 0) : 0
  }

  private func packets(_ figures: CaptureFigures, since previous: CaptureFigures?, _ lines: inout JSONLines) {
    let known = [
      figures.received, figures.dropped, figures.interfaceDropped, figures.processed, figures.ignored,
      figures.truncated, figures.duplicates,
    ]
    if known.contains(where: { $0 != nil }) {
      lines.open("packets")
      lines.number("received", figures.received)
      lines.number("dropped", figures.dropped)
      lines.number("if_dropped", figures.interfaceDropped)
      lines.number("processed", figures.processed)
      lines.number("ignored", figures.ignored)
      lines.number("truncated", figures.truncated)
      lines.number("duplicates", figures.duplicates)
      lines.close()
    }
    if figures.processedBytes != nil {
      lines.open("bytes")
      lines.number("processed", figures.processedBytes)
      lines.close()
    }
    let received = Self.growth(figures.received, previous?.received)
    let dropped = Self.growth(figures.dropped, previous?.dropped)
    let interface = Self.growth(figures.interfaceDropped, previous?.interfaceDropped)
    if received != nil || dropped != nil || interface != nil {
      lines.open("delta")
      lines.number("received", received)
      lines.number("dropped", dropped)
      lines.number("if_dropped", interface)
      lines.close()
    }
    if let ratio = Self.lossRatio(figures, since: previous) {
      lines.open("ratio")
      lines.decimal("dropped", ratio)
      lines.close()
    }
  }

  /// The part of the received packets that the kernel dropped since `previous`; `nil` when it is not known.
  static func lossRatio(_ figures: CaptureFigures, since previous: CaptureFigures?) -> Double? {
    guard let received = growth(figures.received, previous?.received), received > 0,
      let dropped = growth(figures.dropped, previous?.dropped)
    else { return nil }
    return min(1, Double(dropped) / Double(received))
  }

  private func reassembly(_ figures: CaptureFigures, _ lines: inout JSONLines) {
    let known = [figures.gaps, figures.gapBytes, figures.evicted, figures.memoryBytes, figures.connections]
    guard known.contains(where: { $0 != nil }) else { return }
    lines.open("reassembly")
    lines.number("gaps", figures.gaps)
    lines.number("gap_bytes", figures.gapBytes)
    lines.number("evicted", figures.evicted)
    if let evictions = figures.evictions, Eviction.allCases.contains(where: { evictions[$0] > 0 }) {
      lines.open("evictions")
      for eviction in Eviction.allCases where evictions[eviction] > 0 {
        lines.number(eviction.key, evictions[eviction])
      }
      lines.close()
    }
    lines.number("memory_bytes", figures.memoryBytes)
    lines.number("connections", figures.connections)
    lines.close()
  }

  private func sentence(_ moment: CaptureMoment, _ figures: CaptureFigures) -> String {
    let place = context.interface ?? context.mode.rawValue
    if case .incident(let incident, _) = moment { return "\(place): \(incident.sentence)" }
    guard let received = figures.received ?? figures.processed else {
      switch moment {
      case .start: return "\(place): capture begins"
      case .period: return "\(place): capture goes on"
      case .end, .incident: return "\(place): capture ends"
      }
    }
    let dropped = figures.dropped.map { ", \($0) dropped" } ?? ""
    return "\(place): \(received) packets received\(dropped)"
  }
}
