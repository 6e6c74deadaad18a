import IMEngine

/// The types of frames, which of them answer which, and the words of lines.
extension GuessedProtocol {
  func kindValue(_ entry: FrameTable.Entry, _ bytes: UnsafeBufferPointer<UInt8>) -> UInt64? {
    guard let type else { return 0 }
    return type.place.read(bytes, entry.range.lowerBound, entry.range.upperBound)
  }

  mutating func findKinds() {
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

  mutating func keep(_ known: [UInt64: Kind]) {
    let ranked = known.values.sorted { (-$0.total, $0.value) < (-$1.total, $1.value) }
    kinds = ranked.prefix(63).sorted { $0.value < $1.value }
    kindsLeftOut = max(0, ranked.count - 63)
  }

  /// Which types repeat the numbers of which, in the header or in their bodies.
  mutating func findAnswers() {
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

  /// The first word of a line; `nil` if it cannot be a type.
  static func word(_ bytes: UnsafeBufferPointer<UInt8>, _ entry: FrameTable.Entry) -> String? {
    let line = UnsafeBufferPointer(rebasing: bytes[entry.range])
    let word = line.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x20 && $0 != 0x09 }
    guard (1...32).contains(word.count), word.allSatisfy({ (0x21...0x7e).contains($0) }) else { return nil }
    return String(decoding: word, as: UTF8.self)
  }

  /// The types of lines: their first words.
  mutating func findWords() {
    var known: [String: Kind] = [:]
    for entry in table.entries {
      guard let text = table.bytes.withUnsafeBufferPointer({ Self.word($0, entry) }) else { continue }
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
