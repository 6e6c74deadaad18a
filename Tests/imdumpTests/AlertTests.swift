import Foundation
import IMTestSupport
import Testing

/// Alerts over whole captures, from the command, held against the captures' truth.
@Suite struct AlertTests {
  private static func ratio(_ samples: [AlertModel.Sample]) -> Double? {
    Double(samples.count { $0.isAffected }) / Double(samples.count)
  }

  private static func slow(_ direction: String) -> AlertModel.Rule {
    AlertModel.Rule(
      name: "slow-\(direction)",
      text:
        "metric: rtt_p95, direction: \(direction), window: 60s, op: '>', threshold: 100ms, for: 20s, min_samples: 3",
      window: 60, step: 10, patience: 20, minimum: 3,
      value: { samples in
        let sorted = samples.map(\.value).sorted()
        return sorted[max(0, Int((Double(sorted.count) * 0.95).rounded(.up)) - 1)]
      }, isWrong: { $0 > 100 }, samples: { $0.roundTrips(direction, beyond: 100) })
  }

  static let rules: [AlertModel.Rule] = [
    AlertModel.Rule(
      name: "loss", text: "metric: loss, window: 60s, op: '>', threshold: 2%, min_samples: 5", window: 60, step: 10,
      minimum: 5, value: ratio, isWrong: { $0 > 0.02 }, samples: { $0.lost() }),
    AlertModel.Rule(
      name: "loss-short", text: "metric: loss, scope: profile, window: 20s, op: '>=', threshold: 0.1", window: 20,
      step: 2,
      value: ratio, isWrong: { $0 >= 0.1 }, samples: { $0.lost() }),
    AlertModel.Rule(
      name: "success", text: "metric: success, window: 30s, op: '<', threshold: 95%, min_samples: 3", window: 30,
      step: 5,
      minimum: 3, value: { samples in ratio(samples).map { 1 - $0 } }, isWrong: { $0 < 0.95 }, samples: { $0.lost() }),
    AlertModel.Rule(
      name: "retry", text: "metric: retry, window: 30s, op: '>', threshold: 5%, for: 10s", window: 30, step: 5,
      patience: 10,
      value: ratio, isWrong: { $0 > 0.05 }, samples: { $0.retried() }),
    slow("c2s"), slow("s2c"),
    AlertModel.Rule(
      name: "busy", text: "metric: messages, window: 10s, op: '>=', threshold: 5", window: 10, step: 1,
      value: { Double($0.count) }, isWrong: { $0 >= 5 }, samples: { $0.messagesSent() }),
    AlertModel.Rule(
      name: "loss-long",
      text: "metric: loss, filter: 'payload_size > 19', scope: profile, window: 60s, op: '>', threshold: 2%",
      window: 60, step: 10, value: ratio, isWrong: { $0 > 0.02 }, samples: { $0.lost(longerThan: 19) }),
    AlertModel.Rule(
      name: "busy-clients",
      text: "metric: messages, filter: 'tjp.category == message and dir == c2s', window: 10s, op: '>=', threshold: 3",
      window: 10, step: 1, value: { Double($0.count) }, isWrong: { $0 >= 3 }, samples: { $0.messagesSent("c2s") }),
    AlertModel.Rule(
      name: "lost-messages",
      text: "metric: messages, where: 'fate in {unanswered, damaged}', window: 20s, op: '>=', threshold: 2",
      window: 20, step: 2, value: { Double($0.count) }, isWrong: { $0 >= 2 },
      samples: { $0.lost().filter(\.isAffected).map { AlertModel.Sample(at: $0.at) } }),
    AlertModel.Rule(
      name: "retried-long",
      text:
        "metric: messages, where: 'payload_size > 19 and (fate == acked_after_retry or type == heartbeat)', window: 30s, "
        + "op: '>=', threshold: 1",
      window: 30, step: 5, value: { Double($0.count) }, isWrong: { $0 >= 1 },
      samples: { $0.retried(longerThan: 19).filter(\.isAffected).map { AlertModel.Sample(at: $0.at) } }),
    AlertModel.Rule(
      name: "loss-not-slow",
      text:
        "metric: loss, where: 'not (rtt_ms > 100)', scope: profile, window: 30s, op: '>', threshold: 5%",
      window: 30, step: 5, value: ratio, isWrong: { $0 > 0.05 }, samples: { $0.lost(fasterThan: 100) }),
    AlertModel.Rule(
      name: "reconnects", text: "metric: reconnects, scope: profile, window: 60s, op: '>=', threshold: 2", window: 60,
      step: 10, value: { Double($0.count) }, isWrong: { $0 >= 2 }, samples: { $0.reconnects() }),
  ]

  /// A file with rules, gone with the folder.
  private static func scratch(_ body: (URL) throws -> Void) throws {
    let folder = URL(filePath: NSTemporaryDirectory()).appending(path: "imdump-alerts-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder)
  }

  private static func write(_ rules: [String], _ folder: URL) throws -> String {
    let url = folder.appending(path: "rules.yml")
    let text = "version: 1\nrules:\n" + rules.map { "  - { \($0) }\n" }.joined()
    try Data(text.utf8).write(to: url)
    return url.path
  }

  private static func objects(_ output: String) throws -> [[String: Any]] {
    try output.split(separator: "\n").map {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:]
    }
  }

  @Test(arguments: ["tjp-weak-network.pcap", "tjp-clean-chat.pcap"], rules)
  func aRuleFiresWhenTheTruthSaysSo(_ sample: String, _ rule: AlertModel.Rule) throws {
    try Self.scratch { folder in
      let path = try Self.write(["name: \(rule.name), \(rule.text)"], folder)
      let result = try Command.run(["check", "Samples/\(sample)", "--rules", path, "--json", "-q"])
      let expected = try AlertModel(sample).told(rule)
      let found = try Self.objects(result.output).map { object in
        AlertModel.Told(
          at: (object["ts"] as? NSNumber)?.int64Value ?? 0, state: object["state"] as? String ?? "",
          samples: object["samples"] as? Int ?? -1, affected: object["affected"] as? Int ?? -1)
      }
      #expect(found == expected)
      #expect(result.status == (expected.isEmpty ? 0 : 2))
      #expect(result.errors == "")
    }
  }

  /// A rule without a direction has a state for each, and its alerts say which.
  @Test func roundTripsHaveADirection() throws {
    func told(_ direction: String, _ scope: String) throws -> [[String: Any]] {
      let folder = try Scratch()
      let text =
        "name: slow, metric: rtt_p95, \(direction)scope: \(scope), window: 30s, op: '>', threshold: 100ms, "
        + "clear: 80ms, min_samples: 2"
      let path = try folder.file("rules.yml", Array("version: 1\nrules:\n  - { \(text) }\n".utf8))
      let words = ["check", "Samples/tjp-weak-network.pcap", "--rules", path, "-q"]
      #expect(
        try Command.run(words).output.split(separator: "\n").allSatisfy {
          $0.contains("rtt_p95[") || $0.contains(" over: ")
        })
      return try Self.objects(try Command.run(words + ["--json"]).output)
    }
    func plain(_ alerts: [[String: Any]]) -> [String] {
      alerts.map {
        "\($0["ts"] ?? 0) \($0["dir"] ?? "none") \($0["state"] ?? "") \($0["samples"] ?? 0) \($0["value"] ?? 0) \($0["id"] ?? "")"
      }
      .sorted()
    }
    for scope in ["endpoint", "connection"] {
      let either = try told("", scope), up = try told("direction: c2s, ", scope),
        down = try told("direction: s2c, ", scope)
      #expect(!up.isEmpty && up.allSatisfy { $0["dir"] as? String == "c2s" })
      #expect(!down.isEmpty && down.allSatisfy { $0["dir"] as? String == "s2c" })
      #expect(plain(either) == plain(up + down), "\(scope)")
      #expect(Set(up.map { "\($0["fingerprint"] ?? "")" }).isDisjoint(with: down.map { "\($0["fingerprint"] ?? "")" }))
    }
    let folder = try Scratch()
    let bad = try folder.file(
      "bad.yml",
      Array(
        "version: 1\nrules:\n  - { name: a, metric: loss, direction: c2s, window: 1m, op: '>', threshold: 1% }\n".utf8))
    let run = try Command.run(["rules", "check", bad])
    #expect(run.status != 0 && run.errors.contains("loss has no direction"), "\(run.errors)")
  }

  /// Without samples there is nothing to be tested: the table above must have rules that fire, and some that do not.
  @Test func theModelFiresSomewhere() throws {
    let weak = try AlertModel("tjp-weak-network.pcap")
    let clean = try AlertModel("tjp-clean-chat.pcap")
    #expect(Self.rules.allSatisfy { !weak.told($0).isEmpty })
    #expect(Self.rules.contains { clean.told($0).isEmpty })
  }

  static let all = [
    "name: loss, metric: loss, window: 60s, op: '>', threshold: 2%, min_samples: 5",
    "name: hb, metric: heartbeat_missed_consecutive, scope: connection, window: 60s, op: '>=', threshold: 1",
    "name: retry, metric: retry, scope: connection, window: 30s, op: '>', threshold: 1%",
    "name: rec, metric: reconnects, scope: profile, window: 60s, op: '>=', threshold: 2",
    "name: cs, metric: connection_success, window: 60s, op: '<', threshold: 0.9",
    "name: hf, metric: handshake_failures, window: 60s, op: '>=', threshold: 1",
    "name: rtt, metric: rtt_p95, window: 60s, op: '>', threshold: 100ms, for: 10s",
    "name: age, metric: unacked_age, window: 60s, op: '>', threshold: 2s",
    "name: crc, metric: crc_error_ratio, window: 60s, op: '>', threshold: 1%",
    "name: silence, metric: messages, scope: connection, window: 10s, op: absent",
    "name: client, metric: loss, by: client, window: 60s, op: '>', threshold: 2%",
    "name: session, metric: retry, by: session, window: 30s, op: '>', threshold: 1%",
    "name: network, metric: messages, by: network/24, where: 'fate == unanswered', window: 60s, op: '>=', threshold: 1",
    "name: jitter, metric: heartbeat_jitter, window: 60s, op: '>', threshold: 1s",
  ]

  @Test(arguments: ["tjp-weak-network.pcap", "tjp-damage.pcap", "mqtt-mosquitto.pcap"])
  func theEvidenceFiresTheSameAlert(_ sample: String) throws {
    try Self.scratch { folder in
      let path = try Self.write(Self.all, folder)
      let evidence = folder.appending(path: "evidence").path
      let result = try Command.run([
        "check", "Samples/\(sample)", "--rules", path, "--json", "-q", "--evidence", evidence,
      ])
      let told = try Self.objects(result.output)
      let fired = told.filter { $0["state"] as? String == "firing" }
      // What was held, because another connection had packets dropped, fires earlier without that connection.
      let held = Set(told.filter { $0["state"] as? String == "held" }.map { $0["fingerprint"] as? String })
      #expect(!fired.isEmpty)
      for alert in fired {
        let file = try #require(alert["evidence"] as? String)
        let again = try Command.run(["check", evidence + "/" + file, "--rules", path, "--json", "-q"])
        var same = try Self.objects(again.output).filter {
          $0["fingerprint"] as? String == alert["fingerprint"] as? String && $0["state"] as? String == "firing"
        }
        // The packets of a later episode may have an earlier one, too.
        if let own = same.first(where: { $0["id"] as? String == alert["id"] as? String }) { same = [own] }
        #expect(again.status == 2)
        let times = held.contains(alert["fingerprint"] as? String) ? [] : ["ts", "since"]
        for key in times + ["value", "samples", "affected", "reason"] {
          #expect("\(same.first?[key] ?? "none")" == "\(alert[key] ?? "none")", "\(file): \(key)")
        }
      }
    }
  }

  /// A second run writes its evidence beside the first one's. Beyond the limit the oldest go, and that is said: after each capture those stay
  /// that are the newest and fit. Files of others stay, whatever they are called.
  @Test func evidenceIsNeverOverwritten() throws {
    try Self.scratch { folder in
      let path = try Self.write(Self.all, folder), evidence = folder.appending(path: "evidence")
      let words = ["check", "Samples/tjp-weak-network.pcap", "--rules", path, "--json", "--evidence", evidence.path]
      func files() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: evidence.path)
        return try Dictionary(
          uniqueKeysWithValues: names.map { ($0, try Data(contentsOf: evidence.appending(path: $0))) })
      }
      let named = try Self.objects(Command.run(words).output).compactMap { $0["evidence"] as? String }
      let first = try files()
      #expect(!named.isEmpty && Set(named) == Set(first.keys))
      let again = try Self.objects(Command.run(words).output).compactMap { $0["evidence"] as? String }
      let both = try files()
      #expect(again == named.map { $0.replacing(".pcap", with: ".2.pcap") } && both.count == 2 * first.count)
      for (name, bytes) in first { #expect(both[name] == bytes, "\(name)") }
      let others = ["mine.pcap", "a-0123456789abcdef-1x.pcap", "b-0123456789abcdef-1.txt"]
      for name in others { try Data(count: 100_000).write(to: evidence.appending(path: name)) }
      // By the time of the episode and then the number, as a list says.
      func key(_ name: String) -> (String, Int, String) {
        let parts = name.dropLast(5).split(separator: ".")
        return (String(parts[0].suffix(13)), parts.count > 1 ? Int(parts[1]) ?? 0 : 1, name)
      }
      let limit = 20_480
      var expected = both.keys.sorted { key($0) < key($1) }.map { ($0, both[$0]?.count ?? 0) }
      var deleted = 0
      let third = named.map { $0.replacing(".pcap", with: ".3.pcap") }
      for (name, old) in zip(third, named) {
        expected.append((name, first[old]?.count ?? 0))
        while expected.count > 1, expected.reduce(0, { $0 + $1.1 }) > limit {
          expected.removeFirst()
          deleted += 1
        }
      }
      let full = try Command.run(words + ["--evidence-max", "20k"])
      #expect(try Self.objects(full.output).compactMap { $0["evidence"] as? String } == third)
      let left = try files()
      #expect(Set(left.keys) == Set(expected.map(\.0) + others) && deleted > 0)
      for (name, old) in zip(third, named) where left[name] != nil { #expect(left[name] == first[old]) }
      #expect(full.errors.contains("deleting the oldest captures: together they have reached --evidence-max"))
      #expect(full.errors.contains("\(deleted) evidence captures deleted, oldest first"), "\(full.errors)")
      // One that is larger than the limit stays alone.
      _ = try Command.run(words + ["--evidence-max", "1k"])
      let alone = Set(try files().keys).subtracting(others)
      #expect(alone.count == 1 && alone.first?.hasPrefix(named[named.count - 1].dropLast(5)) == true, "\(alone)")
    }
  }

  @Test(arguments: ["text", "json", "ecs"])
  func aCaptureGivesTheSameBytesEveryTime(_ format: String) throws {
    try Self.scratch { folder in
      let path = try Self.write(Self.all, folder)
      let sample = "Samples/tjp-weak-network.pcap"
      for command in [["check", sample], ["-r", sample]] {
        let options = ["--rules", path, "--format", format, "-q"]
        let first = try Command.run(command + options).output
        #expect(first.contains("silence"))
        #expect(try Command.run(command + options).output == first)
      }
    }
  }

  /// Messages without a right checksum are lost, whatever was in the two holes of the capture.
  @Test func lossThatHolesDoNotExplainFires() throws {
    try Self.scratch { folder in
      let path = try Self.write([Self.all[0]], folder)
      let result = try Command.run(["check", "Samples/tjp-damage.pcap", "--rules", path, "--json"])
      let told = try Self.objects(result.output)
      #expect(told.map { $0["state"] as? String } == ["firing"])
      #expect(told.first?["affected"] as? Int == 2)
      #expect(result.status == 2)
    }
  }

  @Test func theStatusTells() throws {
    try Self.scratch { folder in
      let rules = try Self.write([Self.all[0]], folder)
      let weak = "Samples/tjp-weak-network.pcap"
      let cut = folder.appending(path: "cut.pcap")
      try Data(Samples.bytes("tjp-clean-chat.pcap").dropLast(7)).write(to: cut)
      let bad = folder.appending(path: "bad.yml")
      try Data("version: 1\nrules: 7\n".utf8).write(to: bad)
      for (arguments, status) in [
        ([weak, "--rules", rules], 2), (["Samples/tjp-clean-chat.pcap", "--rules", rules], 0),
        ([cut.path, "--rules", rules], 1), ([weak, "--rules", bad.path], 64), ([weak], 64),
        ([weak, "--rules", "/nowhere.yml"], 64), (["/nowhere.pcap", "--rules", rules], 66),
        ([weak, "--rules", rules, "--hook", "/nowhere"], 64), ([weak, "--rules", rules, "--webhook", "ftp://x"], 64),
      ] as [([String], Int32)] {
        #expect(try Command.run(["check"] + arguments).status == status, "\(arguments)")
      }
      #expect(try Command.run(["-r", weak, "--evidence", folder.path]).status == 64, "evidence without rules")
    }
  }

  /// Each payload names the run, as the documents do, and the runbook.
  @Test func payloadsNameTheRunAndTheRunbook() throws {
    try Self.scratch { folder in
      let rules = try Self.write([Self.all[0] + ", by: client, runbook: 'https://example.com/lost'"], folder)
      let heard = folder.appending(path: "heard").path, hook = folder.appending(path: "hook")
      let script = "echo \"$IMDUMP_ALERT_RUN $IMDUMP_ALERT_RUNBOOK $IMDUMP_ALERT_BY $IMDUMP_ALERT_GROUP\" >> \(heard)\n"
      try Data(script.utf8).write(to: hook)
      let words = ["Samples/tjp-weak-network.pcap", "--rules", rules]
      let objects = try Self.objects(
        Command.run(["check"] + words + ["--json", "-q", "--hook", "/bin/sh \(hook.path)"]).output)
      #expect(!objects.isEmpty)
      let lines = try String(contentsOfFile: heard, encoding: .utf8).split(separator: "\n").map(String.init)
      #expect(
        lines.sorted()
          == objects.map { "\($0["run"] ?? "") \($0["runbook"] ?? "") \($0["by"] ?? "") \($0["group"] ?? "")" }.sorted()
      )
      for object in objects {
        #expect(
          (object["run"] as? String)?.utf8.count == 26 && object["runbook"] as? String == "https://example.com/lost")
        #expect("\(object["reason"] ?? "")".hasSuffix(", client \(object["group"] ?? "none")"))
      }
      // The same run has one name in its alerts and its documents.
      let documents = try Self.objects(
        Command.run(["-r"] + words + ["--format", "ecs", "-q", "--hook", "/bin/sh \(hook.path)"]).output)
      let own = documents.compactMap { $0["imdump"] as? [String: Any] }
      let runs = Set(own.compactMap { ($0["run"] as? [String: Any])?["id"] as? String })
      let again = try String(contentsOfFile: heard, encoding: .utf8).split(separator: "\n").dropFirst(lines.count)
      #expect(runs.count == 1 && again.allSatisfy { $0.hasPrefix("\(runs.first ?? "none") ") } && !again.isEmpty)
      let alerts = documents.filter { ($0["event"] as? [String: Any])?["dataset"] as? String == "imdump.alert" }
      #expect(
        !alerts.isEmpty
          && alerts.allSatisfy { ($0["rule"] as? [String: Any])?["reference"] as? String == "https://example.com/lost" }
      )
    }
  }

  /// What a webhook could not take goes to the spool, and the next run delivers it first, in order; in between, a receiver that wants to be
  /// asked later is. Nothing is lost, and nothing overtakes.
  @Test func theSpoolIsTakenUp() throws {
    try Self.scratch { folder in
      let rules = try Self.write([Self.all[0], Self.all[2], Self.all[9]], folder)
      let spool = folder.appending(path: "spool").path
      let away = try HTTPReceiver()
      away.stop()
      func run(_ port: UInt16) throws -> (told: [String], errors: String, status: Int32) {
        let result = try Command.run([
          "check", "Samples/tjp-weak-network.pcap", "--rules", rules, "--json", "--webhook",
          "http://127.0.0.1:\(port)/x",
          "--alert-spool", spool,
        ])
        return (result.output.split(separator: "\n").map(String.init), result.errors, result.status)
      }
      func files() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: spool).count }
      let first = try run(away.port)
      #expect(first.told.count > 5 && first.status == 2, "what waits is not lost")
      #expect(try files() == first.told.count)
      #expect(first.errors.contains("\(first.told.count) spooled"), "\(first.errors)")
      let there = try HTTPReceiver(port: away.port, answers: ["503 No", "429 Later\r\nRetry-After: 1"])
      let second = try run(there.port)
      there.stop()
      let bodies = there.bodies.map { String(decoding: $0, as: UTF8.self).trimmingCharacters(in: .newlines) }
      // The first one came three times: twice it was not taken.
      #expect(bodies.prefix(3) == [first.told[0], first.told[0], first.told[0]])
      #expect(Array(bodies.dropFirst(2)) == first.told + second.told)
      #expect(try files() == 0 && second.status == 2)
      #expect(second.errors.contains("\(first.told.count) alerts to deliver"), "\(second.errors)")
    }
  }

  @Test func theRulesOfTheSamplesAreInOrder() throws {
    let result = try Command.run(["rules", "check", "Samples/alerts/im.yml"])
    #expect(result.output == "Samples/alerts/im.yml: 15 rules, no errors\n")
    #expect(result.status == 0)
  }

  @Test func aHookHearsOfEachAlert() throws {
    try Self.scratch { folder in
      let rules = try Self.write([Self.all[0]], folder)
      let hook = folder.appending(path: "hook")
      let heard = folder.appending(path: "heard").path
      let script =
        "{ cat; echo \"$1 $IMDUMP_ALERT_NAME $IMDUMP_ALERT_STATE $IMDUMP_ALERT_SERVER\"; } >> \(heard)\n"
      try Data(script.utf8).write(to: hook)
      // Read by a shell that was there before: a file just written cannot be run while another test's child still holds it open.
      let result = try Command.run(
        ["check", "Samples/tjp-weak-network.pcap", "--rules", rules, "--json", "--hook", "/bin/sh \(hook.path) word"])
      let lines = try String(contentsOfFile: heard, encoding: .utf8).split(separator: "\n").map(String.init)
      // Two run at once, so their order is open.
      #expect(
        lines.filter { $0.hasPrefix("{") }.sorted() == result.output.split(separator: "\n").map(String.init).sorted())
      #expect(
        Set(lines.filter { !$0.hasPrefix("{") }) == [
          "word loss firing 203.0.113.10:8080", "word loss resolved 203.0.113.10:8080",
        ])
      #expect(result.errors.contains("alerts, hook: 2 delivered"))
    }
  }
}
