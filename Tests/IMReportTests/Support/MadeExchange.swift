import IMEngineTestSupport
import IMWire

@testable import IMEngine

/// An exchange for a table of test cases.
struct MadeExchange {
  /// The types of `tjp`, by their indices.
  enum Kind: UInt8 {
    case data, heartbeat, ack, control, receipt
  }

  var kind = Kind.data
  var fate: Fate
  /// The cause of a missing answer.
  var cause: Cause?
  var direction = Direction.clientToServer
  /// The time of its first copy, in milliseconds after the beginning of the capture.
  var at: Int64 = 0
  /// The time to its answer, in microseconds.
  var answerAfter: Int64?
  var repeats: UInt16 = 0
  /// Its fate before a late answer; `nil` if the answer was in time.
  var before: Fate?
  var id: UInt32 = 0
  var connection: UInt32 = 1
  var sequence: UInt64 = 7
  /// The index of its answer's status in exchanges.
  var status: UInt16 = 0

  init(_ fate: Fate, _ change: (inout MadeExchange) -> Void = { _ in }) {
    self.fate = fate
    change(&self)
  }

  /// The beginning of the captures in these tests: 2023-11-14 22:13:20 UTC.
  static let begin = Timestamp(seconds: 1_700_000_000, fraction: 0)

  var role: FrameRole {
    switch kind {
    case .data: .message
    case .heartbeat: .heartbeat
    case .ack: .acknowledgment
    case .control: .control
    case .receipt: .receipt
    }
  }

  var exchange: Exchange { exchange(ofKind: kind.rawValue) }

  /// The exchange with another type, given by its index.
  func exchange(ofKind kind: UInt8) -> Exchange {
    var kept = KeptExchange(
      number: UInt32(truncatingIfNeeded: sequence), session: 0, direction: direction,
      firstAt: Self.begin.advanced(by: at * 1_000_000), flow: 0, connection: connection, bodyCount: 10, end: 0,
      fingerprint: 0, clock: 0, flags: [.good, .resolved], plan: 0, kind: kind)
    if let answerAfter {
      _ = kept.answered(at: kept.firstAt.advanced(by: answerAfter * 1_000), status: status)
    }
    if let before {
      kept.flags.insert(.late)
      decide(before, &kept.outcome)
      kept.outcome.change(to: fate)
    } else {
      decide(fate, &kept.outcome)
    }
    var rest = ExchangeRest()
    rest.repeats = repeats
    return Exchange(kept, sequence: sequence, id: id, rest: rest)
  }

  private func decide(_ fate: Fate, _ outcome: inout FateAndCause) {
    outcome.decide(fate)
    if fate == .unanswered { outcome.reach(cause.map { $0 == .peer }) }
    if fate == .unknown, cause == .limit { outcome.decideByLimit() }
  }
}

extension Array<MadeExchange> {
  /// `count` equal exchanges.
  static func many(_ count: Int, _ fate: Fate, _ change: (inout MadeExchange) -> Void = { _ in }) -> [MadeExchange] {
    [MadeExchange](repeating: MadeExchange(fate, change), count: count)
  }
}

extension ConnectionReport {
  /// The last report of a connection.
  static func made(
    _ serial: UInt32, _ reason: CloseReason = .fin, from: Int64 = 0, to: Int64 = 1_000,
    _ change: (inout ConnectionReport) -> Void = { _ in }
  ) -> ConnectionReport {
    let begin = MadeExchange.begin.advanced(by: from * 1_000_000), end = MadeExchange.begin.advanced(by: to * 1_000_000)
    let info = ConnectionInfo(
      told: serial, client: Endpoint(address: IPAddress(v4: 0xc000_0200 + serial), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xc633_6401), port: 8_080))
    var report = ConnectionReport.undecoded(info, reason, from: begin, to: end)
    change(&report)
    return report
  }
}
