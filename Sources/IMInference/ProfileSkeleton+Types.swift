import IMEngine

/// The types of frames, and which answers which.
extension ProfileSkeleton {
  /// Bits that are the same in all frames: what stands as the type where none was found.
  var sameBits: (place: NumberPlace, value: UInt64) {
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

  func typeName(_ kind: GuessedProtocol.Kind) -> String {
    guard guess.type != nil || kind.word != nil else { return "frame" }
    guard kind.word != nil else { return "type_" + String(kind.value, radix: 16) }
    let name = lineName(kind)
    // Words that differ only in case, or a word that equals the number of another one, would share a name.
    let isShared = guess.kinds.contains { $0.value != kind.value && lineName($0) == name }
    return isShared ? "word_\(kind.value)" : name
  }

  /// The name of lines that begin with a word: the word itself, if it consists of letters and digits.
  private func lineName(_ kind: GuessedProtocol.Kind) -> String {
    let word = kind.word ?? ""
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
  var isWeak: Bool {
    guard !isLine, !isDelimited else { return false }
    var magic = 0
    for constant in [guess.magic, guess.version].compactMap({ $0 }) {
      for byte in constant.bytes { magic += byte == 0 ? 4 : 8 }
    }
    let sum = guess.checksum.map { covers($0) == nil ? 0 : $0.algorithm.byteCount * 8 } ?? 0
    return magic + sum < 16 && (guess.type?.place.mask.nonzeroBitCount ?? 0) < 16
  }

  mutating func types() {
    line("types:", guess.kindsLeftOut > 0 ? "\(Self.number(guess.kindsLeftOut)) further values are left out" : nil)
    if guess.type == nil, !isLine {
      let digits = sameBits.value
      line("  \(Self.hex(digits, 2)): { name: frame, role: other, body: raw }")
      return
    }
    for kind in guess.kinds { type(kind) }
    if isWeak, proof != .none {
      line(
        "",
        "There is no magic number and no checksum: flags and lengths of types identify a frame. Remove those that"
      )
      line("", "are the same here by chance.")
    }
  }

  /// The types that `kind` answers, where nearly all its frames answer one.
  func answers(_ kind: GuessedProtocol.Kind) -> [GuessedProtocol.Kind] {
    guard kind.answering.agree * 10 >= kind.answering.of * 8, kind.answering.agree > 0, !isReceipt(kind) else {
      return []
    }
    return guess.kinds.filter { other in
      guard let count = kind.answers[other.value], other.value != kind.value else { return false }
      return count * 20 >= kind.answering.agree
    }
  }

  /// Whether it names messages of the other side, and is answered itself.
  func isReceipt(_ kind: GuessedProtocol.Kind) -> Bool { kind.body != nil && kind.answered * 2 >= kind.total }

  /// Whether one side answers with frames of the same type.
  func isEchoed(_ kind: GuessedProtocol.Kind) -> Bool {
    guard kind.answers[kind.value, default: 0] * 2 >= kind.answering.agree else { return false }
    return (0...1).contains { side in
      kind.counts[side] >= 2 && kind.answeringBySide[side] * 10 >= kind.counts[side] * 8
        && kind.answeringBySide[1 - side] * 10 <= kind.counts[1 - side] * 2
    }
  }

  /// Whether other types answer it.
  func isAnswered(_ kind: GuessedProtocol.Kind) -> Bool {
    answers(kind).isEmpty
      && guess.kinds.contains { other in answers(other).contains { $0.value == kind.value } }
  }

  mutating func type(_ kind: GuessedProtocol.Kind) {
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
      comment += "; byte \(place.offset) of its body refers to a message of the other side: perhaps a receipt"
    }
    if !answers.isEmpty { comment += "; answers in \(Self.share(kind.answering))" }
    line(text, comment)
  }

  /// The body's length in a frame of `count` bytes; with a varint it is known only where the length has one byte.
  func bodyCount(_ count: Int) -> Int? {
    if case .varint = guess.framing.hypothesis, count >= 128 { return nil }
    let body = count - guess.headerCount - trailerCount
    return body >= 0 ? body : nil
  }

  /// The body's length of answers that have the number in their body, where others of their type have none.
  var ackLength: (count: Int, place: NumberPlace)? {
    for kind in guess.kinds {
      guard let number = kind.body, !answers(kind).isEmpty,
        kind.shortest < guess.headerCount + trailerCount + number.end
      else { continue }
      let count = kind.longest - guess.headerCount - trailerCount
      if (number.end...256).contains(count) { return (count, number) }
    }
    return nil
  }

  mutating func acknowledgment() {
    guard let (count, place) = ackLength else { return }
    let order = place.isLittleEndian ? ", order: little" : ""
    line()
    line("", "An answer with a body of this length names its message there; any other by its own number.")
    line(
      "acknowledgment: { body: { length: \(count), offset: \(place.offset), size: \(place.size)\(order) } }")
  }
}
