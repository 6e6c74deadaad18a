import IMEngine

/// What the capture has counted, and what it had at its last document.
package final class CaptureSnapshot {
  /// Now, and then.
  package let now: CaptureMetrics, before: CaptureMetrics?
  /// Documents made; messages left out by the sample.
  package let written: UInt64, sampledOut: UInt64

  /// A snapshot of its parts.
  package init(_ now: CaptureMetrics, since before: CaptureMetrics?, written: UInt64, sampledOut: UInt64) {
    self.now = now
    self.before = before
    self.written = written
    self.sampledOut = sampledOut
  }
}

extension CaptureMetrics {
  /// How much a figure has grown; `nil` when it is not known.
  package static func growth(_ now: UInt64?, _ before: UInt64?) -> UInt64? {
    guard let now else { return nil }
    return now >= (before ?? 0) ? now - (before ?? 0) : 0
  }

  /// The part of the received packets that the kernel dropped since `previous`; `nil` when it is not known.
  package func lossRatio(since previous: CaptureMetrics?) -> Double? {
    guard let received = Self.growth(received, previous?.received), received > 0,
      let dropped = Self.growth(dropped, previous?.dropped)
    else { return nil }
    return min(1, Double(dropped) / Double(received))
  }
}

extension Catalogue {
  private typealias Row = Metric<CaptureSnapshot>

  /// The figures of the capture's documents.
  package static let captures: [Metric<CaptureSnapshot>] =
    [
      capture("packets.received", "packets that the kernel received") { $0.received },
      capture("packets.dropped", "packets that the kernel dropped") { $0.dropped },
      capture("packets.if_dropped", "packets that the interface dropped") { $0.interfaceDropped },
      capture("packets.processed", "packets that imdump processed") { $0.processed },
      capture("packets.skipped", "processed packets without a usable TCP segment") { $0.skipped },
      capture("packets.truncated", "processed packets cut by the snaplen") { $0.truncated },
      capture("packets.captured_twice", "processed packets that the capture contains twice") { $0.capturedTwice },
      capture("bytes.processed", "captured bytes of the packets processed", .bytes) { $0.processedBytes },
      delta("received", "packets received since the previous document") { $0.received },
      delta("dropped", "packets dropped by the kernel since the previous document") { $0.dropped },
      delta("if_dropped", "packets dropped by the interface since the previous document") { $0.interfaceDropped },
      Row(
        "capture.ratio.dropped", .ratio, .now,
        "share of received packets that the kernel dropped since the previous document; 0 to 1",
        capture: ["ratio.dropped"],
        rule: MetricRule("capture_drop_ratio", .packets), kind: .gauge
      ) { capture, _, _ in capture.now.lossRatio(since: capture.before).map { .ratio($0) } },
      capture("interrupted.packets", "packets read when a signal ended the run before the end of its files") {
        $0.interruption?.packets
      },
      Row(
        "capture.interrupted.share", .ratio, .now,
        "the share of the files' bytes read when a signal ended the run, if known; 0 to 1",
        capture: ["interrupted.share"], kind: .gauge
      ) { capture, _, _ in capture.now.interruption?.share.map { .ratio($0) } },
      capture("reassembly.gaps", "gaps in TCP streams") { $0.gaps },
      capture("reassembly.gap_bytes", "bytes missing from TCP streams", .bytes) { $0.gapBytes },
      Row(
        "capture.evictions", .count, .packet, "evicted to save memory: {what}", by: [.eviction],
        capture: ["reassembly.evictions.{what}"], omitsZero: true
      ) { capture, what, _ in capture.now.evictions.map { .count($0[Eviction.allCases[what]]) } },
      capture("reassembly.held_bytes", "bytes held after gaps until the missing bytes arrive", .bytes, .gauge) {
        $0.heldBytes
      },
      capture("reassembly.connections", "connections in the table", kind: .gauge) { $0.connections },
      Row("capture.output.written", .count, .packet, "documents produced", capture: ["output.written"]) {
        capture, _, _ in .count(capture.written)
      },
      Row(
        "capture.output.sampled_out", .count, .packet, "messages excluded by sampling",
        capture: ["output.sampled_out"]
      ) { capture, _, _ in .count(capture.sampledOut) },
      capture("output.failed", "failed writes of output") { $0.outputFailed },
      capture("output.dropped", "documents lost because output could not be written") { $0.outputDropped },
      Row("capture.process.cpu", .time, .now, "CPU time of the process", capture: ["process.cpu_ms"]) {
        capture, _, _ in capture.now.cpuMilliseconds.map { .ratio($0) }
      },
      capture("process.rss_bytes", "the peak resident memory of the process", .bytes, .gauge) { $0.residentBytes },
      capture("process.uptime_s", "time since the start of the capture", .seconds, .gauge) { $0.uptimeSeconds },
    ]

  private static func capture(
    _ name: String, _ help: String, _ unit: MetricUnit = .count, _ kind: MetricKind = .counter,
    _ read: @escaping @Sendable (CaptureMetrics) -> UInt64?
  ) -> Metric<CaptureSnapshot> {
    Row("capture.\(name)", unit, kind == .gauge ? .now : .packet, help, capture: [name], kind: kind) {
      capture, _, _ in read(capture.now).map { .count($0) }
    }
  }

  private static func capture(
    _ name: String, _ help: String, kind: MetricKind, _ read: @escaping @Sendable (CaptureMetrics) -> UInt64?
  ) -> Metric<CaptureSnapshot> { capture(name, help, .count, kind, read) }

  private static func delta(
    _ name: String, _ help: String, _ read: @escaping @Sendable (CaptureMetrics) -> UInt64?
  ) -> Metric<CaptureSnapshot> {
    Row("capture.delta.\(name)", .count, .now, help, capture: ["delta.\(name)"], kind: .gauge) { capture, _, _ in
      CaptureMetrics.growth(read(capture.now), capture.before.flatMap(read)).map { .count($0) }
    }
  }
}
