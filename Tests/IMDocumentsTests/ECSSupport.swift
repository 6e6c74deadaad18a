import Foundation
import IMDocuments
import IMEngine
import IMEngineTestSupport
import IMMetrics
import IMTestSupport
import IMWire

/// Runs an engine with an ECS sink over packets, and reads what it wrote.
enum ECSRun {
  /// The documents' bytes, by dataset if `options` separate them, else all under `.message`. With `isLive`, packets arrive one at a time,
  /// and the clock of the engine advances every half second between them.
  static func bytes(
    _ packets: [TimedPacket], _ options: ECSOptions, figures: CaptureMetrics = CaptureMetrics(),
    incidents: [(CaptureIncident, Timestamp)] = [], run: String = "test", isLive: Bool = false
  ) -> [ECSDataset: [UInt8]] {
    final class Collector {
      var bytes: [ECSDataset: [UInt8]] = [:]
    }
    let collector = Collector()
    let context = ECSContext(
      run: RunIdentity(hashing: [run]), sensor: "edge-01", mode: .offline, interface: "eth0", version: "0.1.0")
    let plans = [MadePlan.tjp()]
    let sink = ECSSink(context: context, plans: plans, options: options) { dataset, lines in
      collector.bytes[dataset, default: []] += Array(lines)
    }
    sink.figures = figures
    for (incident, time) in incidents { sink.report(incident, at: time) }
    var engineOptions = EngineOptions(plans: plans)
    engineOptions.needs = ECSSink.needs
    var engine = Engine(options: engineOptions, sink: sink)
    var now: Timestamp?
    for (index, packet) in packets.enumerated() where isLive {
      while let time = now?.advanced(by: 500_000_000), time < packet.timestamp {
        engine.idle(until: time)
        sink.advance(to: time)
        now = time
      }
      let batch = CaptureBuilder([packet]).batch(firstNumber: UInt64(index + 1))
      engine.process(batch.bytes.span.bytes, batch.records.span)
      now = packet.timestamp
    }
    if !isLive {
      let batch = CaptureBuilder(packets).batch()
      engine.process(batch.bytes.span.bytes, batch.records.span)
    }
    engine.finish()
    sink.finish()
    return collector.bytes
  }

  /// The documents in the order in which they were written.
  static func documents(
    _ packets: [TimedPacket], log: MessageLog = .all, figures: CaptureMetrics = CaptureMetrics()
  ) throws -> [Document] {
    var options = ECSOptions()
    options.messageLog = log
    return try documents(bytes(packets, options, figures: figures)[.message] ?? [])
  }

  /// The documents in lines.
  static func documents(_ bytes: [UInt8]) throws -> [Document] {
    try bytes.split(separator: 10).map { line in
      Document(try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any] ?? [:])
    }
  }
}
