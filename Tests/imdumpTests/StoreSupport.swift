import Foundation
import IMTestSupport
import Testing

/// A store that `imdump index` has made of a capture, and what `imdump query` says of it.
struct Store {
  let path: String
  private let folder: Scratch

  /// The store of a sample.
  init(_ sample: String, _ options: [String] = []) throws {
    try self.init([Samples.path(sample)] + options)
  }

  /// The store of what `arguments` name.
  init(_ arguments: [String]) throws {
    folder = try Scratch()
    path = folder.path("a.db")
    let run = try Command.run(["index", "-q", "-o", path] + arguments)
    try #require(run.status == 0 && run.output.isEmpty, "\(run.errors)")
  }

  /// The columns of figures that `sums` computes.
  static let figures =
    ([
      "messages", "acked", "acked_after_retry", "rejected", "unanswered", "damaged", "pending", "unacknowledged",
      "unknown",
      "retries", "late", "heartbeats", "heartbeats_lost", "others",
    ]
    + ["c2s", "s2c"].flatMap { way in ["count", "sum_us", "min_us", "max_us"].map { "rtt_\(way)_\($0)" } } + [
      "first_us"
    ])
    .joined(separator: ", ")
  /// What the rows of `message` add up to, by the documentation: messages, heartbeats and others apart; as SQL after SELECT and a key.
  static let sums: String = {
    let isMessage = "t.role = 'message'"
    var sums = ["sum(\(isMessage) AND f.name <> 'unacknowledged') AS messages"]
    for fate in [
      "acked", "acked_after_retry", "rejected", "unanswered", "damaged", "pending", "unacknowledged", "unknown",
    ] { sums.append("sum(\(isMessage) AND f.name = '\(fate)') AS \(fate)") }
    sums += [
      "sum(iif(\(isMessage), retries, 0)) AS retries", "sum(\(isMessage) AND problems & 16 <> 0) AS late",
      "sum(t.role = 'heartbeat') AS heartbeats",
      "sum(t.role = 'heartbeat' AND f.name IN ('unanswered', 'damaged')) AS heartbeats_lost",
      "sum(t.role NOT IN ('message', 'heartbeat')) AS others",
    ]
    for (way, name) in ["c2s", "s2c"].enumerated() {
      let trip = "iif(direction = \(way) AND t.role <> 'heartbeat' AND retries = 0, rtt_us, NULL)"
      sums += [
        "count(\(trip)) AS rtt_\(name)_count", "CAST(total(\(trip)) AS INTEGER) AS rtt_\(name)_sum_us",
        "min(\(trip)) AS rtt_\(name)_min_us", "max(\(trip)) AS rtt_\(name)_max_us",
      ]
    }
    return sums.joined(separator: ", ") + ", min(time_us) AS first_us"
      + " FROM message JOIN fate AS f ON f.id = message.fate JOIN type AS t ON t.id = message.type"
  }()

  /// The rows of a statement.
  func rows(_ sql: String) throws -> [[String: Any]] { try Self.objects(["query", path, sql, "--json"]) }

  /// The one number that a statement gives.
  func number(_ sql: String) throws -> Int {
    let row = try #require(try rows(sql).first)
    return try #require(row.values.first as? Int)
  }

  /// A sample `count` times over, each time an hour later, by which all before it is decided: a pcap file of 32-bit words in little
  /// endian.
  static func repeated(_ sample: String, _ count: Int) throws -> [UInt8] {
    let bytes = try Samples.bytes(sample)
    var all = Array(bytes[..<24])
    func word(_ at: Int) -> UInt32 { bytes[at..<at + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) } }
    for turn in 0..<UInt32(count) {
      var at = 24
      while at + 16 <= bytes.count {
        let end = at + 16 + Int(word(at + 8))
        withUnsafeBytes(of: (word(at) + 3_600 * turn).littleEndian) { all += $0 }
        all += bytes[(at + 4)..<end]
        at = end
      }
    }
    return all
  }

  /// The objects that a command prints, one a line.
  static func objects(_ arguments: [String]) throws -> [[String: Any]] {
    let run = try Command.run(arguments)
    try #require(run.status == 0, "\(arguments): \(run.errors)")
    return try objects(of: run.output)
  }

  /// The objects of a text, one a line.
  static func objects(of text: String) throws -> [[String: Any]] {
    try text.split(separator: "\n").map { line in
      try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }
  }

  /// An object as text, its members in order: what is not known, NULL or not there, is left out.
  static func text(_ object: [String: Any]) throws -> String {
    let known = object.filter { !($0.value is NSNull) }
    return String(decoding: try JSONSerialization.data(withJSONObject: known, options: .sortedKeys), as: UTF8.self)
  }
}
