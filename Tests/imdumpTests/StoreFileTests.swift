import Foundation
import Glibc
import IMStore
import IMTestSupport
import IMWire
import Testing

/// The file of a store: who reads it, who may write it, and what becomes of it when something goes wrong.
@Suite struct StoreFileTests {
  /// Whatever reads SQLite reads a store.
  @Test func pythonReadsIt() throws {
    guard FileManager.default.isExecutableFile(atPath: "/usr/bin/python3") else { return }
    let store = try Store("tjp-weak-network.pcap", ["--payload"])
    let run = try Program.run(
      "/usr/bin/python3",
      [
        "-c",
        """
        import sqlite3, sys
        c = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True)
        print(*c.execute("SELECT count(*), sum(fate = 'unanswered') FROM messages").fetchone())
        print(*c.execute('PRAGMA integrity_check').fetchone(), *c.execute('PRAGMA journal_mode').fetchone())
        print(c.execute("SELECT count(*) FROM message_search WHERE message_search MATCH ?", ('"列车 车消" *',)).fetchone()[0])
        """, store.path,
      ], environment: ["PATH": "/usr/bin:/bin"])
    #expect(run.output == "120 3\nok delete\n11\n", "\(run.errors)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: (store.path as NSString).deletingLastPathComponent) == [
        "a.db"
      ])
  }

  /// A capture that prints writes the same store.
  @Test func aRunWritesTheSameStore() throws {
    let indexed = try Store("tjp-weak-network.pcap")
    let folder = try Scratch()
    let path = folder.path("b.db")
    let run = try Command.run(["-r", Samples.path("tjp-weak-network.pcap"), "--store", path])
    // Who wants a store wants no lines, unless it is said.
    #expect(
      run.status == 0 && run.output.isEmpty
        && run.errors.contains("b.db: 120 rows of messages, heartbeats and control frames\n"), "\(run.errors)")
    for table in ["messages", "problems", "session", "connection", "bucket", "info"] {
      let sql = "SELECT * FROM \(table) ORDER BY 1, 2"
      let rows = try Command.run(["query", path, sql, "--json"]).output
      #expect(rows == (try Command.run(["query", indexed.path, sql, "--json"]).output), "\(table)")
      #expect(!rows.isEmpty)
    }
    #expect(try Command.run(["-r", "Samples/tjp-clean-chat.pcap", "--store-max", "1M"]).status == 64)
  }

  /// A port scan does not push the messages out of a store, nor the store beyond its limit: the oldest of its connections go.
  @Test func aScanKeepsTheLimit() throws {
    let folder = try Scratch()
    let path = folder.path("d.db")
    let server = IPAddress(v4: 0xcb00_7109)
    var builder = PacketBuilder()
    // From the last packet of the sample on, a second each thousand.
    var scan = CaptureBuilder()
    for i in 0..<40_000 as Range<UInt32> {
      let client = IPAddress(v4: 0x0a00_0000 + i)
      let syn = TCPSegment(
        sourcePort: 40_000, destinationPort: 8_080, sequence: i, acknowledgment: 0, flags: .syn)
      scan.packets.append(
        TimedPacket(
          timestamp: Timestamp(seconds: 1_760_000_200 + Int64(i / 1_000), fraction: 0),
          bytes: builder.packet(syn, from: client, to: server)))
    }
    let capture = try folder.file(
      "scan.pcap", Samples.bytes("tjp-weak-network.pcap") + scan.pcap().dropFirst(24))
    let run = try Command.run(
      ["-q", "-r", capture, "--store", path, "--store-max", "1024k"])
    #expect(run.status == 0, "\(run.errors)")
    let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    #expect(size <= 1 << 20 && size > 1 << 19, "\(size)")
    let counts = try Store.objects(
      [
        "query", path, "--json",
        "SELECT (SELECT count(*) FROM message) AS messages, count(*) AS connections, max(id) AS last FROM connection",
      ])[0]
    #expect(counts["messages"] as? Int == 120)
    // The newest ones are there, and as many as there is room for.
    #expect(
      counts["last"] as? Int == 40_008 && (1_000..<40_000).contains(counts["connections"] as? Int ?? 0), "\(counts)")
  }

  /// At its limit a store gives up its oldest messages, and stays what it says of the others.
  @Test func aStoreHasALimit() throws {
    let folder = try Scratch()
    let path = folder.path("c.db")
    let capture = try folder.file("long.pcap", Store.repeated("tjp-weak-network.pcap", 60))
    let limit = 1 << 20
    let run = try Command.run(["-r", capture, "--store", path, "--store-max", "1024k"])
    #expect(run.status == 0, "\(run.errors)")
    let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
    #expect(size <= limit && size > limit / 2, "\(size)")
    func rows(_ sql: String) throws -> [[String: Any]] { try Store.objects(["query", path, sql, "--json"]) }
    func number(_ sql: String) throws -> Int? { try rows(sql).first?["n"] as? Int }
    let removed = try number("SELECT value AS n FROM info WHERE key = 'removed_messages'") ?? 0
    let left = try number("SELECT count(*) AS n FROM message") ?? 0
    // As many as there are without a limit; the last of them are there.
    let all = try Store([capture]).number("SELECT count(*) FROM message")
    #expect(removed > 0 && left > 0 && removed + left == all, "\(removed) \(left)")
    #expect(run.errors.contains("older messages removed to stay within --store-max"), "\(run.errors)")
    #expect(try number("SELECT value AS n FROM info WHERE key = 'whole'") == 0)
    #expect(try number("SELECT max(id) AS n FROM message") == all)
    #expect(try number("SELECT max(id) - min(id) + 1 AS n FROM message") == left)

    // Sums are those of the rows that are left, and whoever has none is gone.
    // Extremes cannot be taken back.
    let names = Store.figures.components(separatedBy: ", ").filter {
      !$0.hasSuffix("_min_us") && !$0.hasSuffix("_max_us") && $0 != "first_us"
    }.joined(separator: ", ")
    func added(_ key: String) throws -> [String] {
      try rows("SELECT k, \(names) FROM (SELECT \(key) AS k, \(Store.sums) GROUP BY 1) ORDER BY 1").map(Store.text)
    }
    for table in ["session", "connection"] {
      let kept = try rows(
        "SELECT id AS k, \(names) FROM \(table) WHERE messages + heartbeats + others > 0 ORDER BY id"
      ).map(Store.text)
      #expect(try kept == added(table), "\(table)")
    }
    // A connection without messages ended behind the oldest message, or has an issue.
    let idle = "FROM connection WHERE messages + heartbeats + others = 0 AND id NOT IN (SELECT connection FROM problem)"
    #expect(try number("SELECT count(*) AS n \(idle) AND end_us <= (SELECT min(time_us) FROM message)") == 0)
    for width in [1, 10, 60] {
      let kept = try rows("SELECT start_s AS k, \(names) FROM bucket WHERE width_s = \(width) ORDER BY 1").map(
        Store.text)
      #expect(try kept == added("time_us / \(width * 1_000_000) * \(width)"), "\(width) s")
    }
    // So are problems.
    let told = try rows("SELECT message, kind FROM problem WHERE message IS NOT NULL ORDER BY 1, 2").map(Store.text)
    let bits = try rows(
      "SELECT m.id AS message, k.id AS kind FROM message AS m JOIN problem_kind AS k ON m.problems & k.bit ORDER BY 1, 2"
    ).map(Store.text)
    #expect(told == bits && !told.isEmpty)
    #expect(
      try number("SELECT count(*) AS n FROM problem WHERE connection NOT IN (SELECT id FROM connection)") == 0)
    let checked = try Program.run(
      "/usr/bin/python3",
      [
        "-c", "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute('PRAGMA integrity_check').fetchone())",
        path,
      ],
      environment: ["PATH": "/usr/bin:/bin"])
    #expect(checked.output == "ok\n", "\(checked.errors)")
    #expect(try Command.run(["-r", capture, "--store", path, "--store-max", "50k"]).status == 64)
  }

  // MARK: Text

  @Test func twoCharactersAreFoundInsideOfARun() throws {
    let store = try Store("tjp-weak-network.pcap", ["--payload"])
    for text in ["车消", "列车", "车消息", "列车消息", "消", "走路"] {
      let run = try Command.run(["query", store.path, "--search", text, "--json"])
      let expected = try store.number("SELECT count(*) FROM message_text WHERE instr(text, '\(text)')")
      #expect(run.output.split(separator: "\n").count == expected && expected > 0, "\(text): \(run.errors)")
      #expect(
        try store.number("SELECT count(*) FROM message_search WHERE message_search MATCH imdump_search('\(text)')")
          == expected)
    }
    #expect(try Command.run(["query", store.path, "--search", "车列"]).output.split(separator: "\n").count == 1)
  }

  /// The store has what `imdump transcript` prints, and to what topic, also where the protocol only says how many bytes it has.
  @Test(arguments: ["mqtt-mosquitto.pcap", "mqtt5-mosquitto.pcap", "tjp-weak-network.pcap", "goim-room.pcap"])
  func textsAreThoseOfTheTranscript(_ sample: String) throws {
    let store = try Store(sample, ["--payload"])
    let rows = try store.rows(
      "SELECT topic, text FROM messages WHERE role = 'message' ORDER BY time_us, id")
    let lines = try Command.run(["transcript", "-q", Samples.path(sample)]).output.split(separator: "\n")
    #expect(rows.count == lines.count && rows.contains { $0["text"] is String })
    for (row, line) in zip(rows, lines) {
      if let text = row["text"] as? String, !text.contains("\n") { #expect(line.contains(": " + text), "\(line)") }
      if let topic = row["topic"] as? String { #expect(line.contains(topic), "\(line)") }
    }
    #expect(rows.contains { $0["topic"] is String } == sample.hasPrefix("mqtt"))
    if sample == "mqtt-mosquitto.pcap" {
      #expect(Set(["你好", "在地铁上 🚇"]).isSubset(of: rows.compactMap { $0["text"] as? String }))
    }
  }

  @Test func aStoreWithoutTextsSaysSo() throws {
    let bare = try Store("mqtt-mosquitto.pcap")
    let run = try Command.run(["query", bare.path, "--search", "地铁"])
    #expect(run.status == 0 && run.errors.contains("'imdump index --payload' stores it"), "\(run.errors)")
    let store = try Store("mqtt-mosquitto.pcap", ["--payload"])
    let topics = try Command.run(["transcript", "-q", Samples.path("mqtt-mosquitto.pcap")]).output.split(
      separator: "\n"
    )
    .count { $0.contains("chat/zhang") }
    for (text, count) in [("地铁", 2), ("chat/zhang", topics), ("nothing", 0)] {
      let run = try Command.run(["query", store.path, "--search", text, "--json"])
      #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
      #expect(run.output.split(separator: "\n").count == count, "\(text)")
    }
  }

  /// A profile that says of some field that it is sensitive says what may be kept: nothing is kept whole where it names no text.
  @Test func aBodyOfUnknownTextsIsNotKept() throws {
    let folder = try Scratch()
    let profile = try String(
      contentsOf: Command.folder.appending(path: "Sources/IMProfile/Profiles/goim.yaml"), encoding: .utf8)
    let bare = profile.replacing("profile: goim\n", with: "profile: own\n").replacing(
      "    send_msg: payload\n", with: ""
    )
    .replacing(#/ +"\*": .*\n/#, with: "")
    let path = try folder.file("own.yaml", bare.utf8)
    for (name, isKept) in [("goim", true), (path, false)] {
      let store = try Store("goim-room.pcap", ["--payload", "--profile", name])
      let counts = try store.rows(
        "SELECT count(*) AS messages, count(text) AS texts FROM messages WHERE type = 'send_msg'")
      #expect(counts[0]["messages"] as? Int ?? 0 > 0)
      #expect((counts[0]["texts"] as? Int ?? 0 > 0) == isKept, "\(name)")
    }
  }

  /// Topics are those that are meant, not the aliases that stand for them.
  @Test func anAliasHasItsTopic() throws {
    let rows = try Store.objects(["messages", "-q", "--json", "--by", "topic", Samples.path("mqtt5-mosquitto.pcap")])
    let counts = rows.compactMap { row in (row["topic"] as? String).map { ($0, row["messages"] as? Int ?? 0) } }
    // Three messages, of which the second and the third have an alias alone.
    #expect(counts.count == rows.count && counts.contains { $0 == ("chat/alias", 3) })
    #expect(counts.allSatisfy { !$0.0.isEmpty })
  }

  /// A capture in the place of a store.
  @Test func aCaptureIsNoStore() throws {
    let run = try Command.run(["query", Samples.path("tjp-weak-network.pcap"), "SELECT 1"])
    #expect(run.status != 0 && run.errors.contains("'imdump index' makes a store from a capture"), "\(run.errors)")
  }

  /// What users write is kept where that was asked for, and nowhere else.
  @Test func textIsKeptOnRequestOnly() throws {
    let store = try Store("tjp-weak-network.pcap")
    #expect(try store.number("SELECT count(*) FROM message_text") == 0)
    let bytes = try Data(contentsOf: URL(filePath: store.path))
    #expect(bytes.range(of: Data("列车".utf8)) == nil)
    let other = try Store("tjp-weak-network.pcap", ["--payload"])
    let kept = try Data(contentsOf: URL(filePath: other.path))
    #expect(kept.range(of: Data("列车".utf8)) != nil)
  }

  // MARK: Statements

  @Test(arguments: [
    "DELETE FROM message", "UPDATE message SET fate = 0", "DROP TABLE message", "CREATE TABLE x (a)", "BEGIN",
    "ATTACH '/tmp/imdump-never.db' AS x", "VACUUM INTO '/tmp/imdump-never.db'", "PRAGMA journal_mode = WAL",
    "PRAGMA writable_schema = 1", "SELECT load_extension('x')", "CREATE TEMP TABLE x (a)", "SELECT 1; SELECT 2", "",
    "INSERT INTO message_search (message_search) VALUES ('rebuild')", "SELECT", "SELECT randomblob(1000000000)",
    "EXPLAIN DELETE FROM message",
  ])
  func whatIsNoQuestionIsRefused(_ sql: String) throws {
    let store = try Store("tjp-clean-chat.pcap")
    let before = try Data(contentsOf: URL(filePath: store.path))
    let run = try Command.run(["query", store.path, sql])
    #expect(run.status == 64, "\(run.output)\(run.errors)")
    #expect(try Data(contentsOf: URL(filePath: store.path)) == before)
    #expect(!FileManager.default.fileExists(atPath: "/tmp/imdump-never.db"))
  }

  @Test func nothingCommandsATerminal() throws {
    let store = try Store("tjp-clean-chat.pcap")
    let sql = "SELECT char(27) || '[2J' || char(10, 0x202e, 0x9b) || 'a,\"b' AS x, x'1b5b', NULL"
    let text = try Command.run(["query", store.path, sql]).output
    #expect(text.split(separator: "\n").last == "\\x1b[2J\\x0a\\xe2\\x80\\xae\\xc2\\x9ba,\"b  1b5b     -")
    let csv = try Command.run(["query", store.path, sql, "--format", "csv"]).output
    #expect(csv == "x,x'1b5b',NULL\r\n\"\\x1b[2J\\x0a\\xe2\\x80\\xae\\xc2\\x9ba,\"\"b\",1b5b,\r\n")
    let json = try Command.run(["query", store.path, sql, "--json"]).output
    #expect(json == "{\"x\":\"\\u001b[2J\\n\\u202e\\u009ba,\\\"b\",\"x'1b5b'\":\"1b5b\",\"NULL\":null}\n")
  }

  @Test func aLongStatementEndsWhenItIsTold() throws {
    let store = try Store("tjp-clean-chat.pcap")
    let sql = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"
    let program = try Program(
      Command.program.path, ["query", store.path, sql], environment: Command.environment)
    // It ends by the signal's handler, which is there when the signal is caught.
    while try !Self.catches(SIGINT, program.id) { usleep(1_000) }
    kill(program.id, SIGINT)
    #expect(program.wait() == .exit(130))
  }

  private static func catches(_ number: Int32, _ process: Int32) throws -> Bool {
    let status = try String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
    let mask = status.split(separator: "\n").first { $0.hasPrefix("SigCgt:") }?.split(separator: "\t").last ?? "0"
    return (UInt64(mask, radix: 16) ?? 0) >> UInt64(number - 1) & 1 == 1
  }

  // MARK: Other files

  @Test func anotherFileIsRefused() throws {
    let folder = try Scratch()
    let sample = Samples.path("tjp-clean-chat.pcap")
    let text = try folder.file("a.txt", "no store".utf8)
    let run = try Command.run(["index", sample, "-o", text])
    #expect(run.status == 74 && run.errors.contains("is not a store"), "\(run.errors)")
    #expect(try String(contentsOfFile: text, encoding: .utf8) == "no store")
    #expect(try Command.run(["index", sample, "-o", sample]).status == 74)

    let foreign = try Command.run(["query", text, "SELECT 1"])
    #expect(foreign.status == 66 && foreign.errors.contains("file is not a database (SQLite 26)"), "\(foreign.errors)")
    #expect(try Command.run(["query", folder.path("none.db"), "SELECT 1"]).status == 66)
    let empty = try Command.run(["query", try folder.file("empty.db", []), "SELECT 1"])
    #expect(empty.status == 66 && empty.errors.contains("not an imdump store"), "\(empty.errors)")

    let store = try Store("tjp-clean-chat.pcap")
    let bytes = try Data(contentsOf: URL(filePath: store.path))
    let cut = try folder.file("cut.db", bytes.prefix(bytes.count / 2))
    let broken = try Command.run(["query", cut, "SELECT * FROM messages"])
    #expect(
      broken.status == 66 && broken.errors.contains("database disk image is malformed (SQLite 11)"), "\(broken.errors)")
    // A format of another time: `user_version` stands at offset 60.
    var other = bytes
    other[63] = 11
    let run9 = try Command.run(["query", try folder.file("9.db", other), "SELECT 1"])
    #expect(run9.status == 66 && run9.errors.contains("format 11"), "\(run9.errors)")
  }

  @Test func aStoreIsReplacedByAnother() throws {
    let folder = try Scratch()
    let path = folder.path("a.db")
    for sample in ["tjp-weak-network.pcap", "tjp-clean-chat.pcap"] {
      #expect(try Command.run(["index", "-q", Samples.path(sample), "-o", path]).status == 0)
    }
    let run = try Command.run(["query", path, "SELECT count(*) AS n FROM messages", "--json"])
    let count = try Store.objects(["messages", "-q", "--json", Samples.path("tjp-clean-chat.pcap")]).count
    #expect(run.output == "{\"n\":\(count)}\n")
    // A capture that is not there costs no store.
    #expect(try Command.run(["index", folder.path("none.pcap"), "-o", path]).status == 66)
    #expect(try Command.run(["query", path, "SELECT count(*) AS n FROM messages", "--json"]).output == run.output)
  }

  /// A store that is replaced while somebody has it open gives an error there, and no rows of two stores.
  @Test func theOldStoreIsNotMixedWithTheNew() throws {
    let folder = try Scratch()
    let path = folder.path("a.db")
    let index = { (sample: String) in try Command.run(["index", "-q", Samples.path(sample), "-o", path]).status }
    #expect(try index("tjp-weak-network.pcap") == 0)
    let reader = try StoreReader(path)
    #expect(try reader.messages(after: 0, count: 10).count == 10)
    #expect(try index("tjp-clean-chat.pcap") == 0)
    #expect(throws: StoreError.self) { try reader.messages(after: 20, count: 10) }
    #expect(try StoreReader(path).messages(after: 0, count: 1_000).count == 58)
  }

  // MARK: Interruptions

  /// A capture on a pipe that does not end: the sample, and the sample again an hour later, by which all of the first is decided.
  private static func endless(_ path: String) throws -> (Program, FileHandle) {
    let bytes = try Store.repeated("tjp-weak-network.pcap", 2)
    let pipe = Pipe()
    let program = try Program(
      Command.program.path, ["index", "-q", "-", "-o", path], environment: Command.environment,
      input: pipe.fileHandleForReading.fileDescriptor)
    try pipe.fileHandleForWriting.write(contentsOf: Data(bytes))
    return (program, pipe.fileHandleForWriting)
  }

  /// Messages in a store that may not be there yet.
  private static func count(_ path: String) throws -> Int {
    let run = try Command.run(["query", path, "SELECT count(*) FROM messages", "--format", "csv"])
    return run.status == 0 ? Int(run.output.split(separator: "\r\n").last ?? "") ?? 0 : 0
  }

  @Test(arguments: [SIGKILL, SIGINT, SIGTERM]) func whatWasReadIsThere(_ signal: Int32) throws {
    let folder = try Scratch()
    let path = folder.path("a.db")
    let (program, input) = try Self.endless(path)
    // The first page is there, and read, while the capture is still read.
    while try Self.count(path) < 100 { usleep(1_000) }
    // Of both threads, and of one that only asks.
    let rights = try String(contentsOfFile: "/proc/\(program.id)/status", encoding: .utf8)
    #expect(rights.contains("NoNewPrivs:\t1") && rights.contains("Seccomp:\t2") && rights.contains("Threads:\t2"))
    kill(program.id, signal)
    #expect(program.wait() == (signal == SIGKILL ? .signal(signal) : .exit(130)))
    try input.close()
    let count = try Self.count(path)
    #expect(count >= (signal == SIGKILL ? 100 : 120), "\(count)")
    let whole = try Store.objects(["query", path, "SELECT value FROM info WHERE key = 'whole'", "--json"])
    #expect(whole.first?["value"] as? Int == 0)
  }
}
