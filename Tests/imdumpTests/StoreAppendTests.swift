import Foundation
import IMTestSupport
import Testing

/// Captures that are added to a store: `imdump index --append`.
@Suite struct StoreAppendTests {
  private static let pair = ["tjp-clean-chat.pcap", "tjp-weak-network.pcap"]

  /// What a store holds, by the table: rows as text, in an order that no number of ours decides.
  private func content(_ store: String) throws -> [String: [String]] {
    let figures =
      Store.figures + ", last_us"
    let session = "(SELECT name FROM session WHERE id = session)"
    let statements = [
      "message":
        "SELECT id, time_us, \(session) AS s, direction, sequence, length, fate, cause, retries, duplicates, rtt_us, problems, "
        + "flags, checksum, capture, packet, stream_offset, byte_offset, byte_count, copies, checksums, answers FROM message",
      "messages":
        "SELECT id, client, server, type, role, status, status_name, session, fate, cause, capture, text FROM messages",
      "problems":
        "SELECT time_us, kind, cause, client, server, dir, session, message, stream_offset, byte_count FROM problems",
      "session":
        "SELECT name, name_is_number, profile, begun_us, connections, last_message, rtt_c2s_p95_us, rtt_s2c_p95_us, \(figures) FROM session",
      "connection": "SELECT client, server, profile, \(figures) FROM connection",
      "bucket": "SELECT * FROM bucket", "capture": "SELECT * FROM capture", "info": "SELECT * FROM info",
      "session_connection":
        "SELECT \(session) AS s, (SELECT client FROM connection WHERE id = connection) AS c FROM session_connection",
      "search": "SELECT rowid FROM message_search WHERE message_search MATCH imdump_search('a')",
      "indexes": "SELECT name FROM sqlite_master WHERE type = 'index' AND sql NOT NULL",
    ]
    return try statements.mapValues { sql in
      try Store.objects(["query", store, sql, "--json"]).map(Store.text).sorted()
    }
  }

  private func append(_ store: String, _ files: [String], _ options: [String] = []) throws -> (Int32, String) {
    let run = try Command.run(["index", "--append", store] + options + files)
    return (run.status, run.errors)
  }

  /// A file of a sample an hour later.
  private func later(_ sample: String, _ scratch: Scratch) throws -> String {
    let path = scratch.path("later.pcap")
    let twice = try Store.repeated(sample, 2), once = try Samples.bytes(sample)
    try Data(twice[..<24] + twice[once.count...]).write(to: URL(fileURLWithPath: path))
    return path
  }

  @Test(arguments: pair) func isTheStoreOfAllCaptures(_ sample: String) throws {
    let scratch = try Scratch()
    let first = Samples.path(Self.pair[0]), second = try later(sample, scratch)
    let all = try Store(["--payload", first, second])
    let parts = try Store(["--payload", first])
    let (status, errors) = try append(parts.path, [second], ["--payload"])
    #expect(status == 0 && errors.contains("control frames added"), "\(errors)")
    let (wanted, found) = (try content(all.path), try content(parts.path))
    for table in wanted.keys.sorted() {
      #expect(found[table] == wanted[table], "\(table)")
    }
    // Nothing is left beside it.
    let folder = (parts.path as NSString).deletingLastPathComponent
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == ["a.db"])
  }

  @Test func sessionsOfOneNameAreOne() throws {
    // The same traffic, an hour later: every session and its figures come again.
    let scratch = try Scratch()
    let sample = Self.pair[1]
    let later = try later(sample, scratch)
    let store = try Store(sample)
    let before = try store.rows(
      "SELECT name, messages, rtt_c2s_count, rtt_s2c_count, rtt_c2s_p95_us, rtt_s2c_p95_us FROM session ORDER BY name")
    #expect(try append(store.path, [later]).0 == 0)
    let after = try store.rows(
      "SELECT name, messages, rtt_c2s_count, rtt_s2c_count, rtt_c2s_p95_us, rtt_s2c_p95_us FROM session ORDER BY name")
    #expect(before.count == after.count)
    for (one, two) in zip(before, after) {
      #expect(two["messages"] as? Int == (one["messages"] as? Int).map { 2 * $0 })
      for way in ["c2s", "s2c"] {
        #expect(two["rtt_\(way)_count"] as? Int == (one["rtt_\(way)_count"] as? Int).map { 2 * $0 })
        #expect(two["rtt_\(way)_p95_us"] as? Int == one["rtt_\(way)_p95_us"] as? Int)
      }
    }
  }

  /// Texts that come later can be searched, and the store does not say that it has none.
  @Test func textsMayComeLater() throws {
    let scratch = try Scratch()
    let store = try Store("mqtt-mosquitto.pcap")
    let path = try later("mqtt-mosquitto.pcap", scratch)
    #expect(try append(store.path, [path], ["--payload"]).0 == 0)
    let found = try Command.run(["query", store.path, "--search", "地铁", "--json"])
    #expect(found.status == 0 && found.errors.isEmpty, "\(found.errors)")
    #expect(found.output.split(separator: "\n").count == 2)
  }

  /// A run that was killed leaves what it had written; the next one takes that away, and leaves what a living one writes.
  @Test func whatAKilledRunLeftGoes() throws {
    let store = try Store([Samples.path(Self.pair[0])])
    // Numbers of processes end at 4,194,304.
    let left = ["\(store.path).added-4194999", "\(store.path).added-4194999-wal"]
    let kept = ["\(store.path).added-\(getpid())", "\(store.path).added-", "\(store.path).added-x"]
    for path in left + kept { #expect(FileManager.default.createFile(atPath: path, contents: nil)) }
    #expect(try append(store.path, [Samples.path(Self.pair[1])]).0 == 0)
    #expect(left.allSatisfy { !FileManager.default.fileExists(atPath: $0) })
    #expect(kept.allSatisfy { FileManager.default.fileExists(atPath: $0) })
  }

  @Test func aCaptureIsAddedOnce() throws {
    let paths = Self.pair.map { Samples.path($0) }
    let store = try Store([paths[0]])
    let before = try content(store.path)
    let (status, errors) = try append(store.path, [paths[1], paths[0]])
    #expect(status == 1 && errors.contains("is in the store already"), "\(errors)")
    #expect(try content(store.path) == before)
    // Not a store, or none.
    #expect(try append(paths[0], [paths[1]]).0 == 1)
    #expect(try append(store.path + ".absent", [paths[1]]).0 == 66)
    #expect(try Command.run(["index", "--append", store.path, "-o", "b.db", paths[1]]).status == 64)
  }
}
