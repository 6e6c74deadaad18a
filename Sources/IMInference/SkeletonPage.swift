import IMWire

/// The text of a skeleton: its lines, and the parts that every skeleton has.
struct SkeletonPage {
  private let name: String
  private let ports: [UInt16]
  private let notes: [String]
  private(set) var text = ""

  /// An empty page for the profile `name`. `notes` are sentences for its head.
  init(name: String, ports: [UInt16], notes: [String]) {
    (self.name, self.ports, self.notes) = (name, ports, notes)
  }

  /// Appends a line and its comment.
  mutating func line(_ line: String = "", _ comment: String? = nil) {
    text += line
    if let comment { text += (line.isEmpty ? "# " : " # ") + comment }
    text += "\n"
  }

  /// Appends the first comments: where the page comes from, the notes, and how much of the bytes its frames cover.
  mutating func introduce(frames: Int, covered: Int, of bytes: Int) {
    line(
      "",
      "A skeleton made by 'imdump profile new' from a capture. A number after a line is the share of frames that agree;"
    )
    line("", "uncertain lines are comments.")
    for note in notes { line("", note) }
    let (frames, covered, bytes) = (Self.number(frames), Self.number(covered), Self.number(bytes))
    line("", "Framing: \(frames) frames cover \(covered) of \(bytes) analyzed bytes;")
  }

  /// Appends what decoding the capture with an earlier page gave.
  mutating func report(_ outcome: ProfileSkeleton.Outcome?) {
    guard let outcome else { return }
    line(
      "",
      "Decoded with this profile: \(grouped(outcome.frames)) frames on \(grouped(outcome.connections)) of \(grouped(outcome.allConnections)) connections; \(grouped(outcome.strayBytes)) of \(grouped(outcome.bytes)) bytes"
    )
    line("", "are outside frames.")
  }

  /// Appends the keys that name the profile.
  mutating func identify() {
    line("profile: \(name)")
    line("version: 1")
    line("title: A skeleton made from a capture")
    if !ports.isEmpty { line("ports: [\(ports.map(String.init).joined(separator: ", "))]", "a hint, not a condition") }
    line()
  }

  /// A count as people write it.
  static func number(_ value: Int) -> String { grouped(UInt64(clamping: value)) }

  /// The part of the capture that a repeated guess leaves out: so many connections, or the end of the only one.
  static func heldOut(_ connections: Int) -> String {
    connections > 0 ? "\(number(connections)) connection\(connections == 1 ? "" : "s")" : "the last quarter"
  }
}

/// A skeleton that writes its page line by line.
protocol SkeletonWriter {
  /// The page so far.
  var page: SkeletonPage { get set }
}

extension SkeletonWriter {
  /// Appends a line and its comment.
  mutating func line(_ text: String = "", _ comment: String? = nil) { page.line(text, comment) }

  /// A count as people write it.
  static func number(_ value: Int) -> String { SkeletonPage.number(value) }

  /// A share of frames, or of what `noun` says: `12 of 14 frames`.
  static func share(_ agree: Int, _ of: Int, _ noun: String = "frames") -> String {
    "\(number(agree)) of \(number(of)) \(noun)"
  }
}
