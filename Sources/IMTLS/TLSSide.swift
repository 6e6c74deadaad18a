/// What is known of the records of one direction.
struct TLSSide {
  /// The epoch of TLS 1.3; TLS 1.2 is in `traffic` after ChangeCipherSpec.
  enum Epoch: UInt8 {
    case none, early, handshake, traffic
  }

  var keys: TLSKeys?
  var slot = CipherSlot()
  /// The next record's number.
  var sequence: UInt64 = 0
  /// The explicit nonce of the last record less its number.
  var nonceDistance: UInt64 = 0
  var hasNonce = false

  /// Bytes since the last record that was opened, or since encryption began, that were lost or not read; `.max` when their number is
  /// not known.
  var gap: UInt64 = 0
  /// Bytes of a record with a hole that are still to come.
  var skip: UInt32 = 0
  /// Tries that may be made on the way back.
  var credit: Int32 = creditOfGap
  /// Tries since the gap.
  var tries: Int32 = 0
  /// Numbers after `sequence` that were tried with `keys` in vain, and the records that were passed over since.
  var searched: UInt32 = 0
  var chain: UInt32 = 0
  /// Gaps since the last record that was opened.
  var vainGaps: UInt8 = 0

  var epoch = Epoch.none
  /// Whether the next boundary is searched.
  var isLost = false
  /// Whether bytes were lost before keys were known.
  var hasMissed = false
  /// Whether ChangeCipherSpec was seen.
  var hasChangedCipher = false
  /// Whether a renegotiation's hellos are newer than the keys.
  var hasNewerHellos = false
  var isUndecided = false
  /// What was missing last.
  var reason = TLSUnread.noKey
  var isGivenUp = false
  /// Whether the last attempt had any keys to try.
  var hasCandidates = false
  /// Whether EndOfEarlyData was read.
  var isEarlyOver = false
  var isFinished = false
  var hasData = false
  var isClosed = false
  var alertLevel: UInt8 = 0
  var alertDescription: UInt8 = 0
  var alertCount: UInt16 = 0
  var updateCount: UInt16 = 0

  /// The key table's generation and the connection's revision when the direction could not be decided.
  var seenGeneration: UInt32 = 0
  var seenRevision: UInt16 = 0
  /// The key table's generation when all secrets were tried; `.max` when they were not.
  var trialGeneration: UInt32 = .max
  /// Whether a bound ended that search before all secrets were tried.
  var isTrialLimited = false
  /// Whether KeyUpdates of all secrets were tried.
  var hasTriedUpdated = false

  /// Bytes that were passed over for want of a key, and those of them whose key came.
  var passedCount: UInt64 = 0
  var lateCount: UInt64 = 0

  /// The beginning of a handshake message that is read.
  var handshake: [UInt8] = []
  /// Bytes of a handshake message that are passed over, and its type.
  var handshakeSkip: UInt32 = 0
  var handshakeType: UInt8 = 255

  static let creditOfGap: Int32 = 4_096
  static let longestSearch: Int32 = 65_536

  /// Bytes went by in which no record was opened.
  mutating func passed(_ count: Int) {
    addGap(UInt64(count))
    credit = min(Self.longestSearch, credit &+ Int32(truncatingIfNeeded: min(count, 1 << 20) / 4))
  }

  mutating func addGap(_ count: UInt64) {
    let (total, isOver) = gap.addingReportingOverflow(count)
    gap = isOver ? .max : total
  }

  mutating func forgetHandshake() {
    if !handshake.isEmpty { handshake = [] }
    handshakeSkip = 0
  }

  /// Records that may be missing, and the one in hand: numbers to try.
  func numberCount(_ keys: TLSKeys) -> Int {
    if gap == 0 { return 1 }
    if gap == .max { return 4_096 }
    return Int(min(gap / UInt64(keys.shortestRecord) + 1, UInt64(Self.longestSearch)))
  }

  /// Other keys: the next record is the first one of theirs.
  mutating func install(_ keys: TLSKeys?, _ epoch: Epoch, sequence: UInt64 = 0) {
    self.keys = keys
    self.epoch = epoch
    self.sequence = sequence
    slot = CipherSlot()
    hasNonce = false
    searched = 0
    chain = 0
  }
}
