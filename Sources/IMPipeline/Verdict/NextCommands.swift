import IMEngine
import IMMetrics
import IMOutput
import IMReport
import IMRun

/// The commands that go on from a verdict, ready to paste.
struct NextCommands {
  private let run: Run
  private let model: ReportModel

  /// Those for a verdict on `model`, which `run` came to.
  init(_ run: Run, _ model: ReportModel) { (self.run, self.model) = (run, model) }

  /// At most three, the one that shows most first.
  func commands(_ verdict: Verdict, _ driver: Driver) -> [String] {
    if run.isLive { return live }
    let topics = Set(verdict.findings.filter { $0.level == .warning || $0.level == .bad }.map(\.topic))
    var all: [String] = []
    if let other = run.mistakenProfile(driver)?.other { all.append(command("why", ["--profile", other])) }
    if topics.contains(.lost) { all.append(command("messages", ["--lost"])) }
    if let worst = model.worst, !topics.isDisjoint(with: [.lost, .rejected, .retried, .heartbeats]) {
      all.append(command("ladder", ["--conn", "\(worst.connection)"]))
    }
    if topics.contains(.rejected) { all.append(command("messages", ["--rejected"])) }
    let roles: [(topic: Verdict.Finding.Topic, role: FrameRole)] = [
      (topic: .control, role: .control), (topic: .receipts, role: .receipt),
      (topic: .acknowledgments, role: .acknowledgment), (topic: .others, role: .other),
    ]
    for (topic, role) in roles where topics.contains(topic) {
      all.append(command("messages", ["-Y", "role == \(role.name) && fate == failed"]))
    }
    if topics.contains(.retried) { all.append(command("messages", ["--retried"])) }
    if topics.contains(.heartbeats) {
      all.append(command("messages", ["-Y", "heartbeat && fate == lost"]))
    }
    if topics.contains(.connections) { all.append(command("streams", [])) }
    if topics.contains(.unknown) { all.append(command("messages", ["-Y", "fate == unknown"])) }
    if verdict.level == .unknown {
      let isEncrypted = driver.engine.totals.tlsConnections > 0
      var reads: [String] = []
      if isEncrypted, run.decode.keyLogs.isEmpty { reads.append(command("why", ["--keylog", "KEYLOG"])) }
      let port = driver.engine.busiestUndecodedPorts(1).first { $0.bytes > 0 && $0.look == nil }?.port
      if let port, !isEncrypted {
        reads.append(
          run.builtInProfile(forPort: port).map { command("why", ["--profile", $0]) }
            ?? command("profile new", ["--port", "\(port)"], decodes: false))
      }
      // First what makes it readable.
      all = reads + all
      if !topics.contains(.connections) { all.append(command("streams", [])) }
    } else if run.isReadTwice {
      let report = command("report", ["-o", "report.html"])
      all = all.prefix(2) + [report]
      if all.count == 1 { all.insert(command("stats", []), at: 0) }
    }
    return Array(all.prefix(3))
  }

  /// The commands of a live capture, whose packets were not kept.
  private var live: [String] {
    let interface = run.input.interface ?? ""
    let filter = run.input.captureFilter.map { [$0] } ?? []
    return [
      (["imdump", "-i", interface, "-w", "capture.pcap"] + filter).map(shellWord).joined(separator: " "),
      "imdump why capture.pcap",
    ]
  }

  private func command(_ name: String, _ options: [String], decodes: Bool = true) -> String {
    let input = run.input
    // Standard input cannot be read again.
    let files = input.files.map { $0 == "-" ? "FILE" : $0 }
    let part = input.packetLimit.map { ["-c", "\($0)"] } ?? []
    let order = input.isInOrder ? ["--in-order"] : []
    let same = decodes ? part + order + run.decode.words(input.captureFilter) : []
    return "imdump \(name) " + (files + options + same).map(shellWord).joined(separator: " ")
  }
}
