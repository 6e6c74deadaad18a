import IMEngine
import IMMetrics
import IMTerminal
import IMWire

/// The columns of a list of connections, in their order.
struct ConnectionColumns {
  /// What the cells depend on besides the connection.
  struct Style: Sendable {
    /// The names of the plans.
    var profiles: [String]
    /// The zone of times; whether they have the date, and milliseconds.
    var zone = LocalZone.utc
    var hasDate = false, hasMilliseconds = true
    /// The zone as the head of the column of times names it; empty for a head without one.
    var zoneLabel = ""
    /// Whether words are short and numbers rounded.
    var isShort = false
  }

  /// One column.
  struct Column: Sendable {
    /// The title, and the one where there is little space.
    let title: String, short: String
    /// The lowest is shown first where there is little space; columns with the same priority are shown together or not at all.
    let priority: Int
    /// The cells that a live list has room for.
    let live: Int
    /// Whether cells are aligned left.
    let isLeft: Bool
    /// The text of a cell.
    let cell: @Sendable (ListedConnection, Style) -> String
  }

  /// Columns that are worth their space even with 0 in each row.
  static let answers: Set<String> = ["#", "client", "server", "end", "lost"]

  /// All of them.
  let all: [Column]

  init() {
    let figures = Catalogue.texts(.listed, in: Catalogue.listed).flatMap { figure, text -> [Column] in
      guard case .columns(let columns, _, let absent) = text.style else { return [] }
      return columns.map { value, title in
        let place = value.flatMap { value in figure.info.dimensions.last?.values.firstIndex { $0.name == value } }
        let layout = Self.layout[title] ?? (title, 99, title.count)
        return Column(title: title, short: layout.short, priority: layout.priority, live: layout.live, isLeft: false) {
          row, style in
          let value = place.map { figure.value(row, at: $0) } ?? figure.value(row)
          return value.map { Self.text($0, figure.info.unit, style, isSeconds: title == "seconds") } ?? absent
        }
      }
    }
    let columns = Self.named + figures
    all = Self.order.compactMap { title in columns.first { $0.title == title } }
  }

  /// The titles in the order of the columns.
  private static let order = [
    "#", "start", "seconds", "client", "server", "protocol", "bytes c2s", "bytes s2c", "packets c2s", "packets s2c",
    "handshake ms", "ACK ms c2s", "ACK ms s2c", "retrans", "gaps", "missing", "messages", "lost", "retries", "rejected",
    "end", "remarks",
  ]

  /// The short title of each metric's column, its priority, and its width in a live list.
  private static let layout: [String: (short: String, priority: Int, live: Int)] = [
    "seconds": ("sec", 8, 9), "bytes c2s": ("bytes c2s", 10, 9), "bytes s2c": ("bytes s2c", 10, 9),
    "packets c2s": ("packets c2s", 14, 11), "packets s2c": ("packets s2c", 14, 11),
    "handshake ms": ("hs ms", 11, 12), "ACK ms c2s": ("ACK ms c2s", 12, 10), "ACK ms s2c": ("ACK ms s2c", 12, 10),
    "retrans": ("retrans", 4, 7), "gaps": ("gaps", 9, 5), "missing": ("missing", 13, 8), "messages": ("msgs", 6, 8),
    "lost": ("lost", 3, 5), "retries": ("retries", 15, 7), "rejected": ("rejected", 16, 8),
  ]

  /// The columns that are no metrics.
  private static let named: [Column] = [
    Column(title: "#", short: "#", priority: 0, live: 6, isLeft: false) { row, _ in "\(row.info.serial)" },
    Column(title: "start", short: "start", priority: 7, live: 12, isLeft: true) { row, style in
      time(row.firstSeen, style)
    },
    Column(title: "client", short: "client", priority: 0, live: 21, isLeft: true) { row, _ in "\(row.info.client)" },
    Column(title: "server", short: "server", priority: 2, live: 21, isLeft: true) { row, _ in "\(row.info.server)" },
    Column(title: "protocol", short: "protocol", priority: 5, live: 12, isLeft: true) { row, style in
      row.label(style.profiles).map(shown) ?? "-"
    },
    Column(title: "end", short: "end", priority: 1, live: 13, isLeft: true) { row, style in
      ConnectionWords.end(row, isShort: style.isShort)
    },
    Column(title: "remarks", short: "remarks", priority: 17, live: 0, isLeft: true) { row, _ in
      ConnectionWords.remarks(row)
    },
  ]

  /// A value in a cell: counts without commas, since programs read them, and times in milliseconds or seconds.
  private static func text(_ value: MetricValue, _ unit: MetricUnit, _ style: Style, isSeconds: Bool) -> String {
    if case .count(let count) = value { return "\(count)" }
    guard case .nanoseconds(let time) = value else { return MetricSentences.text(value, unit) }
    var out = ByteWriter(capacity: 32)
    let number = Double(time) / (isSeconds ? 1e9 : 1e6)
    // Below a millisecond three digits, everywhere.
    let decimals = !style.isShort || number < 10 ? 3 : number < 100 ? 2 : number < 10_000 ? 1 : 0
    if decimals > 0 { out.decimal(number, decimals) } else { out.number(UInt64(max(0, number.rounded()))) }
    return fixed(out.text, decimals)
  }

  /// `text` with as many decimals as its column has: zeros at its end count, too.
  private static func fixed(_ text: String, _ decimals: Int) -> String {
    guard decimals > 0 else { return text }
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let known = parts.count > 1 ? String(parts[1]) : ""
    return parts[0] + "." + known + String(repeating: "0", count: max(0, decimals - known.count))
  }

  private static func time(_ at: Timestamp, _ style: Style) -> String {
    let local = at.advanced(by: Int64(style.zone.offset(at: at.seconds)) * 1_000_000_000)
    var out = ByteWriter(capacity: 32)
    out.instant(local)
    // 2025-10-09T08:53:20.459151Z
    let text = out.text
    guard let t = text.firstIndex(of: "T") else { return text }
    let clock = text[text.index(after: t)...].prefix(style.hasMilliseconds ? 12 : 8)
    return (style.hasDate ? text[..<t].suffix(5) + " " : "") + clock
  }

  /// `text`, which the capture may have chosen, without control characters.
  private static func shown(_ text: String) -> String {
    var text = text
    var out = ByteWriter(capacity: 64)
    text.withUTF8 { out.terminal(UnsafeRawBufferPointer($0)) }
    return out.text
  }
}

/// How lists describe a connection.
enum ConnectionWords {
  /// How it ended: `fin`, `rst by client`; short: `rst c2s`.
  static func end(_ row: ListedConnection, isShort: Bool) -> String {
    guard let direction = row.resetBy else { return row.reason.name }
    if isShort { return "\(row.reason.name) \(StreamName.sides[Int(direction.rawValue)])" }
    return "\(row.reason.name) by \(direction == .clientToServer ? "client" : "server")"
  }

  /// What limits the line, and the carriers of the connection.
  static func remarks(_ row: ListedConnection) -> String {
    var remarks: [String] = []
    if !row.sawSyn { remarks.append("no SYN") }
    if !row.info.carriers.isDisjoint(with: .proxy) {
      remarks.append(row.info.client == row.info.peer ? "PROXY" : "PROXY from \(row.info.peer)")
    }
    if row.info.carriers.contains(.tls) { remarks.append("TLS") }
    if let unread = row.unreadTLS {
      let random = unread.hasNoKey ? unread.clientRandom.map { " \($0)" } ?? "" : ""
      let what = unread.isPart ? "\(count(unread.byteCount, "byte")) of it" : "TLS"
      remarks.append("\(what) not decrypted (\(unread.reason)\(random))")
    } else if row.isTLS {
      remarks.append("not decrypted")
    }
    if row.info.carriers.contains(.webSocket) { remarks.append("WebSocket") }
    return remarks.joined(separator: ", ")
  }
}
