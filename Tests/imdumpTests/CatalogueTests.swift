import Foundation
import IMAlerts
import IMEngine
import IMMetrics
import IMOutput
import IMTestSupport
import IMWire
import Testing

/// The catalogue of figures against what the formats print, and against what the manual says. `IMDUMP_RECORD=1` writes the
/// lists in the manual and in the documentation anew.
@Suite(.serialized) struct CatalogueTests {
  static let captures: [String] = ((try? Samples.captures()) ?? []).map(Samples.path)

  /// What the command says of a capture.
  struct Told {
    var stats: [String: Any] = [:]
    var documents: [[String: Any]] = []
    var metrics = MetricsText("")
    var text = ""
    /// The values of rules that count what reports say, over the whole capture; `nil` where no window holds all of it.
    var rules: [String: Int]?

    init(_ path: String) throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "imdump-catalogue-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let file = folder.appending(path: "imdump.prom")
      let lines = try Command.run(["-q", "-r", path, "--format", "ecs", "--metrics-file", file.path]).output
      documents = try lines.split(separator: "\n").map(Self.object)
      metrics = MetricsText(try String(contentsOf: file, encoding: .utf8))
      stats = try Self.object(Command.run(["stats", "-q", "--json", path]).output)
      text = try Command.run(["stats", "-q", path]).output
      rules = try Self.rules(path, in: folder, first: first, last: last)
    }

    /// When the capture begins and ends, in seconds.
    private var last: Double {
      metrics.samples.first { $0.key.name == "imdump_capture_last_packet_timestamp_seconds" }?.value ?? 0
    }
    private var first: Double { last - (CatalogueTests.value(stats, "traffic.duration_us") as? Double ?? 0) / 1e6 }

    /// A window of a day has steps of four hours, so one evaluation sees a capture that lies in one of these.
    private static func rules(
      _ path: String, in folder: URL, first: Double, last: Double
    ) throws -> [String: Int]? {
      guard Int(first) / 14_400 == Int(last + 80) / 14_400 else { return nil }
      let file = folder.appending(path: "rules.yml")
      let rules = Catalogue.reports.compactMap(\.info.rule?.name).map {
        "  - { name: \($0), metric: \($0), scope: profile, window: 24h, op: '>=', threshold: 1 }\n"
      }
      try Data(("version: 1\nrules:\n" + rules.joined()).utf8).write(to: file)
      var values: [String: Int] = [:]
      for line in try Command.run(["check", "-q", path, "--rules", file.path, "--json"]).output.split(separator: "\n") {
        let alert = try object(line)
        guard let name = alert["alert"] as? String, alert["state"] as? String == "firing" else { continue }
        values[name, default: 0] += (alert["value"] as? NSNumber)?.intValue ?? 0
      }
      return values
    }

    private static func object(_ text: some StringProtocol) throws -> [String: Any] {
      try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    /// The objects below `prefix` of the documents of `dataset`.
    func documents(_ dataset: String, below prefix: String) -> [[String: Any]] {
      documents.compactMap { document in
        let event = document["event"] as? [String: Any]
        guard event?["dataset"] as? String == "imdump.\(dataset)" else { return nil }
        return CatalogueTests.value(document, "imdump.\(prefix)") as? [String: Any]
      }
    }

    /// The figures of each server.
    var servers: [[String: Any]] {
      let all = (stats["servers"] as? [[String: Any]] ?? []).compactMap { $0["figures"] as? [String: Any] }
      return all + [stats["other_servers"] as? [String: Any]].compactMap { $0 }
    }
  }

  /// What stands at a dotted place.
  static func value(_ object: [String: Any], _ place: String) -> Any? {
    place.split(separator: ".").reduce(object as Any?) { object, key in (object as? [String: Any])?[String(key)] }
  }

  /// The sum of what stands at a figure's place, at all values of its dimensions; what is not there counts as none.
  static func sum(_ info: MetricInfo, _ place: String, in objects: [[String: Any]]) -> Int {
    let places = info.leaves(place).map { $0.path.joined(separator: ".") }
    return objects.reduce(0) { sum, object in
      places.reduce(sum) { $0 + (value(object, $1) as? Int ?? 0) }
    }
  }

  // MARK: The formats

  /// What reports of connections count is the same by server, connection and minute, in the metrics and for rules; and so is what
  /// is of the run.
  @Test(arguments: captures) func formatsAgree(_ path: String) throws {
    let told = try Told(path)
    let last = told.documents("connection", below: "conn").filter { $0["final"] as? Bool == true }
    let minutes = told.documents("summary", below: "summary")
    let total = try #require(told.stats["total"] as? [String: Any])
    for info in Catalogue.reports.map(\.info) where info.unit == .count || info.unit == .bytes {
      var counts: [(String, Int)] = []
      for place in info.json { counts.append(("servers, \(place)", Self.sum(info, place, in: told.servers))) }
      // Of connections that began earlier, some are of no server: `tcp.connections` is not compared.
      for place in info.connection { counts.append(("connections, \(place)", Self.sum(info, place, in: last))) }
      for place in info.interval { counts.append(("minutes, \(place)", Self.sum(info, place, in: minutes))) }
      if let family = info.metric?.family { counts.append((family, told.metrics.sum("\(family)_total"))) }
      if let rule = info.rule?.name, let rules = told.rules { counts.append(("rule \(rule)", rules[rule] ?? 0)) }
      #expect(Set(counts.map(\.1)).count <= 1, "\(info.id): \(counts)")
      guard let run = info.runMetric?.family, let place = info.json.first else { continue }
      let words = info.text.first.map { "\($0.one)|\($0.many)" } ?? ""
      let printed = told.text.firstMatch(of: try Regex("([0-9,]+) (?:\(words))", as: (Substring, Substring).self))
      let inText = printed.flatMap { Int($0.1.replacing(",", with: "")) } ?? 0
      let all = [Self.sum(info, place, in: [total]), told.metrics.sum("\(run)_total"), inText]
      #expect(Set(all).count == 1, "\(info.id) of the run: \(all)")
    }
    // What became of messages is the same by server and in the last documents of connections.
    for info in Catalogue.fates.map(\.info) {
      guard let server = info.json.first, let connection = info.connection.first else { continue }
      #expect(
        Self.sum(info, server, in: told.servers) == Self.sum(info, connection, in: last), "\(info.id)")
    }
  }

  /// A client that went away without a word: its server sends its FIN again for a minute. What comes behind the usual time of
  /// the connection's last report counts in every format.
  @Test func aFINThatIsSentAgainForLong() throws {
    func at(_ milliseconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_700_000_000_000 + milliseconds) }
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_0201), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xc000_0202), port: 8_080))
    talk.open(at: at(0))
    talk.send(TJPFrameBuilder(text: "hello", sequence: 10).bytes, .clientToServer, at: at(10))
    talk.send(TJPFrameBuilder.echoACK(of: 10).bytes, .serverToClient, at: at(20))
    let (fin, acknowledgment) = (talk.next[1], talk.next[0] &+ 1)
    let closing = talk.close(.fin(by: .clientToServer), at: at(1_000))
    talk.drop(closing[2])
    for time: Int64 in [1_300, 1_900, 3_100, 5_500, 10_300, 19_900, 39_100] {
      talk.append(.serverToClient, [.fin, .ack], sequence: fin, acknowledgment: acknowledgment, at: at(time))
    }
    let path = "/tmp/imdump-fin-\(UUID().uuidString).pcap"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(CaptureBuilder(talk.packets).pcap()).write(to: URL(filePath: path))
    try formatsAgree(path)
    let told = try Told(path)
    for name in ["fins_sent_again", "retransmissions"] {
      #expect(Self.value(told.servers[0], "tcp.server_to_client.\(name)") as? Int == 7, "\(name)")
    }
  }

  /// `stats --json` has the declared names and no others, and every declared figure somewhere in the samples.
  @Test func jsonHasTheDeclaredNames() throws {
    var printed: [String: Set<String>] = [:]
    for path in Self.captures {
      let stats = try Told(path).stats
      for (key, value) in stats {
        switch key {
        case "total", "other_servers": Self.names(value, "", &printed["server", default: []])
        case "servers", "types", "sequences":
          for row in value as? [[String: Any]] ?? [] {
            for (name, value) in row {
              if name == "figures" { Self.names(value, "", &printed["server", default: []]) }
              if key != "servers" { Self.names(value, name, &printed[key, default: []]) }
            }
          }
        default: Self.names(value, key, &printed["run", default: []])
        }
      }
    }
    let scopes: [(String, [MetricInfo], besides: Set<String>)] = [
      ("server", Catalogue.servers.map(\.info), ["refusals", "refusals_others"]),
      ("run", Catalogue.run.map(\.info), []),
      ("types", Catalogue.types.map(\.info), ["profile", "type"]),
      ("sequences", Catalogue.sequences.map(\.info), ["profile", "direction", "category"]),
    ]
    for (scope, figures, besides) in scopes {
      let names = printed[scope] ?? []
      var declared = besides
      for info in figures {
        for place in info.json where !place.hasSuffix("_") {
          let leaves = Set(info.leaves(place).map { $0.path.joined(separator: ".") })
          declared.formUnion(leaves)
          // What is left out where it is 0 need not be in a sample; and these are read to their ends (HabitTests has others), have no
          // receipts of deliveries (ReceiptTests has) and are read without a key log (StartTLSTests has one).
          let isSeldom =
            info.omitsZero || ["interrupted.", "deliveries.", "tls.handshakes."].contains { info.id.hasPrefix($0) }
          #expect(isSeldom || !leaves.isDisjoint(with: names), "\(info.id) is nowhere at \(place)")
        }
      }
      let counters = Catalogue.types.flatMap { $0.info.json.filter { $0.hasSuffix("_") } }
      let unknown = names.subtracting(declared).filter { name in
        !counters.contains { name.hasPrefix("counters.\($0)") }
      }
      #expect(unknown.isEmpty, "\(scope): \(unknown.sorted())")
    }
  }

  /// `streams --json` has the declared names, those of the connection and its ends, and no others.
  @Test func listedConnectionsHaveTheDeclaredNames() throws {
    var printed: Set<String> = []
    for path in Self.captures {
      for line in try Command.run(["streams", "-q", "--json", "--sort", "conn", path]).output.split(separator: "\n") {
        Self.names(try JSONSerialization.jsonObject(with: Data(line.utf8)), "", &printed)
      }
    }
    let besides: Set<String> = [
      "id", "conn", "client", "server", "proxied_client", "carrier", "profile", "tls", "sni", "saw_syn", "time",
      "first_us",
      "last_us", "end", "rst_by",
    ]
    let declared = Catalogue.listed.flatMap { figure in
      figure.info.json.flatMap { figure.info.leaves($0).map { $0.path.joined(separator: ".") } }
    }
    #expect(printed.subtracting(declared).subtracting(besides).isEmpty)
    for name in declared { #expect(printed.contains(name), "\(name) is nowhere") }
  }

  /// `streams --ranges --json` has the declared names, those of the stream and its ends, and no others.
  @Test func streamsHaveTheDeclaredNames() throws {
    var streams: Set<String> = [], sides: Set<String> = []
    for path in Self.captures {
      for line in try Command.run(["streams", "-q", "--ranges", "--json", path]).output.split(separator: "\n") {
        var stream = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        for side in stream.removeValue(forKey: "dirs") as? [[String: Any]] ?? [] { Self.names(side, "", &sides) }
        Self.names(stream, "", &streams)
      }
    }
    for (printed, figures, besides): (Set<String>, [MetricInfo], Set<String>) in [
      (
        streams, Catalogue.streams.map(\.info),
        [
          "id", "first_frame", "client", "server", "proxied_client", "carrier", "saw_syn", "first_us", "last_us",
        ]
      ),
      (sides, Catalogue.streamSides.map(\.info), ["dir", "ranges", "gaps"]),
    ] {
      let declared = figures.flatMap { info in
        info.json.flatMap { info.leaves($0).map { (name: $0.path.joined(separator: "."), isSeldom: info.omitsZero) } }
      }
      #expect(printed.subtracting(declared.map(\.name)).subtracting(besides).isEmpty)
      for (name, isSeldom) in declared where !isSeldom { #expect(printed.contains(name), "\(name) is nowhere") }
    }
  }

  /// The dotted names of what is no object.
  private static func names(_ value: Any, _ place: String, _ names: inout Set<String>) {
    guard let object = value as? [String: Any] else {
      names.insert(place)
      return
    }
    for (key, value) in object { self.names(value, place.isEmpty ? key : "\(place).\(key)", &names) }
  }

  @Test func everyFigureIsDeclaredOnce() {
    for (scope, figures) in Catalogue.all {
      for info in figures {
        #expect(!info.help.isEmpty && !info.help.hasSuffix("."), "\(scope): \(info.id)")
        #expect(info.dimensions.count <= 2, "\(scope): \(info.id)")
      }
      for names in [\.json, \.connection, \.interval, \.capture] as [KeyPath<MetricInfo, [String]>] {
        let leaves = figures.flatMap { info in info[keyPath: names].flatMap { info.leaves($0).map(\.path) } }
        #expect(Set(leaves).count == leaves.count, "\(scope): a name stands for two figures")
      }
    }
  }

  // MARK: The documentation

  /// The text between two marks of a page; with `IMDUMP_RECORD=1` it is written first.
  private func expect(_ list: String, in page: String, between begin: String, and end: String) throws {
    let file = Command.folder.appending(path: page)
    let text = try String(contentsOf: file, encoding: .utf8)
    let first = try #require(text.range(of: begin)), last = try #require(text.range(of: end))
    if ProcessInfo.processInfo.environment["IMDUMP_RECORD"] == "1" {
      let new = text[..<first.upperBound] + list + text[last.lowerBound...]
      try String(new).write(to: file, atomically: true, encoding: .utf8)
    } else {
      #expect(text[first.upperBound..<last.lowerBound] == list, "\(page): run the tests with IMDUMP_RECORD=1")
    }
  }

  @Test func theManualListsTheMetrics() throws {
    var list = ""
    for (title, scope) in [
      ("The run", []), ("Types of frames", ["profile", "type"]), ("Servers", ["profile", "endpoint"]),
    ] as [(String, [String])] {
      list += ".Ss \(title)\n.Bl -tag -width Ds\n"
      for family in MetricFamily.all where family.labels.starts(with: scope) && (!scope.isEmpty || Self.isOfRun(family))
      {
        let name = family.name + (family.kind == .counter ? "_total" : family.kind == .info ? "_info" : "")
        let labels = family.labels.isEmpty ? "" : ": " + family.labels.joined(separator: ", ")
        list += ".It Li \(name) Pq \(family.kind.rawValue)\(labels)\n\(family.help).\n"
      }
      list += ".El\n"
    }
    try expect(
      list, in: "man/imdump-metrics.5", between: ".\\\" Metrics, written by the tests with IMDUMP_RECORD=1.\n",
      and: ".\\\" End of metrics.\n")
  }

  /// Every name that `stats --json` has of our own stands in its manual.
  @Test func theManualNamesWhatJSONHas() throws {
    let page = try String(contentsOf: Command.folder.appending(path: "man/imdump.1"), encoding: .utf8)
    let words = Set(page.split { !($0.isLetter || $0.isNumber || $0 == "_") }.map(String.init))
    let figures =
      Catalogue.servers.map(\.info) + Catalogue.run.map(\.info) + Catalogue.types.map(\.info)
      + Catalogue.sequences.map(\.info) + Catalogue.listed.map(\.info) + Catalogue.streams.map(\.info)
      + Catalogue.streamSides.map(\.info)
    for info in figures {
      for name in info.json.compactMap({ $0.split(separator: ".").last }) where !name.contains("{") {
        // `fast_` and its like stand for `fast_retransmissions`, and `units_TYPE` for a counter of each type.
        let isThere =
          words.contains(String(name)) || words.contains(name + "TYPE")
          || name.hasSuffix("_retransmissions") && words.contains { $0.hasSuffix("_") && name.hasPrefix($0) }
        #expect(isThere, "\(info.id): \(name)")
      }
    }
  }

  private static func isOfRun(_ family: MetricFamily) -> Bool { family.labels.first != "profile" }

  @Test func theManualListsTheRulesOfReports() throws {
    var list = ""
    for info in AlertMetric.allCases.filter({ $0.samples == .reports }).map(\.info) {
      list += ".It Cm \(info.rule?.name ?? "")\n\(info.help.prefix(1).uppercased())\(info.help.dropFirst()).\n"
    }
    try expect(
      list, in: "man/imdump-rules.5", between: ".\\\" Reports, written by the tests with IMDUMP_RECORD=1.\n",
      and: ".\\\" End of reports.\n")
    let page = try String(contentsOf: Command.folder.appending(path: "man/imdump-rules.5"), encoding: .utf8)
    let entries = page.split(separator: "\n").filter { $0.hasPrefix(".It Cm ") }
      .flatMap { $0.dropFirst(7).split(separator: " ") }.map(String.init)
    for metric in AlertMetric.allCases { #expect(entries.contains(metric.rawValue), "\(metric.rawValue)") }
  }

  /// The lines and tables that have the figures of a scope.
  private static let places: [String: [MetricPresentation.Place]] = [
    "The run": [
      .packets, .seen, .bytes, .evictions, .connections, .traffic, .issues, .problems, .tiles, .also, .unseen,
    ],
    "A server, and all connections": [
      .servers, .heartbeats, .causes, .connections, .handshakes, .deliveries, .reads, .tcp, .segments, .problems, .diff,
      .tiles,
      .losses, .also,
    ],
    "A protocol": [.profile], "A type of frames": [.types], "The numbers of a counter": [.sequences],
    "A connection": [.worst], "A period": [.periods], "A session": [.sessions], "A connection in a list": [.listed],
    "A stream": [.streams],
  ]

  @Test func theDocumentationListsTheFigures() throws {
    var list = ""
    var listed: Set<String> = []
    for (scope, figures) in Catalogue.all {
      list += "\n## \(scope)\n\n| Figure | Says | Text | JSON | Document | Metric | Rule | Moment |\n"
      list += "|---|---|---|---|---|---|---|---|\n"
      func code(_ names: [String]) -> String { names.map { "`\($0)`" }.joined(separator: ", ") }
      for info in figures {
        let documents =
          scope == "A connection"
          ? info.connection.map { "imdump.conn.\($0)" }
          : scope == "The capture"
            ? info.capture.map { "imdump.capture.\($0)" }
            : scope == "A server's minute" ? info.interval.map { "imdump.summary.\($0)" } : []
        let isPeriod = scope == "A period"
        let isStats = !isPeriod && !["A connection", "A server's minute", "The capture"].contains(scope)
        let json = isStats ? info.json : isPeriod ? info.interval : []
        let places = Self.places[scope] ?? []
        let text = info.text.filter { places.contains($0.place) }.map(\.summary)
        let metric = isStats ? info.metric.map { [$0.family] } ?? [] : []
        // A rule stands where its figure does; where that is nowhere, once.
        let rule = info.rule.map { [$0.name] } ?? []
        guard !(documents + json + metric + text).isEmpty || !rule.allSatisfy(listed.contains) else { continue }
        listed.formUnion(rule)
        list +=
          "| \(info.id) | \(info.help.replacing("|", with: "\\|")) | \(text.joined(separator: "; ")) | \(code(json)) | \(code(documents)) | \(code(metric)) "
          + "| \(code(rule)) | \(info.moment.rawValue) |\n"
      }
    }
    try expect(list, in: "docs/figures.md", between: "<!-- figures -->\n", and: "\n<!-- end -->")
    var moments = "\n| Moment | Belongs to | Final |\n|---|---|---|\n"
    for moment in MetricTiming.allCases {
      moments += "| \(moment.rawValue) | \(moment.attribution) | \(moment.finality) |\n"
    }
    try expect(moments, in: "docs/figures.md", between: "<!-- moments -->\n", and: "\n<!-- end of moments -->")
  }
}
