import IMOutput
import IMStore
import IMWire

/// The command that prints what is shown.
extension Browser {
  var equivalentCommand: String {
    switch screen {
    case .sessions:
      // The command counts all sessions, and has no order but this.
      source.isStore || sessionSignal.value.order != SessionOrder() || times != nil
        ? query("SELECT * FROM sessions\(sessionConditions) ORDER BY \(Self.order(sessionSignal.value.order))")
        : command("messages", ["--by", "session"])
    case .connections:
      if !source.isStore, let connectionFilter {
        command("streams", ["--sort", "problems"] + connectionFilter)
      } else {
        query(
          "SELECT * FROM connection\(connectionConditions) ORDER BY \(StoredConnection.worstFirst) LIMIT \(ConnectionsRequest.limit)"
        )
      }
    // SQL has no percentiles.
    case .types:
      command(
        "messages", ["--by", types.rows.selected?.isTopic == true ? "topic" : "type"] + timeFilter)
    case .problems:
      query("SELECT kind, cause, count(*) FROM problems\(sqlTimes.map { " WHERE " + $0 } ?? "") GROUP BY 1, 2")
    case .ladder: ladderCommand
    case .frame:
      // Of all frames the one that its packet completed.
      command(
        nil, ["-v", "-X", "-Y", "number == \(frameMessage?.packet ?? 0) and conn == \(frameMessage?.connection ?? 0)"])
    case .messages: source.isStore && messages.choice.filter.isEmpty ? messageQuery : messageCommand
    }
  }

  /// The command that lists all connections, decoded or not.
  var connectionsCommand: String { command("streams", []) }

  // MARK: Times

  /// The filter by time, in the language of `-Y`; empty without one.
  private var timeFilter: [String] { timeCondition.map { ["-Y", $0] } ?? [] }

  private var timeCondition: String? {
    times.map { "ts >= \"\(Self.instant($0.lowerBound))\" && ts < \"\(Self.instant($0.upperBound))\"" }
  }

  /// The same in SQL.
  private var sqlTimes: String? {
    times.map { "time_us >= \($0.lowerBound.microseconds) AND time_us < \($0.upperBound.microseconds)" }
  }

  /// Sessions that lasted into the time and have the words of the filter, in SQL; pinned ones stay.
  private var sessionConditions: String {
    let order = sessionSignal.value.order
    var conditions: [String] = []
    if let times {
      conditions.append(
        "first_us < \(times.upperBound.microseconds) AND last_us >= \(times.lowerBound.microseconds)")
    }
    for word in order.filter.split(separator: " ").map({ $0.lowercased() }) { conditions.append(Self.condition(word)) }
    guard !conditions.isEmpty else { return "" }
    let all = conditions.joined(separator: " AND ")
    guard !order.pins.isEmpty else { return " WHERE " + all }
    return " WHERE id IN (\(order.pins.sorted().map { "\($0)" }.joined(separator: ", "))) OR \(all)"
  }

  /// A word of the filter of sessions, in SQL.
  private static func condition(_ word: String) -> String {
    func state(_ text: String) -> String {
      let short = [
        "reconnected": "recon", "timeout": "no ans", "refused": "refuse", "evicted": "lost",
      ].filter { $0.value.hasPrefix(text) }.map(\.key).sorted()
      let states = ["substr(state, 1, \(text.count)) = \(literal(text))"] + short.map { "state = '\($0)'" }
      return "(" + states.joined(separator: " OR ") + ")"
    }
    if word.hasPrefix("state:") { return state(String(word.dropFirst(6))) }
    if word.hasPrefix("!state:") {
      let text = String(word.dropFirst(7))
      return text.isEmpty ? "1" : "NOT " + state(text)
    }
    let ends = "(SELECT client || ' ' || server FROM connection AS c WHERE c.id = sessions.connection)"
    return
      "instr(lower(ifnull(name, '') || ' ' || profile || ' ' || \(ends)), \(literal(word))) > 0"
  }

  /// A text in SQL.
  private static func literal(_ text: String) -> String {
    "'" + text.reduce(into: "") { $0 += $1 == "'" ? "''" : String($1) } + "'"
  }

  private var ladderTimes: [String] {
    times.map { ["--from", Self.instant($0.lowerBound), "--to", Self.instant($0.upperBound.advanced(by: -1_000))] }
      ?? []
  }

  /// The connection of the line that is selected.
  private var ladderConnection: Int64 {
    ladder.list.selected?.message.connection ?? ladder.choice.connection ?? ladderSession?.connection ?? 0
  }

  private static func instant(_ time: Timestamp) -> String {
    var out = ByteWriter(capacity: 64)
    out.instant(time)
    return out.text
  }

  private static func order(_ order: SessionOrder) -> String {
    let pins = order.pins.isEmpty ? "" : "id IN (\(order.pins.sorted().map { "\($0)" }.joined(separator: ", "))) DESC, "
    let key =
      switch order.sort {
      case .problems: worstFirst(isReversed: order.isReversed)
      case .number: "id"
      case .name: "name"
      case .messages: "messages"
      case .roundTrip: "max(ifnull(rtt_c2s_p95_us, -1), ifnull(rtt_s2c_p95_us, -1))"
      case .retries: "retries"
      case .lost: "unanswered + damaged\(order.isReversed ? "" : " DESC"), rejected"
      case .last: "last_us"
      }
    if order.sort == .problems { return pins + key }
    let isDescending = (order.sort != .number && order.sort != .name) != order.isReversed
    return pins + key + (isDescending ? " DESC" : "")
  }

  private static func worstFirst(isReversed: Bool) -> String {
    let counts = ["unanswered + damaged", "rejected", "retries", "heartbeats_lost", "messages", "unacknowledged"]
    return (counts.map { $0 + (isReversed ? "" : " DESC") } + ["id" + (isReversed ? " DESC" : "")]).joined(
      separator: ", ")
  }

  /// The connections of the list, for a command that reads captures, which has other filters: all, or a few by their numbers; `nil`
  /// where it cannot list just them.
  private var connectionFilter: [String]? {
    let wanted = connections.signal.value
    guard !wanted.filter.isEmpty || wanted.times != nil else { return [] }
    guard (1...200).contains(connections.rows.items.count) else { return nil }
    let numbers = connections.rows.items.map { "\($0.id)" }.sorted { ($0.utf8.count, $0) < ($1.utf8.count, $1) }
    return ["-Y", "conn in {" + numbers.joined(separator: ", ") + "}"]
  }

  /// Connections that lasted into the time and have the words of the filter, in SQL.
  private var connectionConditions: String {
    var conditions: [String] = []
    if let times { conditions.append(StoredConnection.lasted(into: times)) }
    for word in connections.signal.value.words {
      conditions.append("instr(\(StoredConnection.searchedText), \(Self.literal(word))) > 0")
    }
    return conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
  }

  private var messageQuery: String {
    var conditions: [String] = []
    if let session { conditions.append("message.session = \(session.id)") }
    let page = messages.choice.page
    if let connection = page.connection { conditions.append("message.connection = \(connection)") }
    if let type = page.type { conditions.append("message.type = \(type)") }
    if let topic = page.topic { conditions.append("m.topic = \(Self.literal(topic))") }
    let problems = messages.choice.page.problems
    if problems != [] { conditions.append("message.problems & \(problems.rawValue) <> 0") }
    if let times {
      conditions.append(
        "message.time_us >= \(times.lowerBound.microseconds) AND message.time_us < \(times.upperBound.microseconds)")
    }
    let end = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    return query("SELECT m.* FROM messages AS m JOIN message USING (id)\(end) ORDER BY id")
  }

  /// Filters that say of a message that it has a problem, in the order of the problems' bits.
  private static let problemFilters = [
    "fate == rejected", "role == message && fate == unanswered", "role == message && fate == damaged", "retries > 0",
    "late", "dup > 0", "fate == unknown", "role == heartbeat && fate in {unanswered, damaged}",
    "not role in {message, heartbeat} && fate in {unanswered, damaged}",
  ]

  private var messageCommand: String {
    var conditions: [String] = []
    if let session {
      // A name that stands for another one is another one in every run.
      conditions.append(
        session.connections == 1 || session.name == nil
          ? "conn == \(session.connection)" : "session == \(Self.quoted(session.name ?? ""))")
    }
    if let connection = messages.choice.page.connection { conditions.append("conn == \(connection)") }
    if let type, !type.isTopic { conditions.append("type == \(Self.quoted(type.name))") }
    if let topic = messages.choice.page.topic {
      conditions.append(source.topicFields.map { "\($0) == \(Self.inQuotes(topic))" }.joined(separator: " || "))
    }
    let problems = messages.choice.page.problems
    let kinds = ProblemNames.all.indices.filter { !problems.isDisjoint(with: ProblemNames.kind($0)) }
    let filters = kinds.map { Self.problemFilters[$0] }
    if let only = filters.first, filters.count == 1 {
      conditions.append(only)
    } else if !filters.isEmpty {
      conditions.append(filters.map { "(\($0))" }.joined(separator: " || "))
    }
    if let timeCondition { conditions.append(timeCondition) }
    if !messages.choice.filter.isEmpty {
      conditions.append(messages.choice.filter)
    }
    let isOne = conditions.count == 1
    let filter = conditions.map { isOne || !$0.contains(" ") ? $0 : "(\($0))" }.joined(separator: " && ")
    return command("messages", conditions.isEmpty ? [] : ["-Y", filter])
  }

  /// A name as a filter has it: numbers as they are, other names in double quotes.
  private static func quoted(_ name: String) -> String {
    if !name.isEmpty, name.utf8.allSatisfy({ (0x30...0x39).contains($0) }) { return name }
    return inQuotes(name)
  }

  private static func inQuotes(_ name: String) -> String {
    "\"" + name.reduce(into: "") { $0 += ["\"", "\\"].contains($1) ? "\\\($1)" : String($1) } + "\""
  }

  private var frameMessage: StoredMessage? { framed }

  // MARK: Command lines

  /// A query of the store, or of one that a command in front of it makes of the captures.
  private func query(_ sql: String) -> String {
    if source.isStore { return Self.line(["query"] + source.files + [sql]) }
    let store = "\(source.fileName).db"
    let making =
      isOnlyLive
      ? written("--store", store)
      : Self.line(["index"] + source.files + ["-o", store] + source.options + source.filterWords)
    return making + " && " + Self.line(["query", store, sql])
  }

  /// The ladder. It reads files only: of an interface, one that a command in front of it writes.
  private var ladderCommand: String {
    let options = ["--conn", "\(ladderConnection)"] + ladderTimes
    guard isOnlyLive else { return command("ladder", options) }
    let capture = "\(source.fileName).pcapng"
    return written("-w", capture) + " && " + Self.line(["ladder", capture] + source.options + options)
  }

  /// Whether there is nothing to read but an interface.
  private var isOnlyLive: Bool { !source.isStore && source.files.isEmpty && source.interface != nil }

  /// The command that captures into a file.
  private func written(_ option: String, _ file: String) -> String {
    Self.line(["-i", source.interface ?? "", option, file] + source.options + source.filterWords)
  }

  private func command(_ name: String?, _ options: [String]) -> String {
    // Of a store, the captures behind it.
    let files = isOnlyLive ? ["-i", source.interface ?? ""] : source.isStore ? source.captures : source.files
    return Self.line([name].compactMap { $0 } + files + source.options + options + source.filterWords)
  }

  private static func line(_ words: [String]) -> String {
    (["imdump"] + words).map(shellWord).joined(separator: " ")
  }
}
