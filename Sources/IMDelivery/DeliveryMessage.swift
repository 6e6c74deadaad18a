/// What runs between imdump and the process that delivers its alerts: one message of a socket that keeps messages apart.
///
///     +-------+----------+-------+----------+-----
///     | count | bytes    | count | bytes    | ...   each count 4 bytes, little endian
///     +-------+----------+-------+----------+-----
///
/// The first part names what it is. Lists are parts whose elements end with a zero byte.
struct DeliveryMessage: Equatable {
  /// The most a message may have, in bytes; longer ones are not sent.
  static let maximumBytes = 96 << 10
  /// How to deliver: user, quiet, hook, webhooks, Alertmanagers, the spool's folder and its size. The first message, once.
  static let configuration = "configuration"
  /// An alert: state, fingerprint, JSON, environment, Alertmanager's labels and annotations.
  static let alert = "alert"
  /// An alert of an earlier run that still fires: state, fingerprint, Alertmanager's labels and annotations.
  static let refresh = "refresh"
  /// No more alerts come.
  static let end = "end"
  /// What became of all: a line for people, and `lost` where not all was delivered. The answer to `end`.
  static let report = "report"
  /// The word that says so.
  static let lost = "lost"

  var parts: [[UInt8]]

  /// A message of its parts.
  init(parts: [[UInt8]]) { self.parts = parts }

  /// A message of texts.
  init(_ parts: String...) { self.parts = parts.map { Array($0.utf8) } }

  /// The message in `bytes`; nil for what is none.
  init?(decoding bytes: ArraySlice<UInt8>) {
    var rest = bytes
    parts = []
    while !rest.isEmpty {
      guard rest.count >= 4, parts.count < 16 else { return nil }
      let count = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
      rest = rest.dropFirst(4)
      guard count <= rest.count else { return nil }
      parts.append(Array(rest.prefix(count)))
      rest = rest.dropFirst(count)
    }
  }

  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for part in parts {
      for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: part.count >> shift)) }
      bytes += part
    }
    return bytes
  }

  /// A part as text; empty where there is none.
  func text(_ index: Int) -> String {
    parts.indices.contains(index) ? String(decoding: parts[index], as: UTF8.self) : ""
  }

  /// A part as a list.
  func list(_ index: Int) -> [String] {
    text(index).split(separator: "\u{0}", omittingEmptySubsequences: false).dropLast().map(String.init)
  }

  /// A list as one part. A zero byte in an element, which no argument and no address can have, ends it.
  static func list(_ elements: [String]) -> String {
    elements.map { $0.prefix { $0 != "\u{0}" } + "\u{0}" }.joined()
  }
}
