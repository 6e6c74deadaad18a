import Foundation
import IMTestSupport
import Testing

/// Named fields in the documents of messages: those that are asked for, at the names that are declared, with the values that
/// lines of JSON have, and nothing that is not to be shown.
@Suite struct LoggedFieldTests {
  private static func objects(_ output: String) throws -> [[String: Any]] {
    try output.split(separator: "\n").compactMap {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
  }

  /// The fields of a profile that can be logged: name, type, class.
  private static func loggable(_ profile: String) throws -> [(name: String, kind: String, rank: String)] {
    try Command.run(["fields", profile]).output.split(separator: "\n").compactMap { line in
      let words = line.split(separator: " ", omittingEmptySubsequences: true).map(String.init)
      guard words.count >= 4, words[0].hasPrefix(profile + "."), !words[1].hasPrefix("object"), words[3] != "credential"
      else {
        return nil
      }
      return (words[0], words[1], words[3])
    }
  }

  /// All leaves below `value` by dotted name.
  private static func leaves(_ value: Any, _ name: String, _ into: inout [String: Any]) {
    // Tags of TLVs and the like are names that nobody lists.
    if let object = value as? [String: Any], object["lat"] == nil, name != "imdump.msg.tlv" {
      for (key, inner) in object { leaves(inner, name.isEmpty ? key : "\(name).\(key)", &into) }
    } else {
      into[name] = value
    }
  }

  /// The values of `name` wherever it stands in the fields of a line, one by one.
  private static func values(_ name: String, _ value: Any) -> [Any] {
    if let list = value as? [Any] { return list.flatMap { values(name, $0) } }
    guard let object = value as? [String: Any] else { return [] }
    return object.flatMap { key, inner in
      key == name ? flat(inner) + values(name, inner) : values(name, inner)
    }
  }

  private static func flat(_ value: Any) -> [Any] { (value as? [Any])?.flatMap(flat) ?? [value] }

  /// Whether texts are the same, but for what documents cut at 1,024 bytes.
  private static func agree(_ value: String, _ wanted: String) -> Bool {
    value == wanted || value.utf8.count > 1_000 && wanted.hasPrefix(value)
  }

  private static func texts(_ values: [Any]) -> [String] {
    values.compactMap { value in
      guard let number = value as? NSNumber else { return value as? String }
      // A number that stands as a text in documents is the same number.
      return number.stringValue
    }.sorted()
  }

  /// Every field that a profile knows, on every sample that has messages of it.
  @Test(arguments: [
    ("mqtt", "mqtt-mosquitto.pcap"), ("mqtt", "mqtt5-mosquitto.pcap"), ("smpp", "smpp-gateway.pcap"),
    ("diameter", "diameter-charging.pcap"), ("jt808", "jt808-terminals.pcap"), ("goim", "goim-room.pcap"),
    ("mqtt", "mqtt-websocket-deflate.pcap"),
  ]) func allFields(_ profile: String, _ sample: String) throws {
    let fields = try Self.loggable(profile)
    #expect(fields.count > 8)
    let options = fields.flatMap { ["--log-field", $0.name] }
    let path = Samples.path(sample)
    let schema = try Command.run(["schema", "--json"] + options)
    let list = try #require(try JSONSerialization.jsonObject(with: Data(schema.output.utf8)) as? [String: Any])
    var declared: [String: [String: Any]] = [:]
    for part in ["fields", "ecs_fields"] {
      declared.merge(list[part] as? [String: [String: Any]] ?? [:]) { $1 }
    }

    var lines: [String: [String: Any]] = [:]
    for line in try Self.objects(Command.run(["-q", "--json", path]).output) where line["copy"] as? Int == 1 {
      lines["\(line["conn"] ?? "") \(line["ts"] ?? "") \(line["type"] ?? "") \(line["seq"] ?? "")"] = line
    }
    let run = try Command.run(["-q", "--format", "ecs", path] + options)
    #expect(run.status == 0, "\(run.errors)")
    let messages = try Self.objects(run.output).filter { ($0["imdump"] as? [String: Any])?["msg"] != nil }
    #expect(!messages.isEmpty)
    var found = 0
    for message in messages {
      var leaves: [String: Any] = [:]
      Self.leaves(message, "", &leaves)
      // Whatever stands there is declared, and is of its type.
      for (name, value) in leaves {
        guard let field = declared[name] else {
          Issue.record("\(name) is not declared")
          continue
        }
        let isArray = field["array"] as? Bool ?? false
        #expect(value is [Any] == isArray, "\(name)")
        let one = (value as? [Any])?.first ?? value
        switch field["type"] as? String {
        case "flattened", "histogram": break
        case "keyword", "match_only_text", "date", "ip": #expect(one is String, "\(name)")
        case "geo_point": #expect((one as? [String: Any])?.count == 2, "\(name)")
        default: #expect(one is NSNumber, "\(name)")
        }
      }
      let conn = (leaves["imdump.conn.id"] as? String)?.split(separator: "-").last ?? ""
      let time = try #require(leaves["@timestamp"] as? String)
      let micros = try #require(Self.microseconds(time))
      let key = "\(conn) \(micros) \(leaves["imdump.msg.type"] ?? "") \(leaves["imdump.msg.sequence"] ?? "")"
      // Two messages of one type in one packet have one key.
      let same = messages.count(where: { Self.key($0) == Self.key(message) })
      guard let line = lines[key], same == 1 else { continue }
      for field in fields where field.rank != "identity" && field.kind != "list" {
        let name = String(field.name.split(separator: ".")[1])
        guard let value = leaves["imdump.\(field.name)"] else { continue }
        found += 1
        let wanted = Self.texts(Array(Self.values(name, line["fields"] ?? [:])))
        let values = Self.texts(value as? [Any] ?? [value])
        let isSame =
          value is [Any]
          ? values.count == wanted.count && zip(values, wanted).allSatisfy(Self.agree)
          : wanted.contains { Self.agree(values[0], $0) }
        #expect(isSame, "\(field.name) \(key): \(values) \(wanted)")
      }
    }
    #expect(found > 10, "\(found)")
  }

  private static func key(_ message: [String: Any]) -> String {
    var leaves: [String: Any] = [:]
    Self.leaves(message, "", &leaves)
    return ["imdump.conn.id", "@timestamp", "imdump.msg.type", "imdump.msg.sequence"].map { "\(leaves[$0] ?? "")" }
      .joined(separator: " ")
  }

  private static func microseconds(_ time: String) -> Int? {
    let parts = time.dropLast().split(separator: ".")
    guard parts.count == 2, let micros = Int(parts[1]),
      let date = try? Date(parts[0] + "Z", strategy: .iso8601)
    else { return nil }
    return Int(date.timeIntervalSince1970) * 1_000_000 + micros
  }

  /// A profile that logs a field needs no option; identities are hashes by the key, as everywhere.
  @Test func theProfileSaysSo() throws {
    let scratch = try Scratch()
    var page = try Command.run(["profile", "show", "mqtt"]).output
    for (old, new) in [
      ("    topic: { sensitive: payload }", "    topic: { sensitive: payload, log: true }"),
      (
        "user_name: { sensitive: identity, ecs: client.user.name }",
        "user_name: { sensitive: identity, ecs: client.user.name, log: true }"
      ),
      (
        "client_id: { sensitive: identity, ecs: client.user.id }",
        "client_id: { sensitive: identity, ecs: client.user.id, log: true }"
      ),
    ] {
      #expect(page.contains(old))
      page = page.replacing(old, with: new)
    }
    let profile = try scratch.file("mine.yaml", Array(page.utf8))
    let key = try scratch.file("key", Array("0123456789abcdef0123456789abcdef".utf8))
    let options = ["--profile", profile, "--hash-key-file", key, "--message-log", "all"]
    let run = try Command.run(["-q", "--format", "ecs", Samples.path("mqtt5-mosquitto.pcap")] + options)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.output.contains("\"mqtt\":{\"topic\":[\""))
    // `client.user.id` is what imdump tells itself: the profile's own stands among its fields, hashed.
    #expect(!run.output.contains("\"client_id\":\"reader\"") && run.output.contains("\"mqtt\":{\"client_id\":\""))
    let schema = try Command.run(["schema", "--profile", profile])
    #expect(schema.output.contains("imdump.mqtt.topic") && schema.output.contains("imdump.mqtt.client_id"))
    #expect(!(try Command.run(["schema"])).output.contains("imdump.mqtt"))
  }

  @Test func whatCannotBeLogged() throws {
    for (name, words) in [
      ("password", "is hidden"), ("mqtt.nothing", "no profile in use has"), ("subscriptions", ""),
    ] {
      let run = try Command.run(["-q", "--format", "ecs", "--log-field", name, Samples.path("mqtt-mosquitto.pcap")])
      #expect(words.isEmpty ? run.status == 0 : run.status == 64 && run.errors.contains(words), "\(name)")
      #expect(run.status != 64 || run.output.isEmpty)
    }
  }
}
