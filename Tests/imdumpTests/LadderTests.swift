import Foundation
import IMOutput
import IMStore
import IMTestSupport
import IMWire
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

@testable import IMBrowser

/// `imdump ladder` against the frames and the messages of the same connections.
@Suite struct LadderTests {
  private static func lines(_ arguments: [String]) throws -> [[String: Any]] {
    try Command.run(arguments).output.split(separator: "\n").compactMap {
      try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
    }
  }

  private static func rows(_ arguments: [String]) throws -> [String] {
    let run = try Command.run(["ladder", "-q"] + arguments)
    #expect(run.status == 0, "\(run.errors)")
    return run.output.split(separator: "\n").dropFirst(2).map(String.init)
  }

  private static func arrows(_ rows: [String]) -> [String] { rows.filter { $0.contains(">|") || $0.contains("|<") } }

  /// Every frame has an arrow in its direction, every round trip its time, every copy its mark.
  @Test(arguments: try Samples.captures()) func everyFrameHasItsRow(_ sample: String) throws {
    let path = Samples.path(sample)
    // Rows stand in the order of time, frames in that of their streams.
    let frames = Dictionary(
      grouping: try Self.lines(["-q", "--print", "--format", "json", path]).enumerated().sorted {
        ($0.element["ts"] as? Int ?? 0, $0.offset) < ($1.element["ts"] as? Int ?? 0, $1.offset)
      }.map(\.element)
    ) { $0["conn"] as? Int ?? 0 }
    let messages = Dictionary(grouping: try Self.lines(["messages", "-q", "--json", path])) { $0["conn"] as? Int ?? 0 }
    for (connection, frames) in frames.sorted(by: { $0.key < $1.key }).prefix(6) {
      let rows = try Self.rows([path, "--conn", String(connection)])
      let arrows = Self.arrows(rows)
      #expect(
        arrows.map { $0.contains(">|") ? "c2s" : "s2c" } == frames.map { $0["dir"] as? String ?? "" }, "#\(connection)")
      // The packet that completed it, behind the time.
      let packets = arrows.map { $0.firstMatch(of: /^ *[+-][0-9.]+ +([0-9]+)\s/).flatMap { Int($0.1) } }
      #expect(packets == frames.map { $0["number"] as? Int }, "#\(connection)")
      let (front, kinds) = (frames.map { $0["type"] as? String ?? "" }, arrows)
      for (type, arrow) in zip(front, kinds) { #expect(arrow.contains(" \(type)"), "\(type): \(arrow)") }
      // Messages whose copies came on several connections have their fates on the first.
      let own = messages[connection] ?? []
      let isAlone = own.allSatisfy { ($0["ts"] as? [Any])?.count == 1 } || !sample.contains("racing")
      guard isAlone, !sample.contains("racing") else { continue }
      #expect(
        arrows.filter { $0.contains("RTT ") && !$0.contains("not in RTT") }.count
          == own.filter { $0["rtt_karn_us"] != nil }.count)
      let unanswered = own.filter { $0["fate"] as? String == "unanswered" }.count
      #expect(arrows.filter { $0.contains("no answer") && !$0.contains("damaged, no answer") }.count == unanswered)
      let copies = own.reduce(0) { $0 + max(0, (($1["ts"] as? [Any])?.count ?? 1) - 1) }
      #expect(arrows.filter { $0.contains(/\s[RD][0-9]+\s\s\|/) }.count == copies, "#\(connection)")
    }
  }

  @Test func theMockUpsRows() throws {
    let rows = try Self.rows([Samples.path("tjp-weak-network.pcap"), "--conn", "1"])
    #expect(rows.first?.contains("TCP connection opened in 145.4 ms") == true)
    #expect(rows.first?.contains(/^\s{5}\+0\.000 +\|\s/) == true)
    #expect(rows.contains { $0.contains("R1  |.... data 14209859 retry +3.0 s ....") })
    #expect(rows.contains { $0.hasSuffix("3.03 s after the first copy (ambiguous, not in RTT)") })
    #expect(rows.contains { $0.contains("heartbeat ") && $0.hasSuffix("no answer (peer)") })
    #expect(rows.contains { $0.contains(". 15.0 s without a frame .") })
    #expect(rows.last?.contains("reset (RST)") == true)
  }

  @Test func theLocaleChoosesTheSigns() throws {
    let path = Samples.path("tjp-clean-chat.pcap")
    func run(_ locale: String, _ more: [String] = []) throws -> String {
      var environment = Command.environment
      environment["LC_ALL"] = locale
      return try Program.run(
        Command.program.path, ["ladder", path, "--conn", "1"] + more, environment: environment,
        folder: Command.folder.path,
        input: nil
      ).output
    }
    let (ascii, utf8) = (try run("C"), try run("C.UTF-8"))
    #expect(ascii.utf8.allSatisfy { $0 < 0x80 } && utf8.contains("→│") && utf8.contains("│←"))
    #expect(try run("C.UTF-8", ["--ascii"]) == ascii)
    #expect(ascii.split(separator: "\n").count == utf8.split(separator: "\n").count)
  }

  @Test func aDrawingIsXML() throws {
    for (sample, connection) in [
      ("tjp-weak-network.pcap", "1"), ("tjp-damage.pcap", "4"), ("mqtt5-mosquitto.pcap", "2"),
    ] {
      let run = try Command.run(["ladder", "-q", Samples.path(sample), "--conn", connection, "--format", "svg"])
      #expect(run.status == 0)
      let parser = XMLParser(data: Data(run.output.utf8))
      #expect(parser.parse(), "\(sample): \(String(describing: parser.parserError))")
      let text = try Self.rows([Samples.path(sample), "--conn", connection])
      #expect(run.output.ranges(of: "class=\"tip\"").count == Self.arrows(text).count)
      #expect(
        run.output
          == (try Command.run(["ladder", "-q", Samples.path(sample), "--conn", connection, "--format", "svg"]).output))
    }
  }

  @Test func oneConnectionNeedsNoNumber() throws {
    let one = Samples.path("diameter-charging.pcap")
    #expect(try Self.rows([one]) == Self.rows([one, "--conn", "1"]))
    let several = try Command.run(["ladder", Samples.path("tjp-weak-network.pcap")])
    #expect(
      several.status == 64 && several.errors.contains("6 connections: choose one with --conn") && several.output.isEmpty
    )
    let none = try Command.run(["ladder", Samples.path("tjp-weak-network.pcap"), "--conn", "99"])
    #expect(none.status == 1 && none.errors.contains("no connection #99"))
    #expect(try Command.run(["ladder", "none.pcap"]).status == 66)
    // A connection that nobody decodes has its opening and its end.
    let refused = try Self.rows([Samples.path("tjp-weak-network.pcap"), "--conn", "5"])
    #expect(refused.count == 2 && refused[1].contains("refused (RST)"))
  }

  @Test func aFilterChoosesMessages() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    let rows = Self.arrows(try Self.rows([path, "--conn", "1", "-Y", "retries > 0"]))
    let messages = try Self.lines(["messages", "-q", "--json", path, "-Y", "retries > 0 and conn == 1"])
    let frames = messages.reduce(0) { $0 + (($1["ts"] as? [Any])?.count ?? 0) + (($1["acks"] as? [Any])?.count ?? 0) }
    #expect(rows.count == frames && !messages.isEmpty)
    #expect(try Command.run(["ladder", "-", "-Y", "len > 1"], input: "Samples/tjp-clean-chat.pcap").status == 64)
    #expect(try Command.run(["ladder", path, "--conn", "1", "-Y", "len >"]).status == 64)
  }

  /// A time that a ladder shows is taken by it. A ladder of less than a second has more digits.
  @Test func aTimeOfALadderIsTakenByIt() throws {
    let path = Samples.path("tjp-nat.pcap")
    let times = try Self.rows([path, "--conn", "1"]).compactMap { row in
      row.firstMatch(of: /^ *(\+[0-9.]+)\s/).map { String($0.1) }
    }
    #expect(times.count > 10)
    for time in Set(times) {
      let rows = try Self.rows([path, "--conn", "1", "--from", time, "--to", time])
      #expect(
        rows.count == times.count { $0 == time } && rows.allSatisfy { $0.contains(" \(time)") }, "\(time) \(rows)")
    }
    for arguments in [["--from", "+1"], ["--conn", "1", "--from", "+x"], ["--conn", "1", "--from", "+-1"]] {
      #expect(try Command.run(["ladder", path] + arguments).status == 64, "\(arguments)")
    }
  }

  /// `imdump browse` counts from where this ladder counts: from the first packet of the connection.
  @Test(arguments: ["tjp-nat.pcap", "tjp-weak-network.pcap", "mqtt5-mosquitto.pcap"])
  func aBrowserHasTheSameTimes(_ sample: String) throws {
    let store = try Store(sample)
    let reader = try StoreReader(store.path)
    for connection in try reader.connections(limit: 10).filter({ $0.profile != nil }) {
      let start = try #require(try reader.start(ofConnection: connection.id))
      let rows = try Self.rows([Samples.path(sample), "--conn", "\(connection.id)"])
      let times = Set(rows.compactMap { $0.firstMatch(of: /^ *(\+[0-9.]+)\s/).map { String($0.1) } })
      let digits = times.first.map { $0.count - 1 - ($0.firstIndex(of: ".")?.utf16Offset(in: $0) ?? 0) } ?? 0
      for message in try reader.messages(after: 0, PageChoice(connection: connection.id), count: 1_000) {
        // What is shown has as many digits as it has, and is not rounded.
        let offset = message.time.microseconds - start.microseconds
        let text = "+\(offset / 1_000_000)." + "\(offset % 1_000_000 + 1_000_000)".dropFirst().prefix(digits)
        #expect(times.contains(text), "#\(connection.id) \(offset)")
      }
    }
  }

  /// The ladder of a session counts from the first packet of each of its connections, as that of the connection does.
  @Test func aSessionHasTheTimesOfItsConnections() throws {
    let store = try Store("tjp-weak-network.pcap")
    let reader = try StoreReader(store.path)
    let session = try #require(try reader.sessions().first { $0.name == "49147" })
    let request = LadderRequest(generation: 1, choice: PageChoice(session: session.id), place: .after(0))
    let items = try #require(try LadderFinder(reader).part(request)).items
    func time(_ label: String) -> String? {
      items.first { $0.line.form == .message && $0.line.label == label }?.line.time
    }
    #expect(time("data 14209857") == "+2.000" && time("data 14209862") == "+8.900")
    #expect(time("control 47766289") == "+0.145" && time("control 47766290") == "+0.144")
    for connection in Set(items.map(\.message.connection)).sorted() {
      let rows = try Self.rows([Samples.path("tjp-weak-network.pcap"), "--conn", "\(connection)"])
      let times = Set(rows.compactMap { $0.firstMatch(of: /^ *(\+[0-9.]+)\s/).map { String($0.1) } })
      let shown = items.filter { $0.isOfMessage && $0.message.connection == connection }.map(\.line.time)
      #expect(!shown.isEmpty && times.isSuperset(of: shown), "#\(connection)")
    }
    // A time of the browser is taken by the option of a time.
    let found = try Self.lines([
      "messages", "-q", "--json", "--conn", "1", "--from", "+8.900", "--to", "+8.900",
      Samples.path("tjp-weak-network.pcap"),
    ])
    #expect(found.map { $0["seq"] as? Int } == [14_209_862])
  }

  @Test func timesAndRowsAreBounds() throws {
    let path = Samples.path("tjp-clean-chat.pcap")
    let frames = try Self.lines(["-q", "--print", "--format", "json", path]).filter { $0["conn"] as? Int == 1 }
    let times = frames.compactMap { $0["ts"] as? Int }
    let (from, to) = (times[10], times[20])
    func seconds(_ microseconds: Int) -> String {
      "\(microseconds / 1_000_000).\(String(String(microseconds % 1_000_000 + 1_000_000).dropFirst()))"
    }
    let rows = Self.arrows(try Self.rows([path, "--conn", "1", "--from", seconds(from), "--to", seconds(to)]))
    #expect(rows.count == times.filter { $0 >= from && $0 <= to }.count)
    let few = try Command.run(["ladder", path, "--conn", "1", "--rows", "5"])
    #expect(Self.arrows(few.output.split(separator: "\n").map(String.init)).count == 5)
    #expect(
      few.output.contains("\(frames.count - 5) later frames left out")
        && few.errors.contains("left out after the last row"))
    #expect(try Command.run(["ladder", path, "--conn", "1", "--from", "soon"]).status == 64)
    // Standard input can be read once.
    let piped = try Command.run(["ladder", "-q", "--conn", "1"], input: "Samples/tjp-clean-chat.pcap")
    #expect(piped.output == (try Command.run(["ladder", "-q", path, "--conn", "1"]).output))
  }
}
