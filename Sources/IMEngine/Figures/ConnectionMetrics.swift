package import IMWire

/// Signs of life of one connection, as their sender spaced them: two cache lines.
package struct HeartbeatMetrics: Sendable, BitwiseCopyable {
  /// Heartbeats, copies not counted; also those that ask for no answer.
  package var sent: UInt32 = 0
  /// Of those, answered, in time or late.
  package var answered: UInt32 = 0
  /// Heartbeats whose answer did not come in time, and those whose answer the capture may lack.
  package var missed: UInt32 = 0, unknown: UInt32 = 0
  /// How many were missed since the last answer.
  package var missedInARow: UInt32 = 0
  /// Times when the client was silent for longer than agreed; where nothing is agreed, when no heartbeat came for twice as
  /// long as usual.
  package var absent: UInt32 = 0
  /// How often the client is to be heard of, and for how long it may be silent, in milliseconds; 0 where that is not known.
  package internal(set) var expected: UInt32 = 0, limit: UInt32 = 0
  /// Intervals counted: one less than `sent`.
  package var intervals: UInt32 = 0
  /// Round trips of answered heartbeats, by Karn's rule.
  package var roundTrips: UInt32 = 0
  /// Their sum, in microseconds.
  package var roundTripSum: Int64 = 0
  /// The intervals' sum, in microseconds.
  package var intervalSum: Int64 = 0
  /// How much each interval differs from the one before, added up, in microseconds: `intervals` less one of them.
  package var changeSum: Int64 = 0
  /// When the last heartbeat was sent; `distantPast` before the first.
  package var lastAt = Timestamp.distantPast
  /// When the client was heard of last, where a limit is known.
  var lastHeardAt = Timestamp.distantPast
  /// The shortest and the longest interval and the last ten, as a ring, in microseconds; none is told longer than
  /// 71 minutes.
  private var least: UInt32 = .max, most: UInt32 = 0
  private var recent: InlineArray<10, UInt32> = InlineArray(repeating: 0)

  /// All zero.
  package init() {}

  /// The shortest interval, in whole microseconds; `nil` before the first.
  package var intervalMinimum: Nanoseconds? { intervals == 0 ? nil : .microseconds(Int64(least)) }
  /// The longest interval, in whole microseconds; `nil` before the first.
  package var intervalMaximum: Nanoseconds? { intervals == 0 ? nil : .microseconds(Int64(most)) }

  /// How many intervals have one before them.
  package var changes: UInt32 { intervals > 1 ? intervals - 1 : 0 }
  /// The jitter: the mean difference of neighbouring intervals, in microseconds; `nil` before the second.
  package var jitter: Double? { changes == 0 ? nil : Double(changeSum) / Double(changes) }

  /// The median of the last ten intervals, in whole microseconds; `nil` before the first.
  package var median: Nanoseconds? {
    let n = min(10, Int(intervals))
    guard n > 0 else { return nil }
    var values: [Int64] = []
    for i in 0..<n { values.append(Int64(recent[i])) }
    values.sort()
    return .microseconds(n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2)
  }

  /// The silence after which a heartbeat counts as absent: twice the usual interval, at least 30 s.
  var patience: Nanoseconds { 2 * max(median ?? .zero, .seconds(15)) }

  /// Takes note of a heartbeat's first answer; `roundTrip` is `nil` where nobody can tell which copy it answers.
  mutating func answered(after roundTrip: Nanoseconds?) {
    answered &+= 1
    missedInARow = 0
    guard let roundTrip else { return }
    roundTrips &+= 1
    roundTripSum &+= roundTrip.microseconds
  }

  /// Takes note of a heartbeat without an answer in time.
  mutating func wentWithoutAnswer(_ fate: Fate) {
    if fate == .unknown {
      unknown &+= 1
    } else {
      missed &+= 1
      missedInARow &+= 1
    }
  }

  /// Takes note of a heartbeat; gives the time since the one before, and how much that differs from the time before it, in
  /// whole microseconds.
  @discardableResult
  mutating func sent(at now: Timestamp) -> (interval: Nanoseconds, change: Nanoseconds?)? {
    sent &+= 1
    defer { lastAt = now }
    if lastAt != .distantPast {
      let interval = max(0, now.microseconds - lastAt.microseconds)
      if limit == 0, intervals > 0, interval > patience.microseconds { absent &+= 1 }
      let told = UInt32(clamping: interval)
      var change: Nanoseconds?
      if intervals > 0 {
        let difference = abs(Int64(told) - Int64(recent[Int((intervals &- 1) % 10)]))
        changeSum &+= difference
        change = .microseconds(difference)
      }
      recent[Int(intervals % 10)] = told
      intervals &+= 1
      intervalSum &+= interval
      least = min(least, told)
      most = max(most, told)
      return (.microseconds(interval), change)
    }
    return nil
  }
}

/// How far the protocol's own handshake of a connection has come.
package struct HandshakeState: OptionSet, Sendable, BitwiseCopyable {
  /// One bit for each.
  package let rawValue: UInt8
  /// The states whose bits are set in `rawValue`.
  package init(rawValue: UInt8) { self.rawValue = rawValue }
  /// It was asked for.
  package static let requested = HandshakeState(rawValue: 1)
  /// An acknowledgment came.
  package static let acknowledged = HandshakeState(rawValue: 2)
  /// An answer in kind came.
  package static let answered = HandshakeState(rawValue: 4)
  /// It was refused.
  package static let refused = HandshakeState(rawValue: 8)
  /// The server asked.
  static let fromServer = HandshakeState(rawValue: 16)

  /// Whether it was acknowledged or answered.
  package var isReady: Bool { !isDisjoint(with: [.acknowledged, .answered]) }
}

/// What the tracker counts for one connection in two cache lines; `RareMetrics` has the rest.
package struct ConnectionMetrics: Sendable, BitwiseCopyable {
  /// When the last frame came.
  package var lastFrameAt = Timestamp.distantPast
  /// The longest silence, above a second, that was survived: no packet crossed, and the peer answered the one that ended it. Zero
  /// where there was none.
  package internal(set) var longestSilence = Nanoseconds.zero
  /// Bytes of frames, headers included, by direction, client to server first.
  package var frameBytes: InlineArray<2, UInt64> = [0, 0]
  /// Frames by direction, client to server first.
  package var frames: InlineArray<2, UInt32> = [0, 0]
  /// Messages of users by direction, and those answered after one copy; `RareMetrics.fates` has the rest.
  var units: InlineArray<2, UInt32> = [0, 0]
  /// Exchanges whose fate is not decided.
  package var unsettled: UInt32 = 0
  /// The server's index, as in `ConnectionInfo.endpoint`.
  package var endpoint: UInt32
  /// The place of the heartbeats' figures in the tracker; `.max` before the first heartbeat.
  package var heartbeats: UInt32 = .max
  var acked: InlineArray<2, UInt32> = [0, 0]
  /// How far the protocol's own handshake has come.
  package var handshake: HandshakeState = []
  /// Whether it is known for how long the client may be silent.
  var hasContract = false
  /// What is known of the silence in `openSilence`.
  var silenceFacts: SilenceFacts = []
  /// When it was asked for, and when it was acknowledged or answered first; `distantPast` where that was not seen.
  package var handshakeAt = Timestamp.distantPast, readyAt = Timestamp.distantPast
  /// The exchange by which it was asked for last; `.max` without one.
  var handshakeExchange: UInt32 = .max
  /// Frames by `ChecksumStatus`.
  package var checksums: InlineArray<5, UInt32> = [0, 0, 0, 0, 0]
  /// The place of the other figures in the tracker; `.max` while all of them are zero.
  var rare: UInt32 = .max

  /// A silence that ended with a packet which the peer has not answered yet; none while no direction is `awaited`.
  var openSilence = SilenceLength()
  /// When that packet came, in milliseconds since the connection's first packet.
  var openSilenceEnd: UInt32 = 0
  /// Control frames and receipts that no answer came of.
  var unansweredControls: UInt32 = 0

  init(endpoint: UInt32) { self.endpoint = endpoint }
}

/// What the tracker counts for a connection on which not everything went well.
package struct RareMetrics: Sendable, BitwiseCopyable {
  /// What the capture lacks of side 0's and side 1's bytes: a cache line each.
  var losses: InlineArray<2, LossTimes> = [LossTimes(), LossTimes()]
  /// What became of the messages of users, by direction, client to server first. In the tracker, `ConnectionMetrics` has
  /// the messages, those answered after one copy, and `unansweredControls`.
  package var fates: InlineArray<2, FateCounts> = [FateCounts(), FateCounts()]
  /// Control frames and receipts that were refused; those that no answer came of.
  package var rejectedControls: UInt32 = 0, unansweredControls: UInt32 = 0
  /// Retries of the messages that began here: their copies after the first, up to the answer.
  package var retries: UInt32 = 0
  /// Copies after the first, of any type, that a sender made here on purpose.
  package var deliberateCopies: UInt32 = 0
  /// Copies after the first that came at once: within 1 s, with the same clock and no mark.
  package var immediateDuplicates: UInt32 = 0
  /// Copies after the answer; they are in none of the two above.
  package var duplicates: UInt32 = 0
  /// Answers after the first.
  package var dupAcks: UInt32 = 0
  /// Answers that name nothing known.
  package var orphanAcks: UInt32 = 0
  /// Numbers left out by a sender's counter; `SequenceTotals` has them by category.
  package var sequenceGaps: UInt32 = 0
  /// Numbers left out that came later after all.
  package var sequenceReordered: UInt32 = 0
  /// Numbers from the past.
  package var sequenceLate: UInt32 = 0
  /// Stream bytes without a frame.
  package var strayBytes: UInt64 = 0
  /// Frames cut by a gap or by the end of the connection.
  package var cutFrames: UInt32 = 0
  /// The same as `reconnectTime`; negative without one.
  private var storedReconnectTime = Nanoseconds(-1)
  /// Whether it is a reconnect after a connection that both sides had closed.
  package var followsCleanClose = false

  /// Whether an earlier connection of the same session ended before this one.
  package var isReconnect: Bool { storedReconnectTime >= .zero }
  /// From that one's end to this one's beginning, in whole microseconds; `nil` where there was none.
  package var reconnectTime: Nanoseconds? {
    get { isReconnect ? storedReconnectTime : nil }
    set { storedReconnectTime = newValue ?? Nanoseconds(-1) }
  }

  /// Control frames and receipts that were refused, or that no answer came of.
  package var failedControls: UInt32 { rejectedControls &+ unansweredControls }

  /// All zero.
  package init() {}
}
