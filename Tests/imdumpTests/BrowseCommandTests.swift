import Foundation
import IMOutput
@testable import IMBrowser
@testable import IMStore
import IMTestSupport
import IMWire
import Testing

/// The command that `!` shows in `imdump browse` prints what is shown: it is run.
@Suite struct BrowseCommandTests {
  /// The words of a command line, as a shell reads it.
  private static func words(_ line: String) -> [String] {
    var words: [String] = []
    var word = ""
    var (isQuoted, isWord, isEscaped) = (false, false, false)
    for character in line {
      if isEscaped {
        word.append(character)
        isEscaped = false
      } else if character == "\\", !isQuoted {
        (isEscaped, isWord) = (true, true)
      } else if character == "'" {
        (isQuoted, isWord) = (!isQuoted, true)
      } else if character == " ", !isQuoted {
        if isWord { words.append(word) }
        (word, isWord) = ("", false)
      } else {
        word.append(character)
        isWord = true
      }
    }
    return isWord ? words + [word] : words
  }

  /// What a command line prints. It may have several commands, of which the last one prints; they run in a folder of their own.
  private static func run(_ line: String, _ options: [String]) throws -> [[String: Any]] {
    let commands = words(line).split(separator: "&&").map { Array($0) }
    let folder = try Scratch()
    var output = ""
    for (i, command) in commands.enumerated() {
      #expect(command.first == "imdump", "\(line)")
      var arguments = Array(command.dropFirst())
      if i == commands.count - 1 { arguments += ["--json"] + (arguments.first == "query" ? [] : options) }
      let run = try Program.run(
        Command.program.path, arguments, environment: Command.environment, folder: folder.url.path, input: nil)
      try #require(run.ending.status == 0, "\(line): \(run.errors)")
      output = run.output
    }
    return try Store.objects(of: output)
  }

  private static func browser(_ store: Store, isStore: Bool, _ sample: String) -> Browser {
    var source = BrowsedSource(files: isStore ? [store.path] : [Samples.path(sample)], isStore: isStore)
    if isStore { source.captures = [Samples.path(sample)] }
    return Browser(source, zone: .utc)
  }

  @Test(
    arguments: ["tjp-weak-network.pcap", "goim-room.pcap", "smpp-gateway.pcap", "diameter-charging.pcap"],
    [true, false])
  func messagesAreThoseOfTheList(_ sample: String, _ isStore: Bool) throws {
    let store = try Store(sample)
    let reader = try StoreReader(store.path)
    let sessions = try reader.sessions()
    let kinds = ProblemNames.all.indices.map { ProblemNames.kind($0) } + [.all, [.unanswered, .damaged], []]
    for kind in kinds {
      for session in [nil] + sessions.prefix(2).map({ Optional($0) }) where session.map({ $0.name != nil }) ?? true {
        var browser = Self.browser(store, isStore: isStore, sample)
        browser.screen = .messages
        browser.session = session
        var page = PageChoice(session: session?.id)
        page.problems = kind
        browser.messages.open(PageRequest.Choice(page))
        let line = browser.equivalentCommand
        let shown = try reader.messages(after: 0, page, count: 100_000)
        // The number of the packet and the place in its stream tell messages apart.
        let found = try Self.run(line, ["-q"].filter { _ in !isStore })
        #expect(found.count == shown.count, "\(line)")
        let times = found.map { isStore ? $0["time_us"] as? Int ?? 0 : ($0["ts"] as? [Int])?.first ?? 0 }
        #expect(times.sorted() == shown.map { Int($0.time.microseconds) }.sorted(), "\(line)")
      }
    }
  }

  /// Problems by kind and cause, counted by SQLite and by the browser.
  @Test(arguments: ["tjp-weak-network.pcap", "tjp-damage.pcap", "smpp-gateway.pcap"], [true, false])
  func problemsAreThoseOfTheList(_ sample: String, _ isStore: Bool) throws {
    let store = try Store(sample)
    let reader = try StoreReader(store.path)
    let whole = try reader.problemCounts()
    let first = try #require(whole.map(\.first).min()), last = try #require(whole.map(\.first).max())
    for times in [nil, first..<last.advanced(by: 1_000)] as [Range<Timestamp>?] {
      var browser = Self.browser(store, isStore: isStore, sample)
      browser.screen = .problems
      browser.times = times
      let line = browser.equivalentCommand
      let found = try Self.run(line, []).map { row in
        "\(row["kind"] ?? "") \(row["cause"] as? String ?? "") \(row["count(*)"] ?? "")"
      }
      let shown = try reader.problemCounts(times).map { "\($0.kind) \($0.cause ?? "") \($0.count)" }
      #expect(!shown.isEmpty && found.sorted() == shown.sorted(), "\(line)")
    }
  }

  /// The command lists the sessions of a time, as the list has them.
  @Test(arguments: ["tjp-weak-network.pcap", "mqtt5-mosquitto.pcap"], [true, false])
  func sessionsAreThoseOfTheTime(_ sample: String, _ isStore: Bool) throws {
    let store = try Store(sample)
    let sessions = try StoreReader(store.path).sessions()
    let begins = sessions.compactMap(\.first).sorted()
    let first = try #require(begins.first)
    for end in begins + [first] {
      var browser = Self.browser(store, isStore: isStore, sample)
      browser.screen = .sessions
      browser.times = first..<end.advanced(by: 1_000)
      let line = browser.equivalentCommand
      let found = try Self.run(line, []).compactMap { ($0["id"] as? NSNumber)?.int64Value }
      let wanted = sessions.filter { ($0.first ?? first) <= end }.map(\.id)
      #expect(found.sorted() == wanted.sorted() && !wanted.isEmpty, "\(line)")
    }
  }

  /// The connections of the list, by the command and by the tables of messages: two ways to the same counts.
  @Test(arguments: ["tjp-weak-network.pcap", "mqtt5-mosquitto.pcap", "tjp-racing.pcap"], [true, false])
  func connectionsAreThoseOfTheList(_ sample: String, _ isStore: Bool) throws {
    let store = try Store(sample)
    let reader = try StoreReader(store.path)
    for words in ["", "tjp closed", "127.0.0.1", "it's", "rst", "fin", "open"] {
      var browser = Self.browser(store, isStore: isStore, sample)
      browser.screen = .connections
      var request = ConnectionsRequest()
      request.filter = words
      let shown = try reader.connections(words: request.words, limit: ConnectionsRequest.limit)
      browser.connections.signal = CombinedSignal(request, quiet: .zero, patience: .zero)
      browser.connections.rows.replace(shown)
      let line = browser.equivalentCommand
      let found = try Self.run(line, isStore ? [] : ["-q"])
      let ids = found.compactMap { (($0["id"] ?? $0["conn"]) as? NSNumber)?.int64Value }
      #expect(isStore ? ids == shown.map(\.id) : ids.sorted() == shown.map(\.id).sorted(), "\(line)")
      for row in shown {
        let counted = try store.rows(
          "SELECT count(*) AS n FROM messages WHERE role = 'message' AND fate <> 'unacknowledged' AND conn = \(row.id)")[
            0]["n"]
        #expect(counted as? Int == Int(row.messages))
        let lost = try store.rows(
          "SELECT count(*) AS n FROM messages WHERE role = 'message' AND fate IN ('unanswered', 'damaged') AND conn = \(row.id)"
        )[0]["n"]
        #expect(lost as? Int == Int(row.lost))
      }
    }
  }

  /// The list of types has the counts and percentiles of `imdump messages --by type`.
  @Test(
    arguments: [
      "tjp-weak-network.pcap", "mqtt5-mosquitto.pcap", "tjp-damage.pcap", "smpp-gateway.pcap", "goim-room.pcap",
    ], [true, false])
  func typesAreThoseOfMessagesByType(_ sample: String, _ isStore: Bool) throws {
    let store = try Store(sample)
    let found = try StoreReader(store.path).types()
    #expect(found.topics.isEmpty)
    try check(found.types, "type", store, isStore: isStore, sample)
  }

  /// The list of topics has the counts and percentiles of `imdump messages --by topic`.
  @Test(
    arguments: ["mqtt-mosquitto.pcap", "mqtt5-mosquitto.pcap", "mqtt-websocket.pcap", "phoenix-room.pcap"],
    [true, false])
  func topicsAreThoseOfMessagesByTopic(_ sample: String, _ isStore: Bool) throws {
    let store = try Store(sample, ["--payload"])
    try check(try StoreReader(store.path).types().topics, "topic", store, isStore: isStore, sample)
  }

  private func check(
    _ types: [StoredTypeCount], _ grouping: String, _ store: Store, isStore: Bool, _ sample: String
  ) throws {
    let reader = try StoreReader(store.path)
    var browser = Self.browser(store, isStore: isStore, sample)
    browser.screen = .types
    browser.types.rows.replace(types)
    let line = browser.equivalentCommand
    let printed = try Self.run(line, ["-q"])
    #expect(printed.count == types.count && !types.isEmpty, "\(line)")
    for type in types {
      let row = try #require(
        printed.first { [type.name, "\(type.profile) \(type.name)"].contains($0[grouping] as? String ?? "") })
      func number(_ name: String) -> Int64? { (row[name] as? NSNumber)?.int64Value }
      #expect(number("messages") == type.messages && number("lost") == type.lost, "\(type.name)")
      #expect(number("rejected") == type.rejected && number("retries") == type.retries, "\(type.name)")
      #expect(number("heartbeats_lost") == type.lostHeartbeats, "\(type.name)")
      let trips = row["rtt_ms"] as? [String: Any]
      func trip(_ way: String, _ name: String) -> Int64? {
        ((trips?[way] as? [String: Any])?[name] as? Double).map { Int64(($0 * 1_000).rounded()) }
      }
      #expect(trip("client_to_server", "p50") == type.roundTrip50ToServer, "\(type.name)")
      #expect(trip("client_to_server", "p95") == type.roundTrip95ToServer, "\(type.name)")
      #expect(trip("server_to_client", "p50") == type.roundTrip50ToClient, "\(type.name)")
      #expect(trip("server_to_client", "p95") == type.roundTrip95ToClient, "\(type.name)")
      // Enter lists as many messages as the row counts.
      let page = try #require(browser.page(of: type))
      #expect(try reader.messages(after: 0, page, count: 1_000).count == Int(type.count))
    }
  }

  /// Messages of a connection, of a type and of a topic. Topics of MQTT 5 are in one of two fields.
  @Test(
    arguments: [
      ("tjp-weak-network.pcap", []), ("mqtt5-mosquitto.pcap", ["resolved_topic", "topic"]),
      ("phoenix-room.pcap", ["topic"]),
    ] as [(String, [String])], [true, false])
  func messagesOfAConnectionAndOfAType(_ capture: (name: String, topicFields: [String]), _ isStore: Bool) throws {
    let sample = capture.name
    let store = try Store(sample, ["--payload"])
    let reader = try StoreReader(store.path)
    func browser() -> Browser {
      var source = BrowsedSource(files: isStore ? [store.path] : [Samples.path(sample)], isStore: isStore)
      source.topicFields = capture.topicFields
      // A filter takes the names of the profiles that are chosen.
      if sample.hasPrefix("phoenix") { source.options = ["--profile", "phoenix"] }
      if isStore { source.captures = [Samples.path(sample)] }
      return Browser(source, zone: .utc)
    }
    func check(_ page: PageChoice, _ browser: Browser) throws {
      let line = browser.equivalentCommand
      let shown = try reader.messages(after: 0, page, count: 1_000)
      let found = try Self.run(line, isStore ? [] : ["-q"])
      let times = found.map { isStore ? $0["time_us"] as? Int ?? 0 : ($0["ts"] as? [Int])?.first ?? 0 }
      #expect(!shown.isEmpty && times.sorted() == shown.map { Int($0.time.microseconds) }.sorted(), "\(line)")
    }
    for row in try reader.connections(limit: 20).filter({ $0.profile != nil }).prefix(5) {
      var browser = browser()
      browser.screen = .messages
      browser.connection = row
      let page = PageChoice(connection: row.id)
      browser.messages.open(PageRequest.Choice(page))
      try check(page, browser)
    }
    let types = try reader.types()
    #expect(types.topics.isEmpty == sample.hasPrefix("tjp"))
    for row in types.types + types.topics {
      var browser = browser()
      browser.screen = .messages
      browser.type = row
      let page = try #require(browser.page(of: row))
      browser.messages.open(PageRequest.Choice(page))
      try check(page, browser)
    }
  }

  @Test func sessionsAreThoseOfTheList() throws {
    let store = try Store("tjp-weak-network.pcap")
    let sessions = try StoreReader(store.path).sessions()
    func check(_ order: SessionOrder, isStore: Bool) throws {
      var browser = Self.browser(store, isStore: isStore, "tjp-weak-network.pcap")
      var request = browser.sessionSignal.value
      request.order = order
      browser.sessionSignal = CombinedSignal(request, quiet: .milliseconds(20), patience: .milliseconds(40))
      let shown = try #require(order.arrange(sessions)).map { Int($0.id) }
      let line = browser.equivalentCommand
      #expect(try Self.run(line, []).compactMap { $0["id"] as? Int } == shown, "\(order.sort) \(line)")
    }
    var order = SessionOrder()
    for filter in ["", "49147", "192.0.2 tjp", "state:recon", "!state:open", "nobody", "it's"] {
      for sort in SessionSort.allCases {
        (order.filter, order.sort, order.pins) = (filter, sort, [])
        try check(order, isStore: true)
        order.pins = [3]
        try check(order, isStore: true)
      }
    }
    // Of a capture, the command makes a store of it first.
    for (filter, sort) in [("40475", .problems), ("", .last), ("it's", .number)] as [(String, SessionSort)] {
      (order.filter, order.sort, order.pins) = (filter, sort, [])
      try check(order, isStore: false)
    }
    // All of them in their usual order are what a command that needs none prints.
    let line = Self.browser(store, isStore: false, "tjp-weak-network.pcap").equivalentCommand
    #expect(line == "imdump messages \(Samples.path("tjp-weak-network.pcap")) --by session")
    #expect(try Self.run(line, ["-q"]).compactMap { $0["messages"] as? Int } == [15, 12, 24])
  }

  /// The ladder of a session that has several connections: the command draws that of the row that is selected.
  @Test func theLadderIsThatOfTheRow() throws {
    let store = try Store("tjp-weak-network.pcap")
    let reader = try StoreReader(store.path)
    let session = try #require(try reader.sessions().first { $0.name == "49147" })
    let request = LadderRequest(generation: 1, choice: PageChoice(session: session.id), place: .after(0))
    let items = try #require(try LadderFinder(reader).part(request)).items
    var browser = Self.browser(store, isStore: false, "tjp-weak-network.pcap")
    (browser.screen, browser.ladderSession) = (.ladder, session)
    browser.ladder.list.replace(items)
    let path = Samples.path("tjp-weak-network.pcap")
    for (label, connection) in [
      ("connection #1:", 1), ("data 14209862", 1), ("connection #8:", 8), ("control 47766290", 8),
    ] {
      browser.ladder.list.select(try #require(items.firstIndex { $0.line.label.hasPrefix(label) }))
      #expect(browser.equivalentCommand == "imdump ladder \(path) --conn \(connection)", "\(label)")
    }
  }
}
