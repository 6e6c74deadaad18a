import Foundation
import IMTestSupport
import Testing

/// `imdump stats --per`, against `imdump messages` and `imdump stats` of the same capture.
@Suite struct PeriodTests {
  private static func objects(_ arguments: [String]) throws -> [[String: Any]] {
    let run = try Command.run(arguments + ["-q"])
    return try run.output.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }

  private static func int(_ value: Any?, _ path: String...) -> Int {
    let found = path.reduce(value) { ($0 as? [String: Any])?[$1] }
    return (found as? NSNumber)?.intValue ?? 0
  }

  /// A message counts in the period in which its first copy came, with the fate that `messages` tells.
  @Test(arguments: try Samples.captures(), [1, 10, 60, 3_600]) func periodsHaveTheMessagesSentInThem(
    _ sample: String, _ seconds: Int
  ) throws {
    let path = Samples.path(sample)
    let messages = try Self.objects(["messages", "--json", "--utc", path])
    let rows = try Self.objects(["stats", "--json", "--utc", "--per", "\(seconds)s", path])
    var expected: [Int: [String: Int]] = [:]
    let roles = try Self.messageTypes(path)
    for message in messages where roles.contains(message["type"] as? String ?? "") {
      let first = ((message["ts"] as? [Any])?.first as? NSNumber)?.intValue ?? 0
      guard let fate = message["fate"] as? String, fate != "unacknowledged" else { continue }
      expected[first / 1_000_000 / seconds * seconds, default: [:]][fate, default: 0] += 1
    }
    var found: [Int: [String: Int]] = [:]
    for row in rows {
      let start = Self.int(row, "start_us") / 1_000_000
      #expect(Self.int(row, "end_us") / 1_000_000 == start + seconds)
      for fate in ["acked", "acked_after_retry", "rejected", "unanswered", "damaged", "unknown", "pending"] {
        let count =
          Self.int(row, "messages", "client_to_server", fate) + Self.int(row, "messages", "server_to_client", fate)
        if count > 0 { found[start, default: [:]][fate] = count }
      }
    }
    #expect(found == expected)
    #expect(rows.map { Self.int($0, "start_us") } == rows.map { Self.int($0, "start_us") }.sorted())
  }

  /// The types whose role is `message`, as the profiles' YAML says.
  private static func messageTypes(_ path: String) throws -> Set<String> {
    var names: Set<String> = []
    for type in try objects(["stats", "--json", path]).first?["types"] as? [[String: Any]] ?? [] {
      guard let profile = type["profile"] as? String, let name = type["type"] as? String else { continue }
      let yaml = try Command.run(["profile", "show", profile]).output
      let entry = yaml.ranges(of: try Regex("name: \(name)\\b")).first.map { yaml[$0.upperBound...] }
      let role = entry?.firstMatch(of: /role: ([a-z]+)/)?.1
      if role == "message" { names.insert(name) }
    }
    return names
  }

  /// Round trips of each direction and minute are those that `messages --json` lists for it: count and longest exact,
  /// percentiles within 0.1 %.
  @Test(arguments: try Samples.captures()) func roundTripsOfEachDirection(_ sample: String) throws {
    let path = Samples.path(sample)
    var expected: [String: [Double]] = [:]
    for message in try Self.objects(["messages", "--json", "--utc", path]) {
      guard let time = (message["rtt_karn_us"] as? NSNumber)?.doubleValue, let way = message["dir"] as? String,
        let first = ((message["ts"] as? [Any])?.first as? NSNumber)?.intValue
      else { continue }
      expected["\(first / 60_000_000 * 60) \(way)", default: []].append(time)
    }
    let beats = try Self.objects(["messages", "--json", "--utc", "-Y", "heartbeat", path])
    for message in beats {
      guard let time = (message["rtt_karn_us"] as? NSNumber)?.doubleValue, let way = message["dir"] as? String,
        let first = ((message["ts"] as? [Any])?.first as? NSNumber)?.intValue
      else { continue }
      let key = "\(first / 60_000_000 * 60) \(way)"
      if let place = expected[key]?.firstIndex(of: time) { expected[key]?.remove(at: place) }
    }
    for row in try Self.objects(["stats", "--json", "--utc", "--per", "1m", path]) {
      let trips = row["rtt"] as? [String: Any]
      for (short, way) in [("c2s", "client_to_server"), ("s2c", "server_to_client")] {
        let times = (expected["\(Self.int(row, "start_us") / 1_000_000) \(short)"] ?? []).sorted()
        guard !times.isEmpty else {
          #expect(trips?[way] == nil, "\(short)")
          continue
        }
        #expect(Self.int(trips, way, "count") == times.count, "\(short)")
        func value(_ name: String) -> Double {
          (((trips?[way] as? [String: Any])?[name] as? NSNumber)?.doubleValue ?? -1) * 1_000
        }
        #expect(abs(value("max_ms") - times[times.count - 1]) < 1, "\(short)")
        for (name, percent) in [("p50_ms", 50.0), ("p99_ms", 99.0)] {
          let time = times[max(1, Int((percent / 100 * Double(times.count)).rounded(.up))) - 1]
          #expect(abs(value(name) - time) <= max(1, time * 0.001), "\(short) \(name)")
        }
      }
    }
  }

  /// The periods add up to the whole capture.
  @Test(arguments: try Samples.captures()) func periodsAddUp(_ sample: String) throws {
    let path = Samples.path(sample)
    let rows = try Self.objects(["stats", "--json", "--per", "7s", path])
    let whole = try #require(try Self.objects(["stats", "--json", path]).first)
    func sum(_ path: String...) -> Int {
      rows.reduce(0) { sum, row in
        sum + ((path.reduce(row as Any?) { ($0 as? [String: Any])?[$1] } as? NSNumber)?.intValue ?? 0)
      }
    }
    for fate in ["units", "acked", "acked_after_retry", "rejected", "unanswered", "damaged", "unknown", "pending"] {
      let both = sum("messages", "client_to_server", fate) + sum("messages", "server_to_client", fate)
      #expect(both == Self.int(whole, "total", "messages", fate), "\(fate)")
    }
    for fate in ["sent", "answered", "missed", "unknown"] {
      #expect(sum("heartbeat", fate) == Self.int(whole, "total", "heartbeats", fate), "\(fate)")
    }
    #expect(sum("frames") == Self.int(whole, "traffic", "frames"))
    #expect(sum("rtt", "count") == Self.int(whole, "total", "rtt_us", "count"))
    #expect(sum("connections", "opened") == Self.int(whole, "connections", "decoded"))
    #expect(sum("connections", "attempts") == Self.int(whole, "counters", "connection_attempts"))
  }

  @Test func linesAreATable() throws {
    let run = try Command.run(["stats", "-q", "--per", "30s", "Samples/tjp-weak-network.pcap"])
    let lines = run.output.split(separator: "\n")
    #expect(run.status == 0 && lines.count == 6)
    #expect(lines[0].hasPrefix("from +08:00 ") && lines[1].hasPrefix("2025-10-09 16:53:00 "))
    for wrong in ["0s", "10", "25h", "x", "1.5s", "99999999999999999999s"] {
      let refused = try Command.run(["stats", "--per", wrong, "Samples/tjp-weak-network.pcap"])
      #expect(refused.status == 64 && refused.errors.contains("a time from 1s to 24h, such as"), "\(wrong)")
    }
  }

  /// A refusal is a message and the lines under it.
  @Test func refusalsHaveLines() throws {
    let unknown = try Command.run(["stats", "--nope"]).errors.split(separator: "\n")
    #expect(unknown.count == 4 && unknown[1].hasPrefix("Usage: imdump stats"))
    let filter = try Command.run(["-r", "Samples/tjp-clean-chat.pcap", "-Y", "seq == 1 and foo == 2"]).errors
    #expect(filter.split(separator: "\n").last == "               ^")
  }
}
