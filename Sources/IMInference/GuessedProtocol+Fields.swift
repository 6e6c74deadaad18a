import IMEngine

/// What stands at fixed places of frames: constants, clocks, sessions, a length within delimiters.
extension GuessedProtocol {
  /// A number in delimited frames that, with something added, is their length.
  func findInnerLength(_ width: Int) -> InnerLength? {
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
  func findTime(_ claimed: Set<Int>, _ width: Int, _ seconds: ClosedRange<Int64>) -> (NumberPlace, Bool, Share)? {
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
  mutating func findConstants(_ claimed: Set<Int>, _ width: Int) {
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
  func findSession(_ claimed: Set<Int>, _ width: Int) -> (NumberPlace, Int, Int, Share)? {
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
  func findNumberBits() -> Int? {
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
  mutating func settleHeader(_ claimed: Set<Int>) {
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
}
