import IMEngine

/// What a capture tells of a protocol that nobody has described: each finding with the frames that agree.
package struct GuessedProtocol: Sendable {
  /// A share of frames.
  package struct Share: Equatable, Sendable {
    /// Frames that agree, and all that were asked.
    package var agree: Int, of: Int
  }

  /// A constant at the beginning of frames.
  package struct Constant: Equatable, Sendable {
    /// Its first byte, from the frame's first.
    package var offset: Int
    /// Its bytes.
    package var bytes: [UInt8]
    /// Frames that have it.
    package var share: Share
  }

  /// A length inside of delimited frames.
  package struct InnerLength: Equatable, Sendable {
    /// Where it stands; what is added to it gives the length of the content.
    package var place: NumberPlace
    /// What is added.
    package var adds: Int
    /// Frames for which that holds.
    package var share: Share
  }

  /// A type of frames.
  package struct Kind: Equatable, Sendable {
    /// Its value, or the word that begins its lines.
    package var value: UInt64
    package var word: String?
    /// Frames of clients and of servers.
    package var counts: [Int] = [0, 0]
    /// The shortest and the longest frame.
    package var shortest = Int.max, longest = 0
    /// Bits of the first byte that all its frames have, which are not part of the type.
    package var flags: UInt8 = 0
    /// Whether `flags` was the same in all frames.
    package var hasFlags = true
    /// The types whose numbers it repeats, by value, with the frames that repeat one.
    package var answers: [UInt64: Int] = [:]
    /// Where a number stands that names the message, from the body's first byte; `nil` where the header's does.
    package var body: NumberPlace?
    /// Frames that answer, of all its frames.
    package var answering = Share(agree: 0, of: 0)
    /// Frames of clients and of servers that answer.
    package var answeringBySide = [0, 0]
    /// Frames of it that are answered.
    package var answered = 0

    /// All its frames.
    package var total: Int { counts[0] + counts[1] }
  }

  /// How frames end.
  package var framing: FoundFraming
  /// The frames.
  package var table: FrameTable
  /// The header's length: the end of the last field that was found, where nothing else tells.
  package var headerCount = 0
  /// Whether the length, the body's checksum, or nothing but the fields tell the header's length.
  package var headerIsCertain = false
  /// The magic number, and the version.
  package var magic: Constant?, version: Constant?
  /// A length in delimited frames.
  package var innerLength: InnerLength?
  /// The field that tells types; without one, `kinds` has one entry.
  package var type: FoundType?
  /// The types, at most 63, by value.
  package var kinds: [Kind] = []
  /// Types beyond those in `kinds`.
  package var kindsLeftOut = 0
  /// The number of messages.
  package var number: FoundNumber?
  /// Other fields that behave like one.
  package var otherNumbers: [FoundNumber] = []
  /// Bits of the number that count, where those above are a category.
  package var numberBits: Int?
  /// The checksum.
  package var checksum: FoundChecksum?
  /// The sender's clock, in seconds, or in milliseconds.
  package var time: (place: NumberPlace, isMilliseconds: Bool, share: Share)?
  /// What is the same in all frames of a connection and differs between connections.
  package var session: (place: NumberPlace, values: Int, connections: Int, share: Share)?
}

extension GuessedProtocol {
  /// Guesses the protocol of `samples`; `nil` where no framing is proved. `seconds` is when the capture was made, in seconds
  /// since 1970.
  package init?(_ samples: [StreamSample], seconds: ClosedRange<Int64>) {
    guard let framing = FramingFinder.find(samples) else { return nil }
    self.framing = framing
    table = FrameTable(samples, framing.hypothesis)
    guard table.entries.count >= 4 else { return nil }
    if case .line = framing.hypothesis {
      findWords()
      return
    }
    var claimed: Set<Int> = []
    var width = min(40, table.leastCount)
    var littleEndian = false
    switch framing.hypothesis {
    case .length(let place, let adds):
      claimed.formUnion(place.offset..<place.end)
      littleEndian = place.isLittleEndian
      if adds > place.end { width = min(width, adds) }
    case .varint(let offset):
      claimed.insert(offset)
      width = min(width, offset)
    case .delimited:
      innerLength = findInnerLength(width)
      if let inner = innerLength { claimed.formUnion(inner.place.offset..<inner.place.end) }
    case .line: break
    }
    checksum = ChecksumFinder(table, claimed: claimed, width: width).find()
    if let sum = checksum {
      switch sum.place {
      case .header(let at): claimed.formUnion(at..<at + sum.algorithm.byteCount)
      case .trailer: width = min(width, table.leastCount - sum.algorithm.byteCount)
      }
    }
    time = findTime(claimed, width, seconds)
    if let time { claimed.formUnion(time.place.offset..<time.place.end) }
    let numbers = NumberFinder(table, claimed: claimed, width: width, prefersLittle: littleEndian).find()
    number = numbers.first
    if let number { claimed.formUnion(number.place.offset..<number.place.end) }
    type = TypeFinder(table, claimed: claimed, width: min(width, 24), prefersLittle: littleEndian).find()
    if let type { claimed.formUnion(type.place.offset..<type.place.end) }
    otherNumbers = numbers.dropFirst().filter { number in
      !(number.place.offset..<number.place.end).contains(where: claimed.contains)
    }
    for other in otherNumbers { claimed.formUnion(other.place.offset..<other.place.end) }
    findConstants(claimed, width)
    for constant in [magic, version].compactMap({ $0 }) {
      claimed.formUnion(constant.offset..<constant.offset + constant.bytes.count)
    }
    session = findSession(claimed, width)
    if let session { claimed.formUnion(session.place.offset..<session.place.end) }
    numberBits = findNumberBits()
    settleHeader(claimed)
    findKinds()
    findAnswers()
  }

  // MARK: Fields

  /// A number in delimited frames that, with something added, is their length.
  private func findInnerLength(_ width: Int) -> InnerLength? {
    var best: InnerLength?
    for offset in 0..<max(0, min(16, width - 1)) {
      for mask: UInt64 in [0xffff, 0x3ff, 0xff] {
        let place = NumberPlace(offset: offset, size: mask == 0xff ? 1 : 2, mask: mask)
        var votes: [Int: Int] = [:]
        var values: Set<UInt64> = []
        table.bytes.withUnsafeBufferPointer { bytes in
          for entry in table.entries.prefix(4_096) {
            guard let value = place.read(bytes, entry.range.lowerBound, entry.range.upperBound),
              value <= UInt64(entry.range.count)
            else { continue }
            values.insert(value)
            votes[entry.range.count - Int(value), default: 0] += 1
          }
        }
        guard values.count >= 3, let top = votes.max(by: { ($0.value, -$0.key) < ($1.value, -$1.key) }) else {
          continue
        }
        let count = min(4_096, table.entries.count)
        guard top.value * 2 >= count, top.key >= place.end else { continue }
        if let known = best, known.share.agree >= top.value { continue }
        best = InnerLength(place: place, adds: top.key, share: Share(agree: top.value, of: count))
      }
    }
    return best
  }

  /// A clock: a number near the capture's time, in seconds or milliseconds.
  private func findTime(_ claimed: Set<Int>, _ width: Int, _ seconds: ClosedRange<Int64>) -> (NumberPlace, Bool, Share)?
  {
    let day: Int64 = 86_400
    guard seconds.lowerBound > 100 * day, seconds.upperBound < 1 << 40 else { return nil }
    let window = UInt64(seconds.lowerBound - day)...UInt64(seconds.upperBound + day)
    for (size, scale) in [(4, UInt64(1)), (8, 1), (8, 1_000)] {
      for offset in 0..<max(0, width) where offset + size <= width {
        guard !(offset..<offset + size).contains(where: claimed.contains) else { continue }
        for little in [false, true] {
          let place = NumberPlace(offset: offset, size: size, isLittleEndian: little)
          var agree = 0
          table.bytes.withUnsafeBufferPointer { bytes in
            for entry in table.entries {
              guard let value = place.read(bytes, entry.range.lowerBound, entry.range.upperBound) else { continue }
              if window.contains(value / scale) { agree += 1 }
            }
          }
          if agree * 10 >= table.entries.count * 9 {
            return (place, scale > 1, Share(agree: agree, of: table.entries.count))
          }
        }
      }
    }
    return nil
  }

  /// What all frames have among their first eight bytes: a magic number, and a version behind it.
  private mutating func findConstants(_ claimed: Set<Int>, _ width: Int) {
    guard table.entries.count >= 8 else { return }
    var runs: [[(offset: Int, byte: UInt8)]] = [[]]
    for column in 0..<min(8, width) {
      if !claimed.contains(column), let byte = table.constant(at: column) {
        runs[runs.count - 1].append((column, byte))
      } else if !runs[runs.count - 1].isEmpty {
        runs.append([])
      }
    }
    func constant(_ run: ArraySlice<(offset: Int, byte: UInt8)>) -> Constant? {
      guard let first = run.first, run.contains(where: { $0.byte != 0 }) else { return nil }
      let bytes = run.map(\.byte)
      let agree = table.entries.count { entry in
        entry.range.count >= first.offset + bytes.count
          && Array(
            table.bytes[entry.range.lowerBound + first.offset..<entry.range.lowerBound + first.offset + bytes.count])
            == bytes
      }
      return Constant(offset: first.offset, bytes: bytes, share: Share(agree: agree, of: table.entries.count))
    }
    let telling = runs.filter { $0.contains { $0.byte != 0 } }
    guard let longest = telling.max(by: { $0.count < $1.count }) else { return }
    // A magic number is made to be told from other numbers; a version is small.
    let large = longest.prefix { $0.byte >= 0x10 }
    if large.count >= 1 {
      magic = constant(large)
      version = constant(longest.dropFirst(large.count))
    } else if longest.count >= 3 {
      magic = constant(longest[...])
    } else {
      version = constant(longest[...])
    }
    if magic == nil || version == nil,
      let other = telling.first(where: { $0.first?.offset != longest.first?.offset })
    {
      if version == nil { version = constant(other[...]) } else { magic = constant(other[...]) }
    }
  }

  /// A number that each connection has for itself, in both directions.
  private func findSession(_ claimed: Set<Int>, _ width: Int) -> (NumberPlace, Int, Int, Share)? {
    for size in [8, 4, 2] {
      for offset in stride(from: 0, through: width - size, by: 2) {
        guard !(offset..<offset + size).contains(where: claimed.contains) else { continue }
        let place = NumberPlace(offset: offset, size: size)
        var counts: [Int: [UInt64: Int]] = [:]
        table.bytes.withUnsafeBufferPointer { bytes in
          for entry in table.entries {
            guard let value = place.read(bytes, entry.range.lowerBound, entry.range.upperBound) else { continue }
            counts[entry.connection, default: [:]][value, default: 0] += 1
          }
        }
        guard counts.count >= 2 else { continue }
        var usual: Set<UInt64> = []
        var agree = 0
        for values in counts.values {
          guard let top = values.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }) else { continue }
          usual.insert(top.key)
          agree += top.value
        }
        guard usual.count >= 2, usual.count * 2 >= counts.count, agree * 10 >= table.entries.count * 9 else { continue }
        return (place, usual.count, counts.count, Share(agree: agree, of: table.entries.count))
      }
    }
    return nil
  }

  /// 24, where the upper byte of a number of four has a few values between which a side goes to and fro.
  private func findNumberBits() -> Int? {
    guard let number, number.isCounter, number.place.size == 4, !number.place.isLittleEndian else { return nil }
    var last: [Int: UInt8] = [:]
    var changes = 0
    var values: Set<UInt8> = []
    for entry in table.entries where number.place.end <= entry.range.count {
      let byte = table.bytes[entry.range.lowerBound + number.place.offset]
      let side = entry.connection * 2 + entry.direction
      if let known = last[side], known != byte { changes += 1 }
      last[side] = byte
      values.insert(byte)
    }
    return changes >= 4 && (2...16).contains(values.count) ? 24 : nil
  }

  /// The header's length.
  private mutating func settleHeader(_ claimed: Set<Int>) {
    let end = (claimed.max() ?? 0) + 1
    headerCount = end
    switch framing.hypothesis {
    case .length(let place, let adds):
      if adds > place.end {
        headerCount = adds
        headerIsCertain = true
        if let sum = checksum, sum.place == .trailer {
          headerCount = max(end, adds - sum.algorithm.byteCount)
        }
        return
      }
      headerCount = max(end, place.end)
    case .varint(let offset):
      headerCount = offset + 1
      headerIsCertain = true
      return
    case .delimited, .line: break
    }
    if let sum = checksum, case .from(let from) = sum.range, from >= headerCount, from <= table.leastCount {
      headerCount = from
      headerIsCertain = true
    }
  }

  // MARK: Types and answers

  private func kindValue(_ entry: FrameTable.Entry, _ bytes: UnsafeBufferPointer<UInt8>) -> UInt64? {
    guard let type else { return 0 }
    return type.place.read(bytes, entry.range.lowerBound, entry.range.upperBound)
  }

  private mutating func findKinds() {
    var known: [UInt64: Kind] = [:]
    let flagMask: UInt8
    if let type, type.place.offset == 0, type.place.size == 1 {
      flagMask = ~UInt8(truncatingIfNeeded: type.place.mask)
    } else {
      flagMask = 0
    }
    table.bytes.withUnsafeBufferPointer { bytes in
      for entry in table.entries {
        guard let value = kindValue(entry, bytes) else { continue }
        var kind = known[value] ?? Kind(value: value)
        kind.counts[entry.direction & 1] += 1
        kind.shortest = min(kind.shortest, entry.range.count)
        kind.longest = max(kind.longest, entry.range.count)
        if flagMask != 0, !entry.range.isEmpty {
          let flags = bytes[entry.range.lowerBound] & flagMask
          if kind.total == 1 { kind.flags = flags } else if kind.flags != flags { kind.hasFlags = false }
        }
        if flagMask == 0 { kind.hasFlags = false }
        known[value] = kind
      }
    }
    keep(known)
  }

  private mutating func keep(_ known: [UInt64: Kind]) {
    let ranked = known.values.sorted { (-$0.total, $0.value) < (-$1.total, $1.value) }
    kinds = ranked.prefix(63).sorted { $0.value < $1.value }
    kindsLeftOut = max(0, ranked.count - 63)
  }

  /// Which types repeat the numbers of which, in the header or in their bodies.
  private mutating func findAnswers() {
    guard let number else { return }
    var index: [UInt64: Int] = [:]
    for (i, kind) in kinds.enumerated() { index[kind.value] = i }
    /// By connection and sender: the type of the frame that had a number first.
    var senders: [Int: [UInt64: UInt64]] = [:]
    /// The same, of frames that nothing has answered.
    var open: [Int: [UInt64: UInt64]] = [:]
    var own: [Int: Set<UInt64>] = [:]
    var asking: [Int: [(kind: UInt64, offset: Int, target: UInt64)]] = [:]
    var found = kinds
    let table = table
    let header = headerCount
    table.bytes.withUnsafeBufferPointer { bytes in
      for entry in table.entries {
        guard let value = kindValue(entry, bytes), let i = index[value],
          let sequence = number.place.read(bytes, entry.range.lowerBound, entry.range.upperBound)
        else { continue }
        let side = entry.connection * 2 + (entry.direction & 1)
        let peer = entry.connection * 2 + (1 - entry.direction & 1)
        found[i].answering.of += 1
        let isOwn = own[side]?.contains(sequence) == true
        if let target = open[peer]?[sequence] ?? (isOwn ? nil : senders[peer]?[sequence]) {
          open[peer]?[sequence] = nil
          found[i].answering.agree += 1
          found[i].answeringBySide[entry.direction & 1] += 1
          found[i].answers[target, default: 0] += 1
          if let j = index[target] { found[j].answered += 1 }
        } else {
          // Its own number; its body may name another's.
          senders[side, default: [:]][sequence] = senders[side]?[sequence] ?? value
          open[side, default: [:]][sequence] = value
          own[side, default: []].insert(sequence)
          let size = number.place.size
          var offset = header
          while offset <= header + 8, offset + size <= entry.range.count {
            let place = NumberPlace(offset: offset, size: size, isLittleEndian: number.place.isLittleEndian)
            if let named = place.read(bytes, entry.range.lowerBound, entry.range.upperBound), named != 0,
              let target = senders[peer]?[named]
            {
              asking[i, default: []].append((value, offset - header, target))
            }
            offset += 1
          }
        }
      }
    }
    for i in found.indices {
      let own = found[i].answering.of - found[i].answering.agree
      guard let named = asking[i], own >= 3, found[i].answering.agree * 4 < found[i].answering.of * 3 || own >= 8 else {
        continue
      }
      var votes: [Int: Int] = [:]
      for one in named { votes[one.offset, default: 0] += 1 }
      guard let top = votes.max(by: { ($0.value, -$0.key) < ($1.value, -$1.key) }), top.value * 10 >= own * 9 else {
        continue
      }
      found[i].body = NumberPlace(
        offset: top.key, size: number.place.size, isLittleEndian: number.place.isLittleEndian)
      for one in named where one.offset == top.key {
        found[i].answers[one.target, default: 0] += 1
        found[i].answering.agree += 1
        if let j = index[one.target] { found[j].answered += 1 }
      }
    }
    kinds = found
  }

  // MARK: Lines

  /// The types of lines: their first words.
  private mutating func findWords() {
    var known: [String: Kind] = [:]
    for entry in table.entries {
      let line = table.bytes[entry.range]
      let word = line.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x20 && $0 != 0x09 }
      guard (1...32).contains(word.count), word.allSatisfy({ (0x21...0x7e).contains($0) }) else { continue }
      let text = String(decoding: word, as: UTF8.self)
      guard known.count < 4_096 || known[text] != nil else { continue }
      var kind = known[text] ?? Kind(value: UInt64(known.count), word: text)
      kind.counts[entry.direction & 1] += 1
      kind.shortest = min(kind.shortest, entry.range.count)
      kind.longest = max(kind.longest, entry.range.count)
      known[text] = kind
    }
    let ranked = known.values.sorted { (-$0.total, $0.word ?? "") < (-$1.total, $1.word ?? "") }
    kinds = ranked.prefix(63).sorted { ($0.word ?? "") < ($1.word ?? "") }
    kindsLeftOut = max(0, ranked.count - 63)
  }
}
