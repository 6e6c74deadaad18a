import CCrypto
package import IMWire

/// The way back after bytes that are missing: rules 1 and 2.
extension TLSConnection {
  /// Bytes of `direction` will not come: `byteCount` of them, or an unknown number, after `held`, which is what the caller holds and has
  /// not consumed. `held` is consumed. A hole within a record whose header is in `held` leaves the boundary known.
  @discardableResult
  package func lose(
    byteCount: UInt64?, after held: UnsafeRawBufferPointer, direction: Int, time: Timestamp, in context: TLSContext
  ) -> TLSLoss {
    let side = sides + (direction & 1)
    side.pointee.isUndecided = false
    if side.pointee.skip > 0 {
      let rest = UInt64(side.pointee.skip) - min(UInt64(side.pointee.skip), UInt64(held.count))
      side.pointee.skip = 0
      return lose(byteCount, record: rest, side, context)
    }
    if side.pointee.isLost {
      side.pointee.addGap(UInt64(held.count))
      return search(after: byteCount, side, context)
    }
    var at = 0
    // Whole records that the caller does not want to hold.
    while held.count - at >= TLSRecord.headerCount, isHeader(held, at) {
      let (type, count) = TLSRecord.header(held, at)
      let end = at + TLSRecord.headerCount + count
      if type == 22 {
        takeCut(UnsafeRawBufferPointer(rebasing: held[at..<min(end, held.count)]), direction, time, context)
      }
      missed(type, count, side)
      if end > held.count { return lose(byteCount, record: UInt64(end - held.count), side, context) }
      at = end
    }
    side.pointee.addGap(UInt64(held.count - at))
    return search(after: byteCount, side, context)
  }

  /// A record that is not read, though its header is known.
  private func missed(_ type: UInt8, _ count: Int, _ side: UnsafeMutablePointer<TLSSide>) {
    side.pointee.forgetHandshake()
    side.pointee.hasMissed = true
    if let keys = side.pointee.keys {
      if !keys.isTLS13 || type == 23 { side.pointee.sequence &+= 1 }
      // What it told is not known: a KeyUpdate or the handshake's end may be in it.
    } else if type == 20, count == 1 {
      side.pointee.hasChangedCipher = true
    } else if type == 23 || side.pointee.hasChangedCipher || side.pointee.epoch != .none {
      side.pointee.addGap(UInt64(TLSRecord.headerCount + count))
    }
  }

  /// A gap after which a record has `rest` bytes left.
  private func lose(
    _ byteCount: UInt64?, record rest: UInt64, _ side: UnsafeMutablePointer<TLSSide>, _ context: TLSContext
  ) -> TLSLoss {
    guard let byteCount, byteCount <= rest else { return search(after: byteCount.map { $0 - rest }, side, context) }
    side.pointee.skip = UInt32(truncatingIfNeeded: rest - byteCount)
    return .isInsideRecord
  }

  /// A gap whose records are not known.
  private func search(
    after byteCount: UInt64?, _ side: UnsafeMutablePointer<TLSSide>, _ context: TLSContext
  ) -> TLSLoss {
    side.pointee.addGap(byteCount ?? .max)
    side.pointee.forgetHandshake()
    side.pointee.isLost = true
    side.pointee.hasMissed = true
    // Gaps that nothing was found after bring less and less.
    side.pointee.credit = max(side.pointee.credit, TLSSide.creditOfGap >> Int32(min(side.pointee.vainGaps, 6)))
    side.pointee.vainGaps = min(side.pointee.vainGaps, 254) + 1
    if side.pointee.vainGaps == 1 { side.pointee.tries = 0 }
    context.counters.gaps += 1
    return .isSearching
  }

  /// Looks for the next record: one that a key opens, or without keys two headers in a row.
  func search(
    _ bytes: UnsafeRawBufferPointer, _ direction: Int, _ time: Timestamp, _ isEnd: Bool, _ context: TLSContext
  ) -> TLSStep {
    let side = sides + (direction & 1)
    var at = 0
    while at + TLSRecord.headerCount <= bytes.count {
      guard bytes[at] >= 20, bytes[at] <= 24, TLSRecord.isPossible(bytes, at), mayBegin(bytes, at, side) else {
        at += 1
        continue
      }
      let end = at + TLSRecord.headerCount + TLSRecord.header(bytes, at).count
      guard end <= bytes.count else {
        if bytes[at] == 22 { peek(UnsafeRawBufferPointer(rebasing: bytes[at...]), direction, time, context) }
        if isEnd {
          at += 1
          continue
        }
        return at > 0 ? passOver(at, side) : .more(count: end)
      }
      // What is in front counts for the numbers that may be.
      if at > 0 { return passOver(at, side) }
      let record = UnsafeRawBufferPointer(rebasing: bytes[..<end])
      let endsWell = TLSRecord.endsWell(bytes, end)
      if side.pointee.keys == nil, isPlainAfterGap(record, side, endsWell) {
        side.pointee.isLost = false
        return inStep(bytes, record, direction, time, context)
      }
      let result = attempt(bytes, record, direction, time, hasEvidence: endsWell, context)
      if case .opened(let opened) = result { return accept(opened, record, direction, time, context) }
      guard endsWell else {
        at += 1
        continue
      }
      guard side.pointee.keys == nil else { return skipFailed(record, side, result) }
      // Records follow each other here; whose keys they need is another question.
      side.pointee.isLost = false
      return inStep(bytes, record, direction, time, context)
    }
    // The last four bytes may begin a header.
    let count = isEnd ? bytes.count : at
    return count > 0 ? passOver(count, side) : .more(count: TLSRecord.headerCount)
  }

  private func passOver(_ count: Int, _ side: UnsafeMutablePointer<TLSSide>) -> TLSStep {
    side.pointee.passed(count)
    return .unread(count: count, .noRecord)
  }

  /// A record that the keys do not open, between others.
  private func skipFailed(
    _ record: UnsafeRawBufferPointer, _ side: UnsafeMutablePointer<TLSSide>, _ result: Attempt
  ) -> TLSStep {
    side.pointee.passed(record.count)
    side.pointee.chain &+= 1
    switch result {
    case .failed(let reason), .missing(let reason): return .unread(count: record.count, reason)
    case .opened: return .unread(count: record.count, .tag)
    }
  }

  /// Whether a record may begin at `at`, by what is known of the direction.
  private func mayBegin(_ bytes: UnsafeRawBufferPointer, _ at: Int, _ side: UnsafeMutablePointer<TLSSide>) -> Bool {
    let (type, count) = TLSRecord.header(bytes, at)
    guard let keys = side.pointee.keys else {
      if type == 23 { return count > 8 && (isTLS12 || count <= TLSRecord.longest13) }
      return true
    }
    if keys.isTLS13 { return type == 23 && count > keys.suite.tagCount && count <= TLSRecord.longest13 }
    return keys.allows(type: type, count: count) || side.pointee.hasNewerHellos
  }

  /// Whether a record of a direction without keys that is searched is taken for one in the clear.
  private func isPlainAfterGap(
    _ record: UnsafeRawBufferPointer, _ side: UnsafeMutablePointer<TLSSide>, _ endsWell: Bool
  ) -> Bool {
    switch record[0] {
    case 22:
      if isTLS12 && side.pointee.hasChangedCipher || side.pointee.epoch != .none { return false }
      let body = UnsafeRawBufferPointer(rebasing: record[5...])
      return TLSHelloMessage.isPossible(body) || endsWell && Self.isHandshake(record)
    case 20: return endsWell && record.count == 6 && record[5] == 1
    default: return false
    }
  }

  // MARK: naming

  /// Whether `bytes` begin with at least two TLS records in a row, which names TLS without its hello: types 20 to 24, version 3.1 or
  /// 3.3, possible lengths. The second one's header suffices. So does the end of `bytes` after the first record when `isSegment` says
  /// that a segment ends there and the record has at least 22 bytes.
  package static func looksLikeRecords(_ bytes: UnsafeRawBufferPointer, isSegment: Bool) -> Bool {
    guard bytes.count >= TLSRecord.headerCount, TLSRecord.isPossible(bytes, 0) else { return false }
    let (type, count) = TLSRecord.header(bytes, 0)
    guard type != 23 || count > 8 else { return false }
    let end = TLSRecord.headerCount + count
    if bytes.count >= end + TLSRecord.headerCount { return TLSRecord.isPossible(bytes, end) }
    return isSegment && bytes.count == end && end >= 22 && type == 23
  }

  /// Whether `bytes` begin with a ClientHello in a record; `false` also while they are fewer than 11.
  package static func looksLikeClientHello(_ bytes: UnsafeRawBufferPointer) -> Bool {
    bytes.count >= 11 && bytes[0] == 22 && bytes[1] == 3 && bytes[2] <= 4 && bytes[5] == 1 && bytes[6] == 0
      && bytes[9] == 3
      && (Int(bytes[3]) << 8 | Int(bytes[4])) >= 42 && Int(bytes[3]) << 8 | Int(bytes[4]) <= 16_384
  }

  /// Whether `bytes` begin with a ServerHello in a record, up to its suite, which must be a known one; also `false` while there are fewer bytes.
  package static func looksLikeServerHello(_ bytes: UnsafeRawBufferPointer) -> Bool {
    // Header, type and length, version, random, session id, suite, compression.
    guard bytes.count >= 5 + 4 + 2 + 32 + 1, bytes[0] == 22, bytes[1] == 3, bytes[2] <= 4, bytes[5] == 2, bytes[6] == 0,
      bytes[9] == 3, bytes[10] <= 4, bytes[43] <= 32
    else { return false }
    let at = 44 + Int(bytes[43])
    guard bytes.count >= at + 3, bytes[at + 2] == 0 else { return false }
    return TLSSuites.isKnown(UInt16(bytes[at]) << 8 | UInt16(bytes[at + 1]))
  }
}
