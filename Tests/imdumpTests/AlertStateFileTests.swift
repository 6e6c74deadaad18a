import Foundation
import IMTestSupport
import Testing

/// `--state`: rules that go on from one run to the next.
@Suite struct AlertStateFileTests {
  /// The packets of a sample as files of `counts` packets each, and the rest.
  private static func parts(_ sample: String, _ counts: [Int], _ scratch: Scratch) throws -> [String] {
    let bytes = [UInt8](try Data(contentsOf: URL(filePath: "Samples/\(sample)")))
    var packets: [ArraySlice<UInt8>] = []
    var offset = 24
    while offset + 16 <= bytes.count {
      let length = (0..<4).reduce(0) { $0 | Int(bytes[offset + 8 + $1]) << (8 * $1) }
      packets.append(bytes[offset..<offset + 16 + length])
      offset += 16 + length
    }
    var paths: [String] = []
    var first = 0
    for (number, count) in (counts + [packets.count]).enumerated() {
      let end = min(packets.count, first + count)
      paths.append(
        try scratch.file("part-\(number).pcap", Array(bytes[..<24]) + packets[first..<end].flatMap { Array($0) }))
      first = end
    }
    return paths
  }

  private static func rules(_ texts: [String], _ scratch: Scratch) throws -> String {
    try scratch.file(
      "rules.yml", Array(("version: 1\nrules:\n" + texts.map { "  - { \($0) }\n" }.joined()).utf8))
  }

  /// What is told, but for who tells it.
  private static func told(_ output: String) throws -> [[String: String]] {
    try output.split(separator: "\n").map { line in
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any] ?? [:]
      return object.filter { $0.key != "run" && $0.key != "conn" }.mapValues { value in
        guard var part = value as? [String: Any] else { return "\(value)" }
        part["conn"] = nil
        return part.map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
      }
    }
  }

  private static let texts = [
    "name: busy, metric: messages, window: 10s, op: '>=', threshold: 4",
    "name: clients, metric: messages, window: 10s, op: '>=', threshold: 3, by: client, for: 2s, keep_firing: 3s",
    "name: types, metric: messages, window: 20s, op: '>=', threshold: 8, by: type, scope: profile",
    "name: absent, metric: messages, window: 10s, op: absent, scope: profile, profile: tjp",
  ]

  /// Files of one capture with the state between them give what the whole gives, but for its last step, which a next file would end.
  @Test(arguments: [[80], [50, 90], [199, 200], [1, 2, 3, 150]])
  func filesFollowEachOther(_ counts: [Int]) throws {
    let scratch = try Scratch()
    let sample = "tjp-clean-chat.pcap"
    let rules = try Self.rules(Self.texts, scratch)
    let state = scratch.path("state")
    let whole = try Self.told(Command.run(["check", "Samples/\(sample)", "--rules", rules, "--json", "-q"]).output)
    var found: [[String: String]] = []
    for path in try Self.parts(sample, counts, scratch) {
      let result = try Command.run(["check", path, "--rules", rules, "--json", "-q", "--state", state])
      #expect(result.errors == "" && [0, 2].contains(result.status))
      found += try Self.told(result.output)
    }
    let first = zip(found, whole).first { $0 != $1 }
    #expect(first == nil)
    #expect(found.count >= 10 && found.count <= whole.count && whole.count - found.count <= 4)
    let ids = Dictionary(grouping: found) { "\($0["id"] ?? "")" }.mapValues { $0.map { $0["state"] ?? "" } }
    #expect(ids.values.allSatisfy { $0 == ["firing", "resolved"] || $0 == ["firing"] })
  }

  /// A file that cannot be taken is named with the place, kept, and the run goes on without it; what is no file is refused.
  private static func check(_ path: String, _ rules: String, _ state: String) throws -> (errors: String, status: Int32)
  {
    let result = try Command.run(["check", path, "--rules", rules, "--state", state])
    return (result.errors, result.status)
  }

  @Test func brokenFiles() throws {
    let scratch = try Scratch()
    let rules = try Self.rules(Self.texts, scratch)
    let parts = try Self.parts("tjp-clean-chat.pcap", [120], scratch)
    let state = scratch.path("state")
    func run(_ path: String) throws -> (errors: String, status: Int32) { try Self.check(path, rules, state) }
    #expect(try !run(parts[0]).errors.contains("continued"))
    let whole = [UInt8](try Data(contentsOf: URL(filePath: state)))
    let mode = try FileManager.default.attributesOfItem(atPath: state)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(try run(parts[1]).errors.contains("--state: 4 rules continued; "))
    // Its packets are older than the state.
    #expect(
      try run(parts[0]).errors.contains("it is of later packets than those of this run; rules start without a state"))
    var changed = whole
    changed[whole.count / 2] ^= 0x40
    var newer = whole
    newer[8] = 9
    let cases: [(bytes: [UInt8], says: String)] = [
      ([], "byte 0: not an alert state"), (Array("version: 1\n".utf8), "byte 0: not an alert state"),
      (Array(whole[..<15]), "byte 15: the file ends in its header"),
      (Array(whole.dropLast(3)), "byte 12: it announces \(whole.count - 28) bytes but has \(whole.count - 31)"),
      (changed, "byte \(whole.count - 8): the checksum is wrong"), (newer, "byte 8: format 9, expected 2"),
    ]
    for (bytes, says) in cases {
      try Data(bytes).write(to: URL(filePath: state))
      let (errors, status) = try run(parts[1])
      #expect(errors.contains("--state \(state): \(says); renamed to \(state).bad; rules start"), "\(errors)")
      #expect([0, 2].contains(status))
      #expect([UInt8](try Data(contentsOf: URL(filePath: state + ".bad"))) == bytes)
    }
    for (path, says) in [
      ("/nonexistent/x", "no such file"), (scratch.path(""), "is a folder; expected a regular file"),
    ] {
      let result = try Command.run(["check", parts[0], "--rules", rules, "--state", path])
      #expect(result.status == 64 && result.errors.contains(says), "\(result.errors)")
    }
    #expect(try Command.run(["check", parts[0], "--state", state]).status == 64)
    // Nobody, root neither, makes a file there.
    let closed = try Command.run(["check", parts[0], "--rules", rules, "--state", "/sys/state"])
    #expect(closed.status == 74 && closed.errors.contains("/sys/state: cannot lock the alert state"))
  }

  /// While one run has a file, another one ends before it reads a packet; after it, even if it was killed, the next goes on.
  @Test func oneRunAtATime() throws {
    let scratch = try Scratch()
    let rules = try Self.rules(Self.texts, scratch)
    let parts = try Self.parts("tjp-clean-chat.pcap", [120], scratch)
    let state = scratch.path("state")
    func run(_ path: String) throws -> (errors: String, status: Int32) { try Self.check(path, rules, state) }
    #expect(try !run(parts[0]).errors.contains("continued"))
    let kept = try Data(contentsOf: URL(filePath: state))
    let lock = open(scratch.path(".state.lock"), O_RDONLY | O_CLOEXEC)
    try #require(lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0)
    let refused = try run(parts[1])
    #expect(refused.status == 64 && refused.errors.contains("--state \(state): in use by another process"))
    #expect(try Data(contentsOf: URL(filePath: state)) == kept)
    // Commands that other tests are starting may have the descriptor, too.
    flock(lock, LOCK_UN)
    close(lock)
    #expect(try run(parts[1]).errors.contains("rules continued"))
  }

  /// An alert that goes on is told again to an Alertmanager, which would forget it, and to no other receiver; a changed rule resolves it.
  @Test func whatFiresGoesOn() throws {
    let scratch = try Scratch()
    let text = "name: busy, metric: messages, window: 10s, op: '>=', threshold: 1"
    let rules = try Self.rules([text], scratch)
    let parts = try Self.parts("tjp-clean-chat.pcap", [60, 20], scratch)
    let state = scratch.path("state")
    func run(_ part: Int, _ expected: Int) throws -> (told: [[String: String]], hooks: Int, managers: [String]) {
      let (hook, manager) = (try HTTPReceiver(), try HTTPReceiver())
      defer {
        hook.stop()
        manager.stop()
      }
      let result = try Command.run([
        "check", parts[part], "--rules", rules, "--state", state, "--json", "--webhook",
        "http://127.0.0.1:\(hook.port)/x",
        "--alertmanager", "http://127.0.0.1:\(manager.port)",
      ])
      #expect(result.status == 2, "one that goes on fires, too: \(result.errors)")
      return (
        try Self.told(result.output), hook.bodies.count, manager.bodies.map { String(decoding: $0, as: UTF8.self) }
      )
    }
    let first = try run(0, 1)
    #expect(first.told.map { $0["state"] } == ["firing"] && first.hooks == 1 && first.managers.count == 1)
    let second = try run(1, 0)
    #expect(second.told.isEmpty && second.hooks == 0)
    #expect(second.managers.count == 1 && second.managers[0].contains("\"alertname\":\"busy\""), "\(second.managers)")
    _ = try Self.rules([text.replacing("threshold: 1", with: "threshold: 2")], scratch)
    let third = try run(2, 2)
    try #require(third.told.count >= 2, "\(third.told)")
    #expect(third.told.prefix(2).map { $0["state"] } == ["resolved", "firing"])
    #expect(third.told[0]["id"] == first.told[0]["id"])
    #expect(third.told[0]["reason"]?.hasPrefix("the rule was changed, with messages ") == true, "\(third.told)")
    #expect(third.told[1]["id"] != first.told[0]["id"] && third.hooks == third.told.count)
  }
}
