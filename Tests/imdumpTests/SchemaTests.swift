import Foundation
import IMAlerts
import IMDocuments
import IMEngine
import IMMetrics
import IMOutput
import IMOwners
import IMProfile
import IMTestSupport
import IMWire
import Testing

/// The declared fields, and what is made of them, held against the documents that the command writes.
@Suite struct SchemaTests {
  /// A JSON value as it stands in a document.
  enum Value {
    case flag(Bool), whole(Int64), number(Double), text(String), list([Value]), object([String: Value])

    /// What a parser made of it, whose numbers are told apart by what they hold: decoding one type after the other takes four
    /// times as long.
    init(_ value: Any) {
      switch value {
      case let text as String: self = .text(text)
      case let values as [Any]: self = .list(values.map(Value.init))
      case let members as [String: Any]: self = .object(members.mapValues(Value.init))
      case let number as NSNumber:
        switch number.objCType.pointee {
        case Int8(bitPattern: UInt8(ascii: "c")): self = .flag(number.boolValue)
        case Int8(bitPattern: UInt8(ascii: "d")): self = .number(number.doubleValue)
        default: self = .whole(number.int64Value)
        }
      default: self = .object([:])
      }
    }

    /// Whether Elasticsearch takes it for a field of this type without changing it.
    func fits(_ field: ECSField) -> Bool {
      if field.isArray {
        guard case .list(let values) = self else { return false }
        var single = field
        single.isArray = false
        return !values.isEmpty && values.allSatisfy { $0.fits(single) }
      }
      switch (field.kind, self) {
      case (.keyword, .text(let text)): return field.values.isEmpty || field.values.contains(text)
      case (.sentence, .text), (.long, .whole), (.boolean, .flag): return true
      case (.double, .whole), (.double, .number), (.float, .whole), (.float, .number): return true
      case (.ip, .text(let text)): return text.contains(".") || text.contains(":")
      case (.date, .text(let text)):
        return text.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/) != nil
      case (.flattened, .object(let members)), (.object, .object(let members)):
        return members.values.allSatisfy { if case .text = $0 { true } else { false } }
      case (.histogram, .object(let members)):
        guard members.count == 2, case .list(let values) = members["values"], case .list(let counts) = members["counts"]
        else { return false }
        return values.count == counts.count && !values.isEmpty
      default: return false
      }
    }
  }

  /// The fields of documents with the datasets that have them, and what is wrong with them.
  final class Found {
    private let declared = Dictionary(uniqueKeysWithValues: ECSFields.all.map { ($0.name, $0) })
    private(set) var datasets: [String: Set<ECSDataset>] = [:]
    private(set) var problems: Set<String> = []
    private(set) var protocols: Set<String> = []

    func read(_ line: some StringProtocol) throws {
      let document = Value(try JSONSerialization.jsonObject(with: Data(line.utf8)))
      guard case .object(let members) = document, case .object(let event) = members["event"],
        case .text(let name) = event["dataset"], let dataset = ECSDataset.allCases.first(where: { $0.name == name })
      else {
        problems.insert("no document: \(line.prefix(80))")
        return
      }
      if case .object(let network) = members["network"], case .text(let name) = network["protocol"] {
        protocols.insert(name)
      }
      walk(members, "", dataset)
    }

    private func walk(_ members: [String: Value], _ prefix: String, _ dataset: ECSDataset) {
      for (key, value) in members {
        let name = prefix + key
        if let field = declared[name] {
          datasets[name, default: []].insert(dataset)
          if !field.datasets.contains(dataset) { problems.insert("\(name) is not declared for \(dataset)") }
          if !value.fits(field) { problems.insert("\(name) is no \(field.kind): \(value)") }
        } else if case .object(let members) = value {
          walk(members, name + ".", dataset)
        } else {
          problems.insert("\(name) of \(dataset) is not declared")
        }
      }
    }
  }

  /// What no capture file brings: the kernel's figures, an interface, memory that runs out; and an answer after ten seconds.
  private static func live(_ found: Found) throws {
    var figures = CaptureMetrics()
    (figures.received, figures.dropped, figures.interfaceDropped) = (1_000, 10, 1)
    (figures.outputFailed, figures.outputDropped) = (1, 20)
    (figures.cpuMilliseconds, figures.residentBytes, figures.uptimeSeconds) = (1.5, 1 << 20, 60)
    (figures.snaplen, figures.filter) = (96, "tcp")
    figures.interruption = Interruption(packets: 3, share: 0.25)
    (figures.gaps, figures.evictions) = (0, InlineArray(repeating: 1))
    let plans = [try BuiltInProfiles.plan("tjp"), try BuiltInProfiles.plan("mqtt")]
    var options = ECSOptions()
    options.messageLog = .all
    let owners = [
      1: SocketOwner(unit: "im-gateway.service", user: 33),
      2: SocketOwner(
        container: String(repeating: "a", count: 64), pod: "1f0d1c5e-9a30-4c0b-8a55-2f6b6f1e7d10", user: 0),
    ]
    options.owners = ConnectionOwners(known: owners.reduce(into: [:]) { $0[UInt32($1.key)] = $1.value })
    let context = ECSContext(
      run: RunIdentity(random: 1, 2), sensor: "edge", mode: .live, interface: "eth0", version: "1.0")
    var lines: [UInt8] = []
    let sink = ECSSink(context: context, plans: plans, options: options) { _, bytes in lines += Array(bytes) }
    var engineOptions = EngineOptions(plans: plans)
    engineOptions.needs = ECSSink.needs.union(AlertMonitor.needs)
    let rules = try AlertRules(
      "version: 1\nrules:\n  - { name: r, metric: messages, window: 10s, op: '>', threshold: 0 }\n"
        + "  - { name: u, metric: loss, scope: connection, window: 60s, op: '>', threshold: 0.5 }\n"
        + "  - { name: o, metric: messages, scope: owner, window: 10s, op: '>', threshold: 0 }\n", source: "r",
      profiles: ["tjp"])
    let monitor = AlertMonitor(rules: rules.rules, plans: plans, owner: { owners[Int($0.serial)]?.name }) {
      sink.alert($0)
    }
    var engine = Engine(options: engineOptions, sink: PairSink(monitor, sink))
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0005), port: 52_344),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7109), port: 8_080))
    talk.open(at: Timestamp(milliseconds: 0))
    talk.send(
      TJPFrameBuilder(text: "hello", sequence: 5).bytes, .clientToServer, at: Timestamp(milliseconds: 10))
    talk.send(TJPFrameBuilder.echoACK(of: 5).bytes, .serverToClient, at: Timestamp(milliseconds: 30_000))
    // A message of a client with a name gets no answer.
    var other = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0006), port: 50_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_710a), port: 1_883))
    other.open(at: Timestamp(milliseconds: 30_100))
    other.send(MQTTPacketBuilder.connect(clientID: "phone"), .clientToServer, at: Timestamp(milliseconds: 30_200))
    other.send(MQTTPacketBuilder.connack(), .serverToClient, at: Timestamp(milliseconds: 30_300))
    other.send(
      MQTTPacketBuilder.subscribe(1, [("news", 1)]), .clientToServer, at: Timestamp(milliseconds: 30_400))
    other.send(MQTTPacketBuilder.packet(12, []), .clientToServer, at: Timestamp(milliseconds: 120_000))
    // An answer that the capture lacks.
    var blind = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0x0a00_0007), port: 52_345),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7109), port: 8_080))
    blind.open(at: Timestamp(milliseconds: 5))
    blind.send(TJPFrameBuilder(text: "hello", sequence: 9).bytes, .clientToServer, at: Timestamp(milliseconds: 20))
    for packet in blind.send(TJPFrameBuilder.echoACK(of: 9).bytes, .serverToClient, at: Timestamp(milliseconds: 30)) {
      blind.drop(packet)
    }
    blind.acknowledge(.clientToServer, at: Timestamp(milliseconds: 40))
    sink.begin(at: Timestamp(milliseconds: 0))
    sink.figures = figures
    sink.report(.interfaceDown, at: Timestamp(milliseconds: 0))
    let batch = CaptureBuilder(talk, other, blind).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    monitor.finish(at: engine.totals.lastAt)
    sink.finish()
    for line in String(decoding: lines, as: UTF8.self).split(separator: "\n") { try found.read(line) }
  }

  @Test func documentsHaveTheDeclaredFieldsAndNoOthers() throws {
    let found = Found()
    let scratch = NSTemporaryDirectory() + "imdump-schema-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: scratch) }
    let rules = scratch + "/rules.yml"
    try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
    // Every scope, and one that is held where the capture has holes.
    let text = """
      version: 1
      rules:
        - { name: lost, metric: loss, scope: connection, window: 60s, op: '>', threshold: 0.01 }
        - { name: quiet, metric: messages, scope: profile, profile: tjp, window: 10s, op: absent }
        - { name: slow, metric: rtt_p95, direction: s2c, window: 60s, op: '>', threshold: 0 }
        - { name: by, metric: messages, by: client, window: 60s, op: '>', threshold: 0, runbook: 'https://example.com/by' }
        - { name: refused, metric: connection_success, window: 60s, op: '<', threshold: 1, labels: { team: im } }

      """
    try Data(text.utf8).write(to: URL(filePath: rules))
    let networks = "0.0.0.0/0,four,64500,Example\n::/0,six,64501,Example\n"
    try Data(networks.utf8).write(to: URL(filePath: scratch + "/networks.csv"))
    // One whose clients' names are not to be shown.
    let mqtt = try #require(BuiltInProfiles.text("mqtt")) + "\nidentity: { sensitive: true }\n"
    try Data(mqtt.utf8).write(to: URL(filePath: scratch + "/mqtt.yaml"))
    let runs: [[String]] = [
      ["--message-log", "all", "--profile", scratch + "/mqtt.yaml"],
      [
        "--message-log", "all", "--rules", rules, "--evidence", scratch + "/why", "--networks",
        scratch + "/networks.csv",
      ],
      ["--message-log", "all", "--rules", "Samples/alerts/im.yml", "tcp"],
      ["--message-log", "sample=1/2"], ["--message-log", "errors", "--log-lean"],
    ]
    for capture in try Samples.captures() {
      for options in runs {
        let result = try Command.run(["-q", "--format", "ecs", "-r", "Samples/\(capture)"] + options)
        for line in result.output.split(separator: "\n") { try found.read(line) }
      }
    }
    let tls = try Command.run(
      ["-q", "--format", "ecs", "-r", "Samples/tls/tjp-tls13.pcap", "--keylog", "Samples/tls/tjp-tls13.keys"])
    for line in tls.output.split(separator: "\n") { try found.read(line) }
    try Self.live(found)
    let both = scratch + "/both.pcap"
    let two = ["Samples/tjp-clean-chat.pcap", "Samples/mqtt-mosquitto.pcap"]
    _ = try Command.run(["-q", "-w", both, "-r", two[0], "-r", two[1]])
    for files in [[two[0], "Samples/tjp-weak-network.pcap"], [both, both]] {
      let result = try Command.run(["diff", "--format", "ecs", "--fail-on", "loss>1%"] + files)
      for line in result.output.split(separator: "\n") { try found.read(line) }
    }
    let folder = scratch + "/logs"
    _ = try Command.run(["-q", "--format", "ecs", "-r", "Samples/tjp-clean-chat.pcap", "--log-dir", folder])
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      for line in text.split(separator: "\n") { try found.read(line) }
    }
    #expect(found.problems.sorted() == [])
    #expect(found.protocols == Set(BuiltInProfiles.usual))
    // Those of `impeer` are in its own documents: ReportTests; and TLS that is not read is in TLSReasonTests.
    let elsewhere = ["imdump.peer.", "imdump.conn.tls.unread_bytes."]
    for field in ECSFields.all where !elsewhere.contains(where: { field.name.hasPrefix($0) }) {
      let missing = Set(field.datasets).subtracting(found.datasets[field.name] ?? [])
      #expect(missing.isEmpty, "\(field.name) is declared for \(missing), where it never is")
    }
  }

  @Test func everyFieldIsDeclaredOnce() {
    #expect(Set(ECSFields.all.map(\.name)).count == ECSFields.all.count)
    for field in ECSFields.all {
      #expect(!field.meaning.isEmpty && !field.datasets.isEmpty)
      #expect(Set(field.datasets).count == field.datasets.count)
      // A name that is a field holds no other: Elasticsearch knows it as one or the other.
      #expect(!ECSFields.all.contains { $0.name.hasPrefix(field.name + ".") })
    }
  }

  @Test func theListInTheDocumentationIsCurrent() throws {
    let list = try String(contentsOf: Command.folder.appending(path: "docs/ecs-fields.json"), encoding: .utf8)
    #expect(try Command.run(["schema", "--json"]).output == list, "run Scripts/make-fields")
  }

  @Test func theManualHasEveryField() throws {
    let page = try String(contentsOf: Command.folder.appending(path: "man/imdump-ecs.5"), encoding: .utf8)
    for field in ECSFields.all {
      let entry = ".It Va \(field.name) Pq \(field.kind.rawValue)\(field.isArray ? ", a list" : "")\n"
      let places = field.datasets.count == ECSDataset.allCases.count ? 1 : field.datasets.count
      #expect(page.ranges(of: entry).count == places, "\(field.name): run Scripts/make-fields")
    }
  }

  private static let hasPython = FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

  /// The lists and pages that these scripts make of declarations are what they would make now.
  @Test(.enabled(if: hasPython, "python3 is not installed"), arguments: ["make-fields", "make-profiles"])
  func whatScriptsMakeIsCurrent(_ script: String) throws {
    let run = try Program.run(
      "/usr/bin/python3", ["Scripts/\(script)", "--check"], environment: ["IMDUMP_BINARY": Command.program.path],
      folder: Command.folder.path)
    #expect(run.ending == .exit(0), "run Scripts/\(script): \(run.output)\(run.errors)")
  }

  @Test(arguments: [false, true])
  func theTemplatesHaveEveryField(_ isTimeSeries: Bool) throws {
    let folder = NSTemporaryDirectory() + "imdump-templates-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let result = try Command.run(["schema", "--templates", folder] + (isTimeSeries ? ["--tsds"] : []))
    #expect(result.status == 0)
    #expect(result.output.split(separator: "\n").count == 8)
    func file(_ name: String) throws -> [String: Any] {
      let data = try Data(contentsOf: URL(filePath: "\(folder)/\(name)"))
      return try #require(JSONSerialization.jsonObject(with: data) as? [String: Any])
    }
    func mappings(_ file: [String: Any]) throws -> [String: Any] {
      let mappings = try #require((file["template"] as? [String: Any])?["mappings"] as? [String: Any])
      #expect(mappings["dynamic"] as? Bool == false)
      return mappings
    }
    func mapping(_ name: String, _ mappings: [String: Any]) -> [String: Any]? {
      name.split(separator: ".").reduce(mappings) {
        ($0?["properties"] as? [String: Any])?[String($1)] as? [String: Any]
      }
    }
    let common = try mappings(file("component-imdump-common.json"))
    for dataset in ECSDataset.allCases {
      let isMetric = [.summary, .capture, .comparison].contains(dataset)
      let name = "\(isMetric ? "metrics" : "logs")-\(dataset.name)"
      let template = try file("index-\(name).json")
      #expect(template["index_patterns"] as? [String] == ["\(name)-*"])
      #expect(template["data_stream"] as? [String: String] == [:])
      #expect((template["composed_of"] as? [String])?.first == "imdump-common")
      let own = try mappings(template)
      for field in ECSFields.of(dataset) {
        let found = try #require(mapping(field.name, own) ?? mapping(field.name, common), "\(field.name)")
        let kind = field.name.hasPrefix("data_stream.") ? "constant_keyword" : field.kind.rawValue
        #expect(found["type"] as? String == kind, "\(field.name)")
        let isSeries = isTimeSeries && isMetric
        #expect(found["time_series_metric"] as? String == (isSeries ? field.metric?.rawValue : nil), "\(field.name)")
        #expect((found["time_series_dimension"] as? Bool == true) == (isSeries && field.isDimension), "\(field.name)")
      }
      // Two runs of a sensor in one minute are two series.
      let run = try #require(mapping("imdump.run.id", own) ?? mapping("imdump.run.id", common))
      #expect((run["time_series_dimension"] as? Bool == true) == (isTimeSeries && isMetric))
      let settings = try #require((template["template"] as? [String: Any])?["settings"] as? [String: Any])
      #expect(settings["index.mode"] as? String == (isTimeSeries && isMetric ? "time_series" : nil))
    }
  }

  @Test func theDifferenceToAnOlderListTells() throws {
    let list = try String(contentsOf: Command.folder.appending(path: "docs/ecs-fields.json"), encoding: .utf8)
    let folder = NSTemporaryDirectory() + "imdump-diff-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    func difference(_ text: String) throws -> Command.Result {
      let path = folder + "/old.json"
      try Data(text.utf8).write(to: URL(filePath: path))
      return try Command.run(["schema", "diff", path])
    }
    let field = "  \"imdump.alert.affected\": {\"type\": \"long\""
    #expect(list.contains(field))
    #expect(try difference(list).status == 0)
    #expect(try difference(list).output == "")
    let older = try difference(list.replacingOccurrences(of: field, with: "  \"imdump.other\": {\"type\": \"long\""))
    #expect(older.output == "removed imdump.other\nadded imdump.alert.affected\n")
    #expect(older.status == 2)
    let changed = try difference(
      list.replacingOccurrences(of: field, with: "  \"imdump.alert.affected\": {\"type\": \"keyword\""))
    #expect(changed.output == "changed imdump.alert.affected: keyword, now long\n")
    #expect(changed.status == 2)
    let fewer = try difference("{\"fields\": {\"imdump.alert.affected\": {\"type\": \"long\"}}}")
    #expect(fewer.status == 0)
    #expect(fewer.output.hasPrefix("added imdump.alert.clear_threshold\n"))
    #expect(!fewer.output.contains("@timestamp"))
    for wrong in ["", "[]", "{\"fields\": 1}", "{\"fields\": {\"imdump.x\": {}}}", "{{{"] {
      #expect(try difference(wrong).status == 64)
    }
    #expect(try Command.run(["schema", "diff", folder + "/none.json"]).status == 64)
  }
}
