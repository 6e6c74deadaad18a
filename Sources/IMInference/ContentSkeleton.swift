import IMContent
import IMWire

/// Writes a guessed content as a profile: framing, content, the paths of type, number and status, and types, each line with the share of frames that
/// agree.
package struct ContentSkeleton: SkeletonWriter {
  let guess: GuessedContent
  var page: SkeletonPage
  var names: [String] = []

  /// The reason why it cannot be written as a profile; `nil` if it can.
  package static func refusal(_ guess: GuessedContent) -> String? {
    guard guess.parts.isEmpty || guess.kinds.isEmpty else { return nil }
    return
      "\(grouped(UInt64(guess.frameCount))) frames of \(guess.found.shape.kind.name), but no member tells what a frame is: capture more kinds of messages"
  }

  /// The text of the profile. `notes` are sentences for its head; `outcome` is the result of a first version.
  package static func text(
    _ guess: GuessedContent, name: String, ports: [UInt16], notes: [String], outcome: ProfileSkeleton.Outcome?
  ) -> String {
    var skeleton = ContentSkeleton(guess: guess, name: name, ports: ports, notes: notes)
    skeleton.write(outcome)
    return skeleton.page.text
  }

  private init(guess: GuessedContent, name: String, ports: [UInt16], notes: [String]) {
    self.guess = guess
    page = SkeletonPage(name: name, ports: ports, notes: notes)
  }

  /// A quoted word.
  static func quoted(_ text: String) -> String { "\"\(text)\"" }

  // MARK: The page

  mutating func write(_ outcome: ProfileSkeleton.Outcome?) {
    head(outcome)
    page.identify()
    framing()
    content()
    line()
    names = uniqueNames()
    fields()
    types()
    line()
    line("", "Unknown: the purpose of messages (role), times for answers, named fields. See imdump-profile(5).")
  }

  mutating func head(_ outcome: ProfileSkeleton.Outcome?) {
    let found = guess.found
    page.introduce(frames: found.frameCount, covered: found.explainedCount, of: found.byteCount)
    line(
      "",
      "the content (\(found.shape.kind.name)) ends exactly where the frame does in \(Self.share(found.closedCount, found.frameCount))\(found.errors > 0 ? "; at \(Self.number(found.errors)) positions there was none" : "")."
    )
    if let held = guess.heldOut {
      let place = SkeletonPage.heldOut(held.connections)
      var text =
        "Held out: of \(Self.number(held.frames)) frames of \(place), which this guess was repeated without, \(Self.number(held.known)) have a type seen before"
      if held.numbered > 0 { text += ", \(Self.share(held.withNumber, held.numbered)) have their number" }
      if held.answers > 0 { text += ", \(Self.share(held.matched, held.answers, "answers")) name an open frame" }
      line("", text + ".")
    } else {
      line(
        "",
        "Too few frames to hold some of them out: nothing here was checked against frames that it was not made from.")
    }
    page.report(outcome)
  }

  /// The maximum length of a body in the profile.
  var maximum: String {
    var maximum = 65_536
    while maximum < guess.found.longest * 4, maximum < 1 << 20 { maximum *= 2 }
    return "maximum: \(maximum)"
  }

  mutating func framing() {
    let found = guess.found
    let share =
      "\(Self.share(found.hits, found.chances, "segments")) begin with a frame; the longest has \(Self.number(found.longest)) bytes"
    switch found.framing {
    case .message:
      line(
        "framing: { kind: message, \(maximum) }",
        "each WebSocket message is a frame; the longest has \(Self.number(found.longest)) bytes")
    case .records(let mark):
      line("framing: { kind: message, records: \(Self.hex([mark])), \(maximum) }", "parts of WebSocket messages")
    case .terminated(let begins, let ends):
      let begin = begins.isEmpty ? "" : "begins: \(Self.hex(begins)), "
      line("framing: { kind: terminated, \(begin)ends: \(Self.hex(ends)), \(maximum) }", share)
    case .blocks(let ends, let length, let ignoresCase):
      var text = "framing: { kind: headers"
      if !ends.isEmpty { text += ", ends: \(Self.hex(ends))" }
      if let length { text += ", body: { header: \(length) }" }
      if !ends.isEmpty { text += ", beat: 0A" }
      if ignoresCase { text += ", case: ignored" }
      line(text + ", \(maximum) }", share)
    case .lines(let counted) where counted.isEmpty:
      line("framing: { kind: line }", share)
    case .lines(let counted):
      line(
        "framing: { kind: headers, lines: 1, ends: 0D0A, body: { word: last, of: [\(counted.map(Self.quoted).joined(separator: ", "))] }, \(maximum) }",
        "the last word of these lines is the length of a body")
    case .resp: line("framing: { kind: resp, \(maximum) }", share)
    case .xml: line("framing: { kind: xml, stream: stream, beat: \"20\", \(maximum) }", share)
    case .pairs:
      line("framing: { kind: pairs, separator: 01, begins: \"8=\", length: 9, checksum: 10, \(maximum) }", share)
    case .counted(let length, let header):
      line("header: { length: \(header) }")
      switch length {
      case .number(let place, let adds):
        let counts = adds == 0 ? "frame" : adds == header ? "body" : "{ from: \(adds) }"
        line("length: " + ProfileSkeleton.place(place, ", counts: \(counts), \(maximum)"), share)
      case .varint(let offset): line("length: { offset: \(offset), encoding: varint, \(maximum) }", share)
      case .decimal: line("length: { offset: 0, encoding: decimal, \(maximum) }", share)
      case .ber: line("length: { offset: 1, encoding: ber, \(maximum) }", share)
      }
    }
  }

  static func hex(_ bytes: [UInt8]) -> String { "\"\(ProfileSkeleton.hex(bytes))\"" }

  var isPlainLines: Bool { guess.found.framing == .lines(counted: []) }

  mutating func content() {
    guard !isPlainLines else { return }
    guard let lead = guess.found.shape.lead else {
      line("content: \(guess.found.shape.kind.name)")
      return
    }
    line(
      "content: { kind: json, lead: [{ digits: { maximum: \(lead), into: type } }, { when: { next: 2F }, until: { byte: 2C } }, { digits: { maximum: 19, into: sequence } }] }",
      "digits in front of the text")
  }

  // MARK: Fields

  func written(_ part: ContentTypePart) -> String {
    switch part {
    case .side: return "side"
    case .lead: return "lead"
    case .which(let names): return "{ which: [\(names.map(Self.quoted).joined(separator: ", "))] }"
    case .path(let path):
      switch guess.found.shape.kind {
      case .words, .headers: return "{ word: \(path) }"
      case .xml where path == "element": return "{ element: true }"
      default: return "{ at: \(Self.quoted(path)) }"
      }
    }
  }

  /// The paths of numbers, the most frequent first.
  var numberPaths: [String] {
    var counts: [String: Int] = [:]
    for kind in guess.kinds { if let number = kind.number { counts[number, default: 0] += kind.total } }
    return counts.sorted { (-$0.value, $0.key) < (-$1.value, $1.key) }.map(\.key)
  }

  /// One path that covers all of them: the member of that name inside any other.
  var commonPath: String? {
    let paths = numberPaths
    let lasts = Set(paths.map { $0.split(separator: ".").last.map(String.init) ?? "" })
    guard paths.count > 1, lasts.count == 1, let last = lasts.first, !last.isEmpty,
      paths.allSatisfy({ $0.split(separator: ".").count == 2 }), guess.found.shape.kind == .json
    else { return nil }
    return "*." + last
  }

  mutating func fields() {
    line("fields:")
    let parts = guess.parts.map(written)
    let values = guess.kinds.count + guess.kindsLeftOut
    line(
      "  type: "
        + (parts.count == 1 && !["side", "lead"].contains(parts[0]) ? parts[0] : "[\(parts.joined(separator: ", "))]"),
      "\(Self.number(values)) values, which predict most of the structure of frames")
    let paths = numberPaths
    if !paths.isEmpty {
      let numbered = guess.kinds.filter { $0.number != nil }
      let answers = numbered.filter { !$0.answers.isEmpty }
      let comment =
        "the other side repeats it: \(Self.share(answers.reduce(0) { $0 + $1.answering }, answers.reduce(0) { $0 + $1.total }, "answers")) name an open frame"
      if paths == [ContentShape.leadNumber] {
        line("  sequence: lead", comment)
      } else if isPlainLines {
        let word = paths.count == 1 ? Int(paths[0]) : nil
        line("  \(word == nil || !isDecimal ? "# " : "")sequence: { word: \(paths[0]) }", comment)
      } else if let common = commonPath {
        line("  sequence: { at: \(Self.quoted(common)) }", comment)
      } else if paths.count == 1 {
        line("  sequence: { at: \(Self.quoted(paths[0])) }", comment)
      } else {
        line("  sequence: { at: [\(paths.prefix(4).map(Self.quoted).joined(separator: ", "))] }", comment)
      }
    }
    if let status = guess.status, !isPlainLines {
      let seen = status.values.map { "\(Self.number($0.count)) x \($0.text)" }.joined(separator: ", ")
      switch status.form {
      case .number: line("  status: { at: \(Self.quoted(status.path)) }", seen)
      case .text(let texts):
        let list = texts.enumerated().map { "\(Self.quoted($0.element)): \($0.offset)" }.joined(separator: ", ")
        line("  status: { at: \(Self.quoted(status.path)), text: { \(list) } }", seen)
      case .present: line("  status: { at: \(Self.quoted(status.path)), present: 1 }", "only in answers that refuse")
      }
    }
    if let session = guess.session, !isPlainLines {
      line(
        "  # session: { at: \(Self.quoted(session.path)) }",
        "the same in all frames of a connection that have it: \(Self.share(session.count, guess.frameCount))")
    }
    line()
    if let status = guess.status, !isPlainLines, case .number(let accepted) = status.form, accepted != 0...0 {
      line(
        "status: { accepted: [\(accepted.lowerBound), \(accepted.upperBound)] }", "perhaps more: see the values above")
      line()
    }
  }

  /// Whether numbers in lines are decimal, as fields of lines must be.
  var isDecimal: Bool { false }
}
