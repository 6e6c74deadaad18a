import IMEngine

/// Writes what was guessed of a protocol as a profile: what is certain as keys, each with the share of frames that agree;
/// what is not, as comments.
package struct ProfileSkeleton {
  /// What decoding the capture with the page gave.
  package struct Outcome: Sendable {
    /// Frames and connections that were decoded, and connections that there are.
    package var frames: UInt64, connections: UInt64, allConnections: UInt64
    /// Bytes of the streams, and those that stand in no frame.
    package var bytes: UInt64, skippedBytes: UInt64

    /// An outcome of its parts.
    package init(frames: UInt64, connections: UInt64, allConnections: UInt64, bytes: UInt64, skippedBytes: UInt64) {
      self.frames = frames
      self.connections = connections
      self.allConnections = allConnections
      self.bytes = bytes
      self.skippedBytes = skippedBytes
    }
  }

  private let guess: GuessedProtocol
  private let name: String
  private let ports: [UInt16]
  private let notes: [String]
  private let proof: Proof
  private var out = ""

  /// How much types have to prove, where nothing else does: what few frames have in common may be chance, so no more of it
  /// is written than it takes to find all frames.
  package enum Proof: Int, CaseIterable, Sendable {
    /// Nothing.
    case none
    /// Flags that all frames of a type have; lengths as well; both also of types of which there is one frame.
    case flags, lengths, single
  }

  /// What may be tried, the least first: one, where the header proves enough.
  package static func proofs(_ guess: GuessedProtocol) -> [Proof] {
    let skeleton = ProfileSkeleton(guess: guess, name: "", ports: [], notes: [], proof: .none)
    return skeleton.isWeak ? Proof.allCases : [.none]
  }

  /// Why a framing cannot be written as a profile; `nil` where it can.
  package static func refusal(_ guess: GuessedProtocol) -> String? {
    if case .varint(let offset) = guess.framing.hypothesis, offset == 0 || offset > 7 {
      return "frames begin with a length of seven bits a byte, which a profile cannot say yet"
    }
    if guess.kinds.isEmpty { return "no frame begins with a word that could be its type" }
    return nil
  }

  /// The page. `notes` are sentences for its head; `outcome` is what a first page gave.
  package static func text(
    _ guess: GuessedProtocol, name: String, ports: [UInt16], notes: [String], proof: Proof, outcome: Outcome?
  ) -> String {
    var skeleton = ProfileSkeleton(guess: guess, name: name, ports: ports, notes: notes, proof: proof)
    skeleton.write(outcome)
    return skeleton.out
  }

  private init(guess: GuessedProtocol, name: String, ports: [UInt16], notes: [String], proof: Proof) {
    self.proof = proof
    self.guess = guess
    self.name = name
    self.ports = ports
    self.notes = notes
  }

  // MARK: Words

  private mutating func line(_ text: String = "", _ comment: String? = nil) {
    out += text
    if let comment { out += (text.isEmpty ? "# " : " # ") + comment }
    out += "\n"
  }

  private static func number(_ value: Int) -> String {
    var digits = String(value)
    var parts: [Substring] = []
    while digits.count > 3 {
      parts.insert(digits.suffix(3), at: 0)
      digits = String(digits.dropLast(3))
    }
    return ([Substring(digits)] + parts).joined(separator: ",")
  }

  private static func share(_ agree: Int, _ of: Int, _ noun: String = "frames") -> String {
    "\(number(agree)) of \(number(of)) \(noun)"
  }

  private static func share(_ share: GuessedProtocol.Share) -> String { Self.share(share.agree, share.of) }

  private static func hex(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16, uppercase: true) }.joined()
  }

  private static func hex(_ value: UInt64, _ digits: Int) -> String {
    let text = String(value, radix: 16, uppercase: true)
    return "0x" + String(repeating: "0", count: max(0, digits - text.count)) + text
  }

  private static func place(_ place: NumberPlace, _ more: String = "") -> String {
    var text = "{ offset: \(place.offset), size: \(place.size)"
    if place.isLittleEndian { text += ", order: little" }
    if !place.isWhole { text += ", mask: \(hex(place.mask, place.size * 2))" }
    return text + more + " }"
  }

  // MARK: The page

  private mutating func write(_ outcome: Outcome?) {
    head(outcome)
    line("profile: \(name)")
    line("version: 1")
    line("title: A skeleton made from a capture")
    if !ports.isEmpty { line("ports: [\(ports.map(String.init).joined(separator: ", "))]", "a hint, no condition") }
    line()
    framing()
    if isLine {
      line("fields:")
      line("  type: { word: 1 }")
    } else {
      header()
      length()
      trailer()
      fields()
      checksum()
      sequence()
    }
    line()
    types()
    acknowledgment()
    line()
    line(
      "",
      "Not found out: names, what messages are for (role), statuses, TLV lists, times for answers. See imdump-profile(5)."
    )
  }

  private mutating func head(_ outcome: Outcome?) {
    line(
      "",
      "A skeleton that 'imdump profile new' made from a capture. A number behind a line is the share of frames that agree;"
    )
    line("", "what is not certain is a comment.")
    for note in notes { line("", note) }
    let framing = guess.framing
    line(
      "",
      "Framing: \(Self.number(framing.frameCount)) frames hold \(Self.number(framing.explainedCount)) of \(Self.number(framing.byteCount)) bytes that were looked at;"
    )
    line(
      "",
      "\(Self.number(framing.hits)) of \(Self.number(framing.chances)) segments begin where a frame does\(framing.errors > 0 ? "; at \(Self.number(framing.errors)) places none stood" : "")."
    )
    if let outcome {
      line(
        "",
        "Decoded with this page: \(Self.number(Int(clamping: outcome.frames))) frames on \(Self.number(Int(clamping: outcome.connections))) of \(Self.number(Int(clamping: outcome.allConnections))) connections; \(Self.number(Int(clamping: outcome.skippedBytes))) of \(Self.number(Int(clamping: outcome.bytes))) bytes"
      )
      line("", "stand in no frame.")
    }
  }

  private var isLine: Bool {
    if case .line = guess.framing.hypothesis { true } else { false }
  }

  private var isDelimited: Bool {
    if case .delimited = guess.framing.hypothesis { true } else { false }
  }

  private mutating func framing() {
    let found = guess.framing
    switch found.hypothesis {
    case .length, .varint: return
    case .line:
      line("framing: { kind: line }", "\(Self.number(found.frameCount)) lines")
      line()
    case .delimited(let delimiter):
      line("framing:", Self.share(found.hits, found.chances, "segments begin with it"))
      line("  kind: delimited")
      line("  delimiter: \(Self.hex([delimiter]))")
      switch guess.table.escape {
      case .mask(let mark, let mask)?:
        line("  escape: { byte: \(Self.hex([mark])), mask: \(Self.hex([mask])) }", escapes)
      case .replaces(let mark, let meanings)?:
        let pairs = meanings.sorted { $0.key < $1.key }.map { "\(Self.hex([$0.key])): \(Self.hex([$0.value]))" }
        line(
          "  escape: { byte: \(Self.hex([mark])), replaces: { \(pairs.joined(separator: ", ")) } }", escapes)
      case nil: line("", "No rule for escapes was found: a frame that holds the delimiter is cut in two.")
      }
      line()
    }
  }

  private var escapes: String {
    let all = guess.table.entries.count + guess.table.badEscapes
    return "undone in \(Self.share(guess.table.entries.count, all))"
  }

  private mutating func header() {
    line("header:")
    if guess.headerIsCertain {
      line("  length: \(guess.headerCount)")
    } else {
      line("  length: \(guess.headerCount)", "the end of the last field that was found; the header may be longer")
    }
    if let magic = guess.magic {
      line("  magic: { offset: \(magic.offset), bytes: \(Self.hex(magic.bytes)) }", Self.share(magic.share))
    }
    if let version = guess.version {
      line(
        "  version: { offset: \(version.offset), bytes: \(Self.hex(version.bytes)) }",
        "\(Self.share(version.share)); always the same, so perhaps a version")
    }
    line()
  }

  private var trailerCount: Int {
    guard let sum = guess.checksum, sum.place == .trailer, case .from = sum.range else { return 0 }
    return sum.algorithm.byteCount
  }

  /// Whether a trailer wants its `counted`, and what the length counts.
  private func counts(_ adds: Int) -> (text: String, counted: Bool?) {
    let trailer = trailerCount
    if adds == 0 { return ("frame", nil) }
    if adds == guess.headerCount + trailer { return ("body", nil) }
    if adds == guess.headerCount { return ("body", true) }
    return ("{ from: \(adds) }", nil)
  }

  private mutating func length() {
    let longest = guess.table.entries.map(\.range.count).max() ?? 0
    var maximum = 65_536
    while maximum < longest * 4 { maximum *= 2 }
    let limit = "maximum: \(maximum)"
    let share = Self.share(guess.framing.frameCount, guess.framing.frameCount + guess.framing.errors)
    switch guess.framing.hypothesis {
    case .length(let place, let adds):
      line(
        "length: " + Self.place(place, ", counts: \(counts(adds).text), \(limit)"),
        "\(share); the longest frame has \(Self.number(longest)) bytes")
      let others = guess.framing.equals.prefix(3).compactMap { other -> String? in
        guard case .length(let same, let adds) = other else { return nil }
        return "\(Self.place(same)) and \(adds)"
      }
      if !others.isEmpty { line("", "The same frames by: \(others.joined(separator: "; "))") }
      line()
    case .varint(let offset):
      line(
        "length: { offset: \(offset), encoding: varint, counts: body, \(limit) }",
        "\(share); the longest frame has \(Self.number(longest)) bytes")
      line()
    case .delimited:
      guard let inner = guess.innerLength else { return }
      let text = "length: " + Self.place(inner.place)
      if inner.share.agree == inner.share.of, inner.adds == guess.headerCount + trailerCount {
        line(text, Self.share(inner.share))
      } else {
        line("", "\(text), less than the content by \(inner.adds) in \(Self.share(inner.share))")
      }
      line()
    case .line: return
    }
  }

  private mutating func trailer() {
    guard trailerCount > 0 else { return }
    var counted = ""
    if case .length(_, let adds) = guess.framing.hypothesis, let value = counts(adds).counted {
      counted = ", counted: \(value)"
    }
    line("trailer: { length: \(trailerCount)\(counted) }")
    line()
  }

  private mutating func fields() {
    line("fields:")
    if let type = guess.type {
      line(
        "  type: " + Self.place(type.place),
        "\(Self.number(guess.kinds.count + guess.kindsLeftOut)) values, which tell most of what frames are like")
      if let second = type.second { line("  # or: " + Self.place(second.place), "the next best") }
    } else {
      line("  type: " + Self.place(placeholder.place), "no field tells frames apart: this one is always the same")
    }
    if let number = guess.number {
      let what =
        number.isCounter
        ? "goes up by 1 in \(Self.share(number.steps, number.new, "new numbers"))"
        : "\(Self.number(number.values)) different numbers"
      line(
        "  sequence: " + Self.place(number.place),
        "\(what); the other side repeats it in \(Self.share(number.echoes, number.count))")
    }
    for other in guess.otherNumbers {
      line(
        "  # sequence: " + Self.place(other.place),
        "also: goes up by 1 in \(Self.share(other.steps, other.new, "new numbers")), repeated in \(Self.share(other.echoes, other.count))"
      )
    }
    if let time = guess.time {
      let isWritten = !time.isMilliseconds
      line(
        "  \(isWritten ? "" : "# ")time: " + Self.place(time.place),
        "\(time.isMilliseconds ? "milliseconds" : "seconds"), a day from the capture's at most in \(Self.share(time.share))"
      )
    }
    if let sum = guess.checksum, case .header(let at) = sum.place, covers(sum) != nil {
      let isLittle = sum.big == 0 && sum.algorithm.byteCount > 1
      line(
        "  checksum: "
          + Self.place(NumberPlace(offset: at, size: sum.algorithm.byteCount, isLittleEndian: isLittle)))
    }
    if let session = guess.session {
      line(
        "  # session: " + Self.place(session.place),
        "one for each of \(Self.number(session.connections)) connections, \(Self.number(session.values)) different, in \(Self.share(session.share))"
      )
    }
    line()
  }

  /// What a sum covers, as a profile says it; `nil` where it cannot.
  private func covers(_ sum: FoundChecksum) -> String? {
    guard case .from(let from) = sum.range, from <= guess.headerCount else { return nil }
    return from == guess.headerCount ? "body" : from == 0 ? "frame" : "{ from: \(from) }"
  }

  private mutating func checksum() {
    guard let sum = guess.checksum else { return }
    let share = Self.share(sum.right, sum.count, "frames with something to sum")
    guard let covers = covers(sum) else {
      let range: String
      switch sum.range {
      case .from(let from): range = "from byte \(from) on"
      case .upTo(let from): range = "from byte \(from) up to itself"
      }
      let place: String
      switch sum.place {
      case .header(let at): place = "at byte \(at)"
      case .trailer: place = "at the end"
      }
      line("", "checksum: \(sum.algorithm.name) \(place), \(range), which a profile cannot say: \(share)")
      line()
      return
    }
    var text = "checksum: { algorithm: \(sum.algorithm.name), covers: \(covers)"
    if sum.place == .trailer {
      text += ", in: trailer"
      if sum.big == 0, sum.algorithm.byteCount > 1 { text += ", order: little" }
    }
    var comment = share
    if sum.big > 0, sum.little > 0 {
      text += ", order: either"
      comment += ", \(Self.number(sum.little)) of them with the bytes turned round"
    }
    line(text + " }", comment)
    line()
  }

  private mutating func sequence() {
    guard let number = guess.number else { return }
    var text = "sequence: { kind: \(number.isCounter ? "counter" : "identifier")"
    if let bits = guess.numberBits {
      text += ", bits: \(bits)"
    } else if number.place.size < 4 {
      text += ", bits: \(number.place.size * 8)"
    }
    line(text + " }", guess.numberBits == nil ? nil : "the upper byte goes to and fro: perhaps a category")
  }

  // MARK: Types

  /// What stands for a type where none was found: bits that are the same in all frames.
  private var placeholder: (place: NumberPlace, value: UInt64) {
    for column in 0..<guess.headerCount {
      let bytes = guess.table.entries.compactMap { entry in
        column < entry.range.count ? guess.table.bytes[entry.range.lowerBound + column] : nil
      }
      guard let first = bytes.first else { continue }
      let same = bytes.reduce(UInt8.max) { $0 & ~($1 ^ first) }
      if same == .max { return (NumberPlace(offset: column, size: 1), UInt64(first)) }
      if same & 0x80 != 0 { return (NumberPlace(offset: column, size: 1, mask: 0x80), UInt64(first & 0x80)) }
    }
    return (NumberPlace(offset: 0, size: 1), 0)
  }

  private func typeName(_ kind: GuessedProtocol.Kind) -> String {
    guard guess.type != nil || kind.word != nil else { return "frame" }
    guard let word = kind.word else { return "type_" + String(kind.value, radix: 16) }
    let letters = word.utf8.map { byte -> String in
      switch byte {
      case 0x61...0x7a, 0x30...0x39: String(UnicodeScalar(byte))
      case 0x41...0x5a: String(UnicodeScalar(byte + 32))
      default: "_"
      }
    }.joined()
    return letters == word.lowercased() ? "line_" + letters : "line_\(kind.value)"
  }

  /// Whether nothing but its types proves a frame, so that what they have in common has to.
  private var isWeak: Bool {
    guard !isLine, !isDelimited else { return false }
    let magic = [guess.magic, guess.version].compactMap { $0 }.flatMap(\.bytes).map { $0 == 0 ? 4 : 8 }.reduce(0, +)
    let sum = guess.checksum.map { covers($0) == nil ? 0 : $0.algorithm.byteCount * 8 } ?? 0
    return magic + sum < 16 && (guess.type?.place.mask.nonzeroBitCount ?? 0) < 16
  }

  private mutating func types() {
    line("types:", guess.kindsLeftOut > 0 ? "\(Self.number(guess.kindsLeftOut)) further values are left out" : nil)
    if guess.type == nil, !isLine {
      let digits = placeholder.value
      line("  \(Self.hex(digits, 2)): { name: frame, role: other, body: raw }")
      return
    }
    for kind in guess.kinds { type(kind) }
    if isWeak, proof != .none {
      line(
        "",
        "There is no magic number and no checksum: a flag and a length of a type are what proves a frame. Take out those that"
      )
      line("", "are the same here by chance.")
    }
  }

  /// The types that `kind` answers, where nearly all its frames answer one.
  private func answers(_ kind: GuessedProtocol.Kind) -> [GuessedProtocol.Kind] {
    guard kind.answering.agree * 10 >= kind.answering.of * 8, kind.answering.agree > 0, !isReceipt(kind) else {
      return []
    }
    return guess.kinds.filter { other in
      guard let count = kind.answers[other.value], other.value != kind.value else { return false }
      return count * 20 >= kind.answering.agree
    }
  }

  /// Whether it names messages of the other side, and is answered itself.
  private func isReceipt(_ kind: GuessedProtocol.Kind) -> Bool { kind.body != nil && kind.answered * 2 >= kind.total }

  /// Whether one side answers with frames of the same type.
  private func isEchoed(_ kind: GuessedProtocol.Kind) -> Bool {
    guard kind.answers[kind.value, default: 0] * 2 >= kind.answering.agree else { return false }
    return (0...1).contains { side in
      kind.counts[side] >= 2 && kind.answeringBySide[side] * 10 >= kind.counts[side] * 8
        && kind.answeringBySide[1 - side] * 10 <= kind.counts[1 - side] * 2
    }
  }

  /// Whether other types answer it.
  private func isAnswered(_ kind: GuessedProtocol.Kind) -> Bool {
    answers(kind).isEmpty
      && guess.kinds.contains { other in answers(other).contains { $0.value == kind.value } }
  }

  private mutating func type(_ kind: GuessedProtocol.Kind) {
    let key: String
    if let word = kind.word {
      let escaped = word.flatMap { $0 == "\\" || $0 == "\"" ? ["\\", $0] : [$0] }
      key = "\"\(String(escaped))\""
    } else {
      key = Self.hex(kind.value, (guess.type?.place.size ?? 1) * 2)
    }
    let answers = answers(kind).filter { self.answers($0).isEmpty }
    var text = "  \(key): { name: \(typeName(kind)), role: \(answers.isEmpty ? "other" : "acknowledgment")"
    if !answers.isEmpty { text += ", answers: [\(answers.map(typeName).joined(separator: ", "))]" }
    if isAnswered(kind) || isEchoed(kind) { text += ", answered: true" }
    if isEchoed(kind) { text += ", echo: true" }
    if guess.number != nil, answers.isEmpty || kind.body != nil { text += ", numbered: true" }
    let isSure = kind.total >= (proof == .single ? 1 : 3)
    if isWeak, isSure {
      if proof.rawValue >= Proof.flags.rawValue, kind.hasFlags, let type = guess.type {
        text += ", flags: { mask: \(Self.hex(~type.place.mask & 0xff, 2)), value: \(Self.hex(UInt64(kind.flags), 2)) }"
      }
      if proof.rawValue >= Proof.lengths.rawValue, kind.shortest == kind.longest, let body = bodyCount(kind.longest) {
        text += ", length: \(body)"
      }
    }
    var steps = "raw"
    if let number = kind.body, !answers.isEmpty, ackLength == nil {
      let skip = number.offset > 0 ? "{ skip: \(number.offset) }, " : ""
      let order = number.isLittleEndian ? ", order: little" : ""
      steps = "[\(skip){ load: { size: \(number.size), into: answered\(order) } }]"
    }
    if !isLine { text += ", body: \(steps)" }
    text += " }"
    let span =
      kind.shortest == kind.longest
      ? "\(Self.number(kind.longest))" : "\(Self.number(kind.shortest)) to \(Self.number(kind.longest))"
    var comment = "\(Self.number(kind.counts[0])) c2s, \(Self.number(kind.counts[1])) s2c, of \(span) bytes"
    if isReceipt(kind), let place = kind.body {
      comment += "; byte \(place.offset) of its body names a message of the other side: perhaps a receipt"
    }
    if !answers.isEmpty { comment += "; answers in \(Self.share(kind.answering))" }
    line(text, comment)
  }

  /// The body's length in a frame of `count` bytes; with a varint it is known only where the length has one byte.
  private func bodyCount(_ count: Int) -> Int? {
    if case .varint = guess.framing.hypothesis, count >= 128 { return nil }
    let body = count - guess.headerCount - trailerCount
    return body >= 0 ? body : nil
  }

  /// The body's length of answers that have the number in their body, where others of their type have none.
  private var ackLength: (count: Int, place: NumberPlace)? {
    for kind in guess.kinds {
      guard let number = kind.body, !answers(kind).isEmpty,
        kind.shortest < guess.headerCount + trailerCount + number.end
      else { continue }
      let count = kind.longest - guess.headerCount - trailerCount
      if (number.end...256).contains(count) { return (count, number) }
    }
    return nil
  }

  private mutating func acknowledgment() {
    guard let (count, place) = ackLength else { return }
    let order = place.isLittleEndian ? ", order: little" : ""
    line()
    line("", "An answer with a body of this length names its message there; another one by its own number.")
    line(
      "acknowledgment: { body: { length: \(count), offset: \(place.offset), size: \(place.size)\(order) } }")
  }
}
