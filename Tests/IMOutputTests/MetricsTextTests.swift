import IMEngineTestSupport
import IMMetrics
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMOutput

/// A sample in the exposition format.
private struct Sample: Equatable {
  var name: String
  var labels: [String: String] = [:]
  var value = ""
}

/// A strict parser of the exposition format: a line is a comment, or a name, labels in braces, a space and a value. Any other line is an
/// error.
private struct Exposition {
  private(set) var samples: [Sample] = []
  private(set) var help: [String: String] = [:], types: [String: String] = [:], units: [String: String] = [:]
  /// The families in the order of their comments.
  private(set) var families: [String] = []
  private(set) var hasEnd = false

  init?(_ text: String) {
    guard text.hasSuffix("\n") else { return nil }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast() {
      guard !hasEnd, read(line) else { return nil }
    }
  }

  private mutating func read(_ line: Substring) -> Bool {
    if line == "# EOF" {
      hasEnd = true
      return true
    }
    if line.hasPrefix("# ") {
      let parts = line.split(separator: " ", maxSplits: 3).map(String.init)
      guard parts.count == 4 else { return false }
      if families.last != parts[2] { families.append(parts[2]) }
      switch parts[1] {
      case "HELP": return help.updateValue(parts[3], forKey: parts[2]) == nil
      case "TYPE": return types.updateValue(parts[3], forKey: parts[2]) == nil
      case "UNIT": return units.updateValue(parts[3], forKey: parts[2]) == nil
      default: return false
      }
    }
    var rest = line.unicodeScalars[...]
    func isName(_ scalar: Unicode.Scalar) -> Bool {
      scalar == "_" || ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar)
    }
    var sample = Sample(name: String(String.UnicodeScalarView(rest.prefix(while: isName))))
    rest = rest.dropFirst(sample.name.unicodeScalars.count)
    if rest.first == "{" {
      repeat {
        rest = rest.dropFirst()
        let label = String(String.UnicodeScalarView(rest.prefix(while: isName)))
        rest = rest.dropFirst(label.unicodeScalars.count)
        guard !label.isEmpty, rest.popFirst() == "=", rest.popFirst() == "\"" else { return false }
        var value = ""
        while let scalar = rest.popFirst(), scalar != "\"" {
          guard scalar == "\\" else {
            value.unicodeScalars.append(scalar)
            continue
          }
          switch rest.popFirst() {
          case "n": value += "\n"
          case "\\": value += "\\"
          case "\"": value += "\""
          default: return false
          }
        }
        guard sample.labels.updateValue(value, forKey: label) == nil else { return false }
      } while rest.first == ","
      guard rest.popFirst() == "}" else { return false }
    }
    guard rest.popFirst() == " " else { return false }
    sample.value = String(String.UnicodeScalarView(rest))
    samples.append(sample)
    return !sample.name.isEmpty && Double(sample.value)?.isFinite == true
  }

  /// The value of the only sample with this name and at least these labels.
  func value(_ name: String, _ labels: [String: String] = [:]) -> Double? {
    let found = samples.filter { sample in sample.name == name && labels.allSatisfy { sample.labels[$0] == $1 } }
    return found.count == 1 ? Double(found[0].value) : nil
  }
}

/// Metrics for Prometheus and OpenMetrics, read by a parser of the format.
@Suite struct MetricsTextTests {
  /// A hostile name, as a profile may contain it.
  private static let name = "a\\b\"c\nd{e=\"f\"},g\r\u{1}消息 \u{202e}"

  private static func plan(_ name: String) -> ProtocolPlan {
    var draft = ProtocolPlan.Draft()
    for (value, role) in [FrameRole.message, .heartbeat, .control].enumerated() {
      var kind = FrameKind()
      (kind.value, kind.role, kind.flags) = (UInt64(value), role, role == .control ? .handshake : [])
      draft.kinds.append(kind)
    }
    return ProtocolPlan(
      name: name, version: "1", ports: [], typeNames: ["\(name)\"", "beat", "login"], tagNames: [:], checksumName: nil,
      draft: draft)
  }

  private static func text(_ dialect: MetricText.Dialect, _ sink: MetricsSink, endpoints: Int = 1) -> String {
    var kinds = [KindTotals](repeating: KindTotals(), count: 65)
    kinds[0].frames = [1 << 62, 3]
    kinds[64].frames = [1, 0]
    var ledger = Ledger()
    (ledger.packets, ledger.lastAt) = (.max, Timestamp(microseconds: 1_700_000_000_123_456))
    let plan = plan(name)
    let figures = MetricsFigures(
      version: "1.2 \"x\"",
      summary: Summary(
        plans: [plan], ledger: ledger, reassembly: ReassemblyCounters(), capture: CaptureCounts(), kinds: [kinds],
        sequences: [[]], checksums: [1, 2, 3, 4, 5]),
      endpoints: (0..<endpoints).map { number in
        var server = MadeReport.server
        server.port += UInt16(number)
        return EndpointKey(endpoint: server, plan: 0)
      }, reconnects: 4, memoryBytes: -1, memoryLimit: 1 << 40, connections: 6, process: nil)
    let text = MetricsWriter(plans: [plan]).text(dialect, figures, sink)
    return text.out.text
  }

  /// A sink that received round trips of 1, 20 and 70,000 ms, rejections, a late answer and a missed heartbeat.
  private static func sink(maximumEndpoints: Int = 10) -> MetricsSink {
    let sink = MetricsSink(plans: [plan(name)], maximumEndpoints: maximumEndpoints)
    sink.met(StatusCode(plan: 0, list: 0, number: .max), place: 1)
    func exchange(_ fate: Fate, _ kind: UInt8 = 0, after milliseconds: Int64 = 1) -> Resolution {
      let start = Timestamp(milliseconds: 5_000)
      let exchange = Exchange(
        told: fate, role: kind, direction: .clientToServer, id: 0, connection: 1, sentAt: start,
        decidedAt: start.advanced(by: .milliseconds(milliseconds)), copies: 1)
      return Resolution(exchange, endpoint: 0)
    }
    var refused = exchange(.rejected, 2)
    refused.status = 1
    var late = exchange(.unanswered)
    late.outcome.change(to: .acked)
    late.flags.insert(.late)
    let batch = [
      exchange(.acked, after: 1), exchange(.acked, after: 20), exchange(.acked, after: 70_000), refused, refused,
      exchange(.unanswered), late, exchange(.unanswered, 1),
    ]
    sink.resolved(batch.span)
    return sink
  }

  @Test(arguments: MetricText.Dialect.allCases) func everyLineIsWellFormed(_ dialect: MetricText.Dialect) throws {
    let text = Self.text(dialect, Self.sink())
    let read = try #require(Exposition(text))
    #expect(read.hasEnd == (dialect == .openMetrics) && read.samples.count > 200)
    // Each series appears once, and each family in one piece, after its comments.
    let series = read.samples.map { "\($0.name) \($0.labels.sorted { $0.key < $1.key })" }
    #expect(Set(series).count == series.count && Set(read.families).count == read.families.count)
    #expect(Set(read.families) == Set(read.types.keys) && read.help.count == read.types.count)
    var order: [String] = []
    for sample in read.samples {
      let family = read.families.filter { family in
        let type = read.types[family]
        let endings: [String] =
          switch type {
          case "counter": dialect == .openMetrics ? ["_total"] : [""]
          case "info": ["_info"]
          case "histogram": ["_bucket", "_sum", "_count"]
          case "summary": ["", "_sum", "_count"]
          default: [""]
          }
        return endings.contains { sample.name == family + $0 }
      }
      #expect(family.count == 1, "\(sample.name) belongs to \(family)")
      if order.last != family.first { order += family }
    }
    #expect(order == read.families)
    for (family, type) in read.types where type == "counter" && dialect == .prometheus {
      #expect(family.hasSuffix("_total"))
    }
    for (family, unit) in read.units { #expect(family.hasSuffix("_\(unit)")) }
  }

  @Test func bothDialectsHaveTheSameSamples() throws {
    let both = try MetricText.Dialect.allCases.map { try #require(Exposition(Self.text($0, Self.sink()))) }
    #expect(both[0].samples == both[1].samples)
    // The same counts produce the same bytes.
    #expect(Self.text(.openMetrics, Self.sink()) == Self.text(.openMetrics, Self.sink()))
    #expect(MetricText.Dialect.prometheus.contentType.contains("version=0.0.4"))
    #expect(MetricText.Dialect.openMetrics.contentType.hasPrefix("application/openmetrics-text; version=1.0.0"))
  }

  @Test func values() throws {
    let read = try #require(Exposition(Self.text(.prometheus, Self.sink())))
    let server = ["profile": Self.name, "endpoint": "192.0.2.9:8080"]
    func value(_ name: String, _ labels: [String: String]) -> Double? {
      read.value(name, server.merging(labels) { $1 })
    }
    let up = ["direction": "client_to_server"]
    #expect(value("imdump_messages_total", up.merging(["fate": "acked"]) { $1 }) == 3)
    #expect(value("imdump_messages_total", up.merging(["fate": "unanswered"]) { $1 }) == 1)
    #expect(value("imdump_messages_late_total", up.merging(["fate": "acked"]) { $1 }) == 1)
    #expect(value("imdump_heartbeats_total", ["fate": "missed"]) == 1)
    #expect(value("imdump_handshakes_refused_total", [:]) == 2)
    #expect(value("imdump_control_messages_total", up.merging(["fate": "rejected"]) { $1 }) == 2)
    #expect(value("imdump_refusals_total", ["type": "login", "status": "18446744073709551615"]) == 2)
    #expect(read.value("imdump_frames_total", ["type": Self.name + "\"", "direction": "server_to_client"]) == 3)
    #expect(read.value("imdump_frames_total", ["type": "other", "direction": "client_to_server"]) == 1)
    #expect(read.value("imdump_build_info", ["version": "1.2 \"x\""]) == 1)
    #expect(read.value("imdump_reconnects_total") == 4 && read.value("imdump_connections_held") == 6)
    #expect(read.value("imdump_memory_bytes") == 0 && read.value("imdump_memory_limit_bytes") == 0x1p40)
    #expect(read.value("imdump_capture_last_packet_timestamp_seconds") == 1_700_000_000.123456)
    // The largest count is written in full, and metrics of live captures are absent.
    let packets = read.samples.filter { $0.name == "imdump_capture_packets_processed_total" }
    #expect(packets.map(\.value) == ["18446744073709551615"])
    #expect(!read.samples.contains { $0.name.hasPrefix("imdump_process_") })
  }

  /// The buckets of a histogram never decrease from one boundary to the next, and the last one counts all samples.
  @Test func histogramsAndSummaries() throws {
    let read = try #require(Exposition(Self.text(.openMetrics, Self.sink())))
    let up = ["direction": "client_to_server"]
    let buckets = read.samples.filter {
      $0.name == "imdump_rtt_seconds_bucket" && $0.labels["direction"] == "client_to_server"
    }
    let bounds = buckets.compactMap { $0.labels["le"].flatMap { $0 == "+Inf" ? .infinity : Double($0) } }
    let counts = buckets.compactMap { Int($0.value) }
    #expect(bounds.count == 25 && bounds == bounds.sorted() && counts == counts.sorted())
    for (bound, count) in zip(bounds, counts) { #expect(count == [0.001, 0.02, 70].count { $0 <= bound }, "\(bound)") }
    #expect(read.value("imdump_rtt_seconds_count", up) == 3 && read.value("imdump_rtt_seconds_sum", up) == 70.021)
    let half = up.merging(["quantile": "0.5"]) { $1 }
    let median = try #require(read.value("imdump_run_rtt_seconds", half))
    #expect(abs(median - 0.02) <= 0.02 / 1_024 && read.value("imdump_run_rtt_seconds_count", up) == 3)
    // Without samples the percentile is absent, not 0.
    let down = ["direction": "server_to_client"]
    #expect(read.value("imdump_run_rtt_seconds", down.merging(["quantile": "0.5"]) { $1 }) == nil)
    #expect(read.value("imdump_run_rtt_seconds_count", down) == 0 && read.value("imdump_rtt_seconds_sum", down) == 0)
  }

  /// Servers beyond the limit share the label `other`, so that no count is lost.
  @Test func serversAreBounded() throws {
    let sink = Self.sink(maximumEndpoints: 1)
    var resolution = Resolution(
      Exchange(
        told: .acked, role: 0, direction: .clientToServer, id: 9, connection: 2, sentAt: .distantPast,
        decidedAt: .distantPast, copies: 1), endpoint: 5)
    sink.resolved([resolution, resolution].span)
    // A plan that does not exist.
    resolution.plan = 200
    sink.resolved([resolution].span)
    let read = try #require(Exposition(Self.text(.prometheus, sink, endpoints: 6)))
    let acked = read.samples.filter { $0.name == "imdump_messages_total" && $0.labels["fate"] == "acked" }
    let counts = acked.filter { $0.labels["direction"] == "client_to_server" }
    #expect(counts.map { $0.labels["endpoint"] } == ["192.0.2.9:8080", "other"] && counts.map(\.value) == ["3", "2"])
    #expect(read.value("imdump_endpoints") == 6 && read.value("imdump_endpoints_limit") == 1)
  }

  /// Times are microseconds written as seconds, without trailing zeros.
  @Test(
    arguments: [
      (0, "0.0"), (1, "0.000001"), (10, "0.00001"), (1_000_000, "1.0"), (1_500_000, "1.5"), (-2_000_001, "-2.000001"),
      (.max, "9223372036854.775807"), (.min, "-9223372036854.775808"),
    ] as [(Int64, String)])
  func times(_ microseconds: Int64, _ expected: String) {
    var text = MetricText(.prometheus)
    text.begin(.rejections)
    text.sample("", .microseconds(microseconds))
    #expect(text.out.text.hasSuffix("\nimdump_refusals_total \(expected)\n"))
  }
}
