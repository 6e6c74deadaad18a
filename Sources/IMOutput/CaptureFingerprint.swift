package import IMEngine
package import IMWire

/// What the messages of a capture are, all of them together, whoever the sender: as much as tells whether another capture decodes to
/// the same messages.
///
/// Of each message it hashes all that `imdump messages --json` says of it, except its connection's number and names. The hashes are
/// summed up in buckets, so the memory does not grow with the capture: equal buckets are equal messages, but for one chance in 2⁶⁴.
package final class CaptureFingerprint: EngineSink {
  /// What the engine has to tell for that.
  package static let needs: EngineOptions.Needs = [.frames, .finished, .issues]
  /// What is kept of a message whose fate is not final, in bytes.
  package static let costPerMessage = 48

  private struct Bucket: BitwiseCopyable {
    var count: Int64 = 0
    var sum: UInt64 = 0
  }

  private static let bucketCount = 1 << 16

  /// Messages of the first capture.
  package private(set) var count: UInt64 = 0
  @exclusivity(unchecked) private var buckets = [Bucket](repeating: Bucket(), count: CaptureFingerprint.bucketCount)
  /// What was seen so far of messages whose fates are not final, by their exchanges.
  @exclusivity(unchecked) private var hashes = ExchangeHashes()
  /// The statuses that answers gave, by their numbers.
  @exclusivity(unchecked) private var statuses: [UInt64] = [0]
  @exclusivity(unchecked) private var marks = GapMarks()
  @exclusivity(unchecked) private var isNearGap = false
  /// 1 for the first capture, and -1 for the other one.
  @exclusivity(unchecked) private var sign: Int64 = 1

  /// No messages.
  package init() {}

  /// Nothing more is told of the capture.
  package func end() { hashes = ExchangeHashes() }

  /// What is told from here on is the other capture.
  package func beginOther() {
    hashes = ExchangeHashes()
    (statuses, marks, isNearGap, sign) = ([0], GapMarks(), false, -1)
  }

  /// Messages of the first capture that the other one lacks, or has otherwise; at least, where there are thousands.
  package var missing: UInt64 {
    buckets.reduce(0) { $0 + UInt64(max($1.count, $1.sum != 0 && $1.count == 0 ? 1 : 0)) }
  }

  /// Messages of the other capture beyond those of the first.
  package var added: UInt64 { buckets.reduce(0) { $0 + UInt64(max(-$1.count, 0)) } }

  // MARK: What the engine tells

  /// A copy of a message, or an answer.
  package func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    let isAfterGap = isNearGap && takeMark(frame, connection, direction)
    guard note.exchange != .max else { return }
    let at = UInt64(bitPattern: frame.timestamp.microseconds)
    if note.isAck {
      guard let hash = hashes[note.exchange] else { return }
      hashes.insert(Self.mix(hash &+ 1, at), note.exchange)
      return
    }
    var hash: UInt64
    if note.copy == 1 {
      let kind = frame.kind.pointee.index
      hash = Self.mix(UInt64(connection.plan) << 8 | UInt64(kind), kind == FrameKind.unknownIndex ? frame.type : 0)
      hash = Self.mix(hash, UInt64(direction.rawValue) << 32 | UInt64(connection.carriers.rawValue))
      hash = Self.mix(hash, frame.flags.rawValue & Frame.Flags.sequence.rawValue != 0 ? frame.sequence : .max)
      hash = Self.mix(hash, UInt64(truncatingIfNeeded: frame.bodyCount))
      for i in tlvs.indices {
        let tlv = tlvs[i]
        hash = Self.mix(hash, UInt64(tlv.tag) << 32 | UInt64(tlv.count))
        hash = Self.mix(hash, UInt64(tlv.depth) << 1 | (tlv.isList ? 1 : 0))
      }
    } else {
      guard let known = hashes[note.exchange] else { return }
      hash = known
    }
    let flags = FrameFlagNames.mask(frame, note) | (isAfterGap ? FrameFlagNames.afterGap : 0)
    hash = Self.mix(hash, at)
    hash = Self.mix(hash, UInt64(flags) << 8 | UInt64(frame.checksumStatus.rawValue))
    hashes.insert(hash, note.exchange)
  }

  /// Answers that came before their message.
  package func adopted(_ exchange: UInt32, _ times: [Timestamp]) {
    guard var hash = hashes[exchange] else { return }
    for time in times { hash = Self.mix(hash &+ 1, UInt64(bitPattern: time.microseconds)) }
    hashes.insert(hash, exchange)
  }

  /// A message whose fate is final.
  package func finished(_ exchange: borrowing Exchange) {
    guard var hash = hashes.remove(exchange.id) else { return }
    hash = Self.mix(hash, UInt64(exchange.fate.rawValue) << 32 | UInt64(exchange.cause?.rawValue ?? .max))
    hash = Self.mix(hash, Int(exchange.status) < statuses.count ? statuses[Int(exchange.status)] : 0)
    let isLate = exchange.flags.rawValue & Exchange.Flags.late.rawValue != 0
    hash = Self.mix(hash, UInt64(exchange.repeats) << 32 | UInt64(exchange.duplicates) << 1 | (isLate ? 1 : 0))
    hash = Self.mix(hash, UInt64(bitPattern: exchange.latency?.microseconds ?? -1))
    hash = Self.mix(hash, UInt64(bitPattern: exchange.roundTrip?.microseconds ?? -1))
    if sign > 0 { count += 1 }
    let place = Int(truncatingIfNeeded: hash >> 48)
    buckets[place].count += sign
    buckets[place].sum = sign > 0 ? buckets[place].sum &+ hash : buckets[place].sum &- hash
  }

  /// A status, which exchanges know by its place from here on.
  package func met(_ status: StatusCode, place: UInt16) {
    if Int(place) == statuses.count { statuses.append(Self.mix(1, status.number)) }
  }

  /// Bytes that are missing, perhaps.
  package func issue(_ issue: Issue, _ connection: ConnectionInfo) {
    marks.note(issue, connection)
    isNearGap = !marks.isEmpty
  }

  @inline(never)
  private func takeMark(_ frame: Frame, _ connection: ConnectionInfo, _ direction: Direction) -> Bool {
    defer { isNearGap = !marks.isEmpty }
    return marks.take(frame, connection, direction) != nil
  }

  @inline(__always)
  private static func mix(_ hash: UInt64, _ value: UInt64) -> UInt64 {
    let product = (hash ^ value &* 0xc2b2_ae3d_27d4_eb4f) &* 0x9e37_79b9_7f4a_7c15
    return product ^ product >> 29
  }
}
