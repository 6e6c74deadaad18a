import CCrypto
package import IMWire

/// The TLS of one TCP connection, both directions.
///
/// It owns no bytes of the stream: `next` looks at what the caller holds of a direction, from the first byte that is not consumed, and
/// says what it is and how many bytes it takes. A caller of a direction:
///
/// - appends what TCP delivered to what it holds, and calls `next` until `more` or `undecided`, dropping consumed bytes;
/// - calls `lose` when bytes are missing, with what it still holds, which is consumed by that;
/// - calls `canRetry` for a direction that is `undecided` after the key table or the other direction moved on, and
///   `giveUpWaiting` when it holds too much or has waited too long; then `next` again, as often as before.
///
/// Direction 0 is client to server. Of a connection whose client is not certain, the sides may change places, once: see `isSwapped`.
package final class TLSConnection {
  /// Whether what the caller takes for direction 0 is that of the server. Only ever true of a connection that was made with
  /// `sidesAreCertain: false`; the caller's directions keep their numbers in all calls.
  @exclusivity(unchecked) package internal(set) var isSwapped = false
  /// What the handshake told.
  @exclusivity(unchecked) package internal(set) var facts = TLSFacts()

  // SAFETY: two sides, allocated and initialized from `init` to `deinit`; a direction's index is masked to one bit.
  let sides: UnsafeMutablePointer<TLSSide>
  @exclusivity(unchecked) var sidesAreCertain: Bool
  /// Randoms of the newest hellos.
  @exclusivity(unchecked) var clientRandom = Bytes32()
  @exclusivity(unchecked) var serverRandom = Bytes32()
  @exclusivity(unchecked) var hasClientHello = false
  @exclusivity(unchecked) var hasServerHello = false
  @exclusivity(unchecked) var order = TLSKeys.MACOrder.isUnknown
  /// The suite of TLS 1.3 that a key proved.
  @exclusivity(unchecked) var provedSuite: TLSSuite?
  /// Grows when one direction learns what may decide the other.
  @exclusivity(unchecked) var revision: UInt16 = 0
  @exclusivity(unchecked) var hasHelloDone = false
  /// The hellos of a connection that renegotiates.
  var renegotiation: TLSRenegotiation?
  /// Where the client random is claimed.
  @exclusivity(unchecked) private var claimed: KeyTable?

  /// A connection none of whose bytes were seen. For one whose beginning is missing, `lose(byteCount: nil)` of both directions follows.
  package init(sidesAreCertain: Bool = true) {
    self.sidesAreCertain = sidesAreCertain
    sides = .allocate(capacity: 2)
    sides.initialize(repeating: TLSSide(), count: 2)
  }

  deinit {
    unclaim()
    sides.deinitialize(count: 2)
    OPENSSL_cleanse(sides, 2 * MemoryLayout<TLSSide>.stride)
    sides.deallocate()
  }

  /// 0 for the client's direction, 1 for the server's.
  func role(_ direction: Int) -> Int { direction & 1 ^ (isSwapped ? 1 : 0) }

  // MARK: records

  /// What is at the front of `bytes`, the contiguous bytes of `direction` that are not consumed yet.
  ///
  /// - `time`: of the last byte that was captured of them.
  /// - `isEnd`: no bytes will follow them: the connection or the capture ended.
  ///
  /// Every step but `more` and `undecided` consumes at least one byte. Work for each call is bounded by the bytes and the credit.
  package func next(
    _ bytes: UnsafeRawBufferPointer, direction: Int, time: Timestamp, isEnd: Bool = false, in context: TLSContext
  ) -> TLSStep {
    let side = sides + (direction & 1)
    if bytes.isEmpty { return .more(count: TLSRecord.headerCount) }
    if side.pointee.skip > 0 {
      let count = min(Int(side.pointee.skip), bytes.count)
      side.pointee.skip -= UInt32(count)
      return .unread(count: count, .cut)
    }
    if side.pointee.isLost { return search(bytes, direction, time, isEnd, context) }
    guard bytes.count >= TLSRecord.headerCount else {
      return isEnd ? .unread(count: bytes.count, .cut) : .more(count: TLSRecord.headerCount)
    }
    guard isHeader(bytes, 0) else {
      leaveStep(side, context)
      return search(bytes, direction, time, isEnd, context)
    }
    let (type, count) = TLSRecord.header(bytes, 0)
    let end = TLSRecord.headerCount + count
    guard bytes.count >= end else {
      if type == 22 { peek(bytes, direction, time, context) }
      return isEnd ? .unread(count: bytes.count, .cut) : .more(count: end)
    }
    return inStep(bytes, UnsafeRawBufferPointer(rebasing: bytes[0..<end]), direction, time, context)
  }

  /// Whether the five bytes at `at` can be a header at a boundary that is known: those of older versions, too.
  func isHeader(_ bytes: UnsafeRawBufferPointer, _ at: Int) -> Bool {
    if TLSRecord.isPossible(bytes, at) { return true }
    guard bytes[at] == 22 || facts.isVersionChosen && facts.version < 0x0303, (20...24).contains(bytes[at]),
      bytes[at + 1] == 3, bytes[at + 2] <= 2
    else { return false }
    let count = TLSRecord.header(bytes, at).count
    return count > 0 && count <= TLSRecord.longest
  }

  /// No record stands where one should.
  private func leaveStep(_ side: UnsafeMutablePointer<TLSSide>, _ context: TLSContext) {
    side.pointee.isLost = true
    side.pointee.hasMissed = true
    side.pointee.forgetHandshake()
    side.pointee.credit = max(side.pointee.credit, 64)
    context.counters.gaps += 1
  }

  /// The record at a boundary that is known.
  func inStep(
    _ bytes: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ direction: Int, _ time: Timestamp,
    _ context: TLSContext
  ) -> TLSStep {
    let side = sides + (direction & 1)
    let type = record[0]
    if let keys = side.pointee.keys {
      if keys.isTLS13, type == 20 || type == 21, record.count <= 5 + 2 {
        return plain(record, direction, time, context)
      }
      if let opened = context.open(keys, side.pointee.sequence, record, in: &side.pointee.slot) {
        side.pointee.sequence &+= 1
        return accept(opened, record, direction, time, context)
      }
    } else if isPlain(record, side) {
      return plain(record, direction, time, context)
    } else if side.pointee.isGivenUp, !side.pointee.hasCandidates, !hasNews(side, context) {
      return pass(record, side, side.pointee.reason)
    }
    switch attempt(bytes, record, direction, time, hasEvidence: true, context) {
    case .opened(let opened): return accept(opened, record, direction, time, context)
    case .missing(let reason):
      side.pointee.reason = reason
      if side.pointee.keys == nil {
        if !side.pointee.isGivenUp {
          note(side, context)
          side.pointee.isUndecided = true
          return .undecided(reason)
        }
        note(side, context)
        return pass(record, side, reason)
      }
      return fail(bytes, record, side, .tag, context)
    case .failed(let reason):
      if side.pointee.keys == nil {
        note(side, context)
        return pass(record, side, reason)
      }
      return fail(bytes, record, side, reason, context)
    }
  }

  /// A record without keys: the next boundary stays known.
  private func pass(_ record: UnsafeRawBufferPointer, _ side: UnsafeMutablePointer<TLSSide>, _ reason: TLSUnread)
    -> TLSStep
  {
    side.pointee.passed(record.count)
    if reason == .noKey || reason == .noHello || reason == .limit { side.pointee.passedCount += UInt64(record.count) }
    if record[0] == 23 { side.pointee.hasData = true }
    return .unread(count: record.count, reason)
  }

  /// A record that the direction's keys do not open: the number or the boundary is in doubt.
  private func fail(
    _ bytes: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer, _ side: UnsafeMutablePointer<TLSSide>,
    _ reason: TLSUnread,
    _ context: TLSContext
  ) -> TLSStep {
    leaveStep(side, context)
    let count = TLSRecord.endsWell(bytes, record.count) ? record.count : 1
    side.pointee.passed(count)
    if count > 1 { side.pointee.chain &+= 1 }
    return .unread(count: count, count > 1 ? reason : .noRecord)
  }

  /// An opened record, whose plaintext is in the scratch buffer.
  func accept(
    _ opened: OpenedRecord, _ record: UnsafeRawBufferPointer, _ direction: Int, _ time: Timestamp, _ context: TLSContext
  ) -> TLSStep {
    let side = sides + (direction & 1)
    context.counters.records += 1
    if side.pointee.gap != 0 || side.pointee.tries != 0 || side.pointee.isGivenUp || side.pointee.isUndecided
      || side.pointee.hasMissed
    {
      settle(side)
    }
    if let keys = side.pointee.keys, !keys.isTLS13 {
      if keys.suite.explicitNonceCount > 0 {
        let nonce = record.loadUnaligned(fromByteOffset: 5, as: UInt64.self).bigEndian
        side.pointee.nonceDistance = nonce &- (side.pointee.sequence &- 1)
        side.pointee.hasNonce = true
      }
      // The MAC told where it is.
      if opened.order != .isUnknown, keys.order == .isUnknown { side.pointee.keys?.order = opened.order }
    }
    let text = UnsafeRawBufferPointer(start: context.scratch + opened.start, count: opened.count)
    switch opened.type {
    case 23:
      side.pointee.hasData = true
      guard opened.count > 0 else { return .control(count: record.count, .empty) }
      context.counters.plaintextBytes += UInt64(opened.count)
      return .plaintext(
        TLSPlaintext(
          count: record.count, bytes: text, ciphertextIndex: opened.ciphertextIndex,
          isEarly: side.pointee.epoch == .early))
    case 22: return .control(count: record.count, handshake(text, direction, time, isEncrypted: true, context))
    case 21: return .control(count: record.count, alert(text, side))
    case 20:
      if side.pointee.keys?.isTLS13 == false { changeCipher(direction) }
      return .control(count: record.count, .changeCipherSpec)
    case 0: return .control(count: record.count, .empty)
    default: return .control(count: record.count, .other)
    }
  }

  /// The direction is in step again, with keys.
  private func settle(_ side: UnsafeMutablePointer<TLSSide>) {
    side.pointee.gap = 0
    side.pointee.tries = 0
    side.pointee.searched = 0
    side.pointee.chain = 0
    side.pointee.vainGaps = 0
    side.pointee.credit = TLSSide.creditOfGap
    side.pointee.isGivenUp = false
    side.pointee.isUndecided = false
    side.pointee.hasMissed = false
    side.pointee.lateCount += side.pointee.passedCount
    side.pointee.passedCount = 0
  }

  private func alert(_ bytes: UnsafeRawBufferPointer, _ side: UnsafeMutablePointer<TLSSide>) -> TLSControl {
    guard bytes.count >= 2 else { return .other }
    if bytes[1] == 0 {
      side.pointee.isClosed = true
    } else {
      side.pointee.alertCount = min(side.pointee.alertCount, .max - 1) + 1
      side.pointee.alertLevel = bytes[0]
      side.pointee.alertDescription = bytes[1]
    }
    return .alert(level: bytes[0], description: bytes[1])
  }

  // MARK: records in the clear

  /// Whether a record of a direction without keys is in the clear.
  private func isPlain(_ record: UnsafeRawBufferPointer, _ side: UnsafeMutablePointer<TLSSide>) -> Bool {
    let count = record.count - TLSRecord.headerCount
    switch record[0] {
    case 20: return count == 1 && record[5] == 1
    case 21: return count == 2 && !(isTLS12 && side.pointee.hasChangedCipher)
    case 22:
      if isTLS12 && side.pointee.hasChangedCipher { return false }
      if side.pointee.epoch != .none { return false }
      if !side.pointee.handshake.isEmpty || side.pointee.handshakeSkip > 0 { return true }
      if Self.isHandshake(record) { return true }
      // A fragment of a message whose beginning is missing, or the Finished of TLS 1.2 after a ChangeCipherSpec that is missing.
      return !side.pointee.hasChangedCipher && !(side.pointee.hasMissed && isTLS12 && hasClientHello)
    case 24: return !side.pointee.hasChangedCipher
    default: return false
    }
  }

  /// Whether a record's body begins with a handshake message.
  static func isHandshake(_ record: UnsafeRawBufferPointer) -> Bool {
    guard record.count >= 5 + 4 else { return false }
    switch record[5] {
    case 0, 14: return record[6] == 0 && record[7] == 0 && record[8] == 0
    case 1, 2: return record[6] <= 1 && (record.count < 11 || record[9] == 3)
    case 4, 11, 12, 13, 15, 16, 21, 22, 25: return record[6] <= 1
    default: return false
    }
  }

  /// Whether the server chose TLS 1.2 or older.
  var isTLS12: Bool { facts.isVersionChosen && facts.version < 0x0304 }

  private func plain(
    _ record: UnsafeRawBufferPointer, _ direction: Int, _ time: Timestamp, _ context: TLSContext
  ) -> TLSStep {
    let side = sides + (direction & 1)
    let body = UnsafeRawBufferPointer(rebasing: record[5...])
    side.pointee.isLost = false
    switch record[0] {
    case 20:
      if side.pointee.keys == nil { changeCipher(direction) }
      return .control(count: record.count, .changeCipherSpec)
    case 21: return .control(count: record.count, alert(body, side))
    case 22:
      // A fragment of a message whose beginning is missing.
      if side.pointee.handshake.isEmpty, side.pointee.handshakeSkip == 0, !Self.isHandshake(record) {
        return .control(count: record.count, .handshake(type: 255))
      }
      return .control(count: record.count, handshake(body, direction, time, isEncrypted: false, context))
    default: return .control(count: record.count, .other)
    }
  }

  private func changeCipher(_ direction: Int) {
    let side = sides + (direction & 1)
    side.pointee.hasChangedCipher = true
    guard isTLS12 || side.pointee.keys?.isTLS13 == false else { return }
    side.pointee.forgetHandshake()
    side.pointee.install(nil, .traffic)
    side.pointee.gap = 0
    side.pointee.hasNewerHellos = false
    side.pointee.isFinished = false
    if role(direction) == 1, facts.isResumed == nil, !side.pointee.hasMissed { facts.isResumed = !hasHelloDone }
  }

  // MARK: what waits

  /// Whether `next` may answer otherwise than `undecided` now: the key table has grown, or the other direction told more.
  package func canRetry(direction: Int, in context: TLSContext) -> Bool {
    let side = sides + (direction & 1)
    return side.pointee.isUndecided && hasNews(side, context)
  }

  func hasNews(_ side: UnsafeMutablePointer<TLSSide>, _ context: TLSContext) -> Bool {
    side.pointee.seenGeneration != context.keys.generation || side.pointee.seenRevision != revision
  }

  private func note(_ side: UnsafeMutablePointer<TLSSide>, _ context: TLSContext) {
    side.pointee.seenGeneration = context.keys.generation
    side.pointee.seenRevision = revision
  }

  /// The caller does not want to hold bytes of `direction` any longer: what `next` finds undecided is passed over until a key is there,
  /// or, of early data, taken for accepted.
  package func giveUpWaiting(direction: Int) {
    let side = sides + (direction & 1)
    side.pointee.isGivenUp = true
    side.pointee.isUndecided = false
    // The next record is attempted once more, without waiting.
    side.pointee.hasCandidates = true
  }

  /// Bytes of `direction` that steps had reported as `noKey` or `noHello` and whose secret came afterwards, since the last call. The
  /// caller moves them to `keyLate`.
  package func takeLateByteCount(direction: Int) -> UInt64 {
    defer { sides[direction & 1].lateCount = 0 }
    return sides[direction & 1].lateCount
  }

  // MARK: facts

  /// Whether both sides' Finished were read, or of TLS 1.2 without a key both sides sent application data after ChangeCipherSpec.
  package var isEstablished: Bool {
    sides[0].isFinished && sides[1].isFinished
      || isTLS12 && sides[0].hasData && sides[1].hasData && sides[0].hasChangedCipher && sides[1].hasChangedCipher
  }
  /// Whether records of `direction` are being opened: keys are known.
  package func hasKeys(direction: Int) -> Bool { sides[direction & 1].keys != nil }
  /// Whether the boundary of the next record of `direction` is known.
  package func isInStep(direction: Int) -> Bool { !sides[direction & 1].isLost }
  /// Alerts of `direction` that were read, but for close_notify.
  package func alertCount(direction: Int) -> Int { Int(sides[direction & 1].alertCount) }
  /// The last alert of `direction` but for close_notify; `nil` when none was read.
  package func lastAlert(direction: Int) -> (level: UInt8, description: UInt8)? {
    let side = sides[direction & 1]
    return side.alertCount == 0 ? nil : (side.alertLevel, side.alertDescription)
  }
  /// Whether `direction` was closed by close_notify.
  package func isClosed(direction: Int) -> Bool { sides[direction & 1].isClosed }
  /// KeyUpdates of `direction`.
  package func keyUpdateCount(direction: Int) -> Int { Int(sides[direction & 1].updateCount) }
  /// Bytes of memory that the connection takes, with what it holds of handshake messages.
  package var byteCount: Int {
    // The object, both sides, and what malloc adds.
    objectByteCount + 2 * MemoryLayout<TLSSide>.stride + 32 + sides[0].handshake.capacity + sides[1].handshake.capacity
      + (facts.serverName?.utf8.count ?? 0)
  }

  /// Bytes of the state of one direction.
  package static var sideSize: Int { MemoryLayout<TLSSide>.stride }

  private var objectByteCount: Int {
    16 + MemoryLayout<TLSFacts>.stride + 2 * MemoryLayout<Bytes32>.stride + 56
  }

  // MARK: the client random

  /// The random of a hello, or that of a secret that fits.
  func setClientRandom(_ random: Bytes32, _ context: TLSContext) {
    unclaim()
    clientRandom = random
    hasClientHello = true
    facts.randomPrefix = UInt32(truncatingIfNeeded: UInt64(bigEndian: random.words.0) >> 32)
    withUnsafeBytes(of: random) {
      guard let base = $0.baseAddress else { return }
      context.keys.claim(base)
    }
    claimed = context.keys
    revision &+= 1
  }

  private func unclaim() {
    guard let claimed else { return }
    withUnsafeBytes(of: clientRandom) {
      guard let base = $0.baseAddress else { return }
      claimed.release(base)
    }
    self.claimed = nil
  }
}
