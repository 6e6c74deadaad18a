import IMOutput
import IMWire

/// A message of a store in sentences, made of its row in the view `messages`.
struct DetailWords {
  private let values: [String: String]

  /// The words of the columns of a row; those without a value are left out.
  init(_ columns: [(name: String, value: String)]) {
    values = Dictionary(columns.map { ($0.name, $0.value) }) { first, _ in first }
  }

  /// The sentences, the most important first. `time` is when the message's first copy came, as the screen writes times.
  func sentences(time: String) -> [String] {
    [what, sent(time), fate, receipts, transmissions, place, damage].compactMap { $0 }
  }

  private func number(_ name: String) -> Int64? { values[name].flatMap { Int64($0) } }

  private func length(_ name: String) -> String? { number(name).map { Words.shortLength($0) } }

  private func counted(_ count: Int64, _ one: String, _ many: String) -> String {
    "\(grouped(UInt64(max(0, count)))) \(count == 1 ? one : many)"
  }

  /// `publish of mqtt, a message from client to server: 12 bytes, number 4711`
  private var what: String? {
    guard let type = values["type"] else { return nil }
    var text = type + (values["profile"].map { " of \($0)" } ?? "")
    switch values["role"] {
    case "message": text += ", a message"
    case "heartbeat": text += ", a heartbeat"
    case "receipt": text += ", a receipt"
    case "control": text += ", a control frame"
    default: break
    }
    text += values["dir"] == "s2c" ? " from server to client" : " from client to server"
    if let bytes = number("len") { text += ": \(counted(bytes, "byte", "bytes"))" }
    if let sequence = values["seq"] { text += ", number \(sequence)" }
    if let compression = values["comp"], compression != "none" { text += ", compressed with \(compression)" }
    return text
  }

  /// `sent at 08:53:24.610, in packet 13 of night.pcap`
  private func sent(_ time: String) -> String? {
    var text = "sent at \(time)"
    if let packet = number("packet"), packet > 0 {
      text += ", in packet \(packet)"
      // Of a path its end says more.
      if let capture = values["capture"]?.split(separator: "/").last { text += " of \(capture)" }
    }
    return text
  }

  private var cause: String? {
    switch values["cause"] {
    case "network": "the other side's TCP never acknowledged it"
    case "peer": "the other side's TCP acknowledged it, and no answer came"
    case "capture": "bytes are missing from the capture"
    case "status": nil
    case "checksum": "no copy had a correct checksum"
    case "limit": "it was dropped at a memory limit"
    default: values["cause"]
    }
  }

  private var status: String? {
    guard let status = values["status"] else { return nil }
    return "status \(status)" + (values["status_name"].map { " (\($0))" } ?? "")
  }

  private var fate: String? {
    let after = length("rtt_us").map { " after \($0)" } ?? ""
    let late = values["late"] == "1" ? ", later than its timeout" : ""
    // A status of an answer that refuses nothing is worth a word as well.
    let with = status.map { " with \($0)" } ?? ""
    let why = cause.map { ": \($0)" } ?? ""
    switch values["fate"] {
    case "acked": return "answered\(after)\(with)\(late)"
    case "acked_after_retry": return "answered\(after) from the first copy, after a retry\(with)\(late)"
    case "rejected": return "rejected\(after)\(with)\(late)"
    case "unanswered": return "lost, without an answer\(why)"
    case "damaged": return "lost, damaged\(why)"
    case "pending": return "still without an answer when the capture ended"
    case "unknown": return "its fate is unknown\(why)"
    case "unacknowledged": return "asks for no answer"
    default: return values["fate"]
    }
  }

  /// `delivered after 51 ms, read after 5.03 s`
  private var receipts: String? {
    let parts = [("delivered", "delivered_us"), ("read", "read_us")].compactMap { word, column in
      length(column).map { "\(word) after \($0)" }
    }
    return parts.isEmpty ? nil : parts.joined(separator: ", ")
  }

  /// `sent again once before the answer, twice after it`
  private var transmissions: String? {
    func times(_ count: Int64) -> String { count == 1 ? "once" : count == 2 ? "twice" : "\(count) times" }
    let parts = [("before the answer", "retries"), ("after it", "dup_after_ack")].compactMap { word, column in
      number(column).flatMap { $0 > 0 ? "\(times($0)) \(word)" : nil }
    }
    let isAnswered = values["rtt_us"] != nil
    guard !parts.isEmpty else { return nil }
    return "sent again " + (isAnswered ? parts.joined(separator: ", ") : times(number("retries") ?? 0))
  }

  /// `connection #3 of 192.0.2.7:50110 to 203.0.113.10:8080, in websocket, session 77`
  private var place: String? {
    guard let connection = values["conn"] else { return nil }
    var text = "connection #\(connection)"
    if let client = values["client"], let server = values["server"] { text += " of \(client) to \(server)" }
    if let via = values["via"] { text += ", through \(via)" }
    if let carrier = values["carrier"] {
      text += ", in " + Self.carriers(carrier).joined(separator: ", ")
    }
    if let session = values["session"] { text += ", session \(session)" }
    return text
  }

  private var damage: String? { values["crc"] == "bad" ? "the checksum of its first copy is wrong" : nil }

  /// The carriers of a connection, of which a store has a JSON array.
  static func carriers(_ json: String) -> [String] {
    json.filter { !"[]\"".contains($0) }.split(separator: ",").map(String.init)
  }
}
