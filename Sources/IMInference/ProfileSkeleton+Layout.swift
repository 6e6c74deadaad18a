import IMEngine

/// How frames are laid out: framing, header, length, fields, checksum.
extension ProfileSkeleton {
  var isLine: Bool {
    if case .line = guess.framing.hypothesis { true } else { false }
  }

  var isDelimited: Bool {
    if case .delimited = guess.framing.hypothesis { true } else { false }
  }

  mutating func framing() {
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
      case nil: line("", "No rule for escapes was found: a frame that contains the delimiter is split in two.")
      }
      line()
    }
  }

  var escapes: String {
    let all = guess.table.entries.count + guess.table.badEscapes
    return "undone in \(Self.share(guess.table.entries.count, all))"
  }

  mutating func header() {
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

  var trailerCount: Int {
    guard let sum = guess.checksum, sum.place == .trailer, case .from = sum.range else { return 0 }
    return sum.algorithm.byteCount
  }

  /// Whether a trailer wants its `counted`, and what the length counts.
  func counts(_ adds: Int) -> (text: String, counted: Bool?) {
    let trailer = trailerCount
    if adds == 0 { return ("frame", nil) }
    if adds == guess.headerCount + trailer { return ("body", nil) }
    if adds == guess.headerCount { return ("body", true) }
    return ("{ from: \(adds) }", nil)
  }

  mutating func length() {
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

  mutating func trailer() {
    guard trailerCount > 0 else { return }
    var counted = ""
    if case .length(_, let adds) = guess.framing.hypothesis, let value = counts(adds).counted {
      counted = ", counted: \(value)"
    }
    line("trailer: { length: \(trailerCount)\(counted) }")
    line()
  }

  mutating func fields() {
    line("fields:")
    if let type = guess.type {
      line(
        "  type: " + Self.place(type.place),
        "\(Self.number(guess.kinds.count + guess.kindsLeftOut)) values, which predict most of the structure of frames")
      if let second = type.second { line("  # or: " + Self.place(second.place), "the next best") }
    } else {
      line("  type: " + Self.place(sameBits.place), "no field distinguishes frames: this one is always the same")
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
        "\(time.isMilliseconds ? "milliseconds" : "seconds"), within a day of the capture's time in \(Self.share(time.share))"
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
  func covers(_ sum: FoundChecksum) -> String? {
    guard case .from(let from) = sum.range, from <= guess.headerCount else { return nil }
    return from == guess.headerCount ? "body" : from == 0 ? "frame" : "{ from: \(from) }"
  }

  mutating func checksum() {
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
      line("", "checksum: \(sum.algorithm.name) \(place), \(range), which a profile cannot express: \(share)")
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
      comment += ", \(Self.number(sum.little)) of them in the reverse byte order"
    }
    line(text + " }", comment)
    line()
  }

  mutating func sequence() {
    guard let number = guess.number else { return }
    var text = "sequence: { kind: \(number.isCounter ? "counter" : "identifier")"
    if let bits = guess.numberBits {
      text += ", bits: \(bits)"
    } else if number.place.size < 4 {
      text += ", bits: \(number.place.size * 8)"
    }
    line(text + " }", guess.numberBits == nil ? nil : "the upper byte goes up and down: perhaps a category")
  }
}
