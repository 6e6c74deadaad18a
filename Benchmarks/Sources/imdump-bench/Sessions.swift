import CSQLite
@testable import IMBrowser
@testable import IMStore
import IMWire

/// The list of sessions: its inputs combined, its order made anew, its rows read.
enum SessionMarks {
  static func run(store: String) throws {
    signal()
    recompute()
    try statements(store)
  }

  private static func signal() {
    var signal = CombinedSignal(SessionsRequest(), quiet: .milliseconds(30), patience: .milliseconds(60))
    _ = signal.take(at: .zero)
    var outputs = 0
    for change in 0..<2_000 {
      let now = Duration.microseconds(1_000_000 + change * 100)
      if signal.take(at: now) != nil { outputs += 1 }
      signal.change(at: now) { inputs in
        switch change % 5 {
        case 0: inputs.commit += 1
        case 1: inputs.order.sort = SessionSort.allCases[change / 5 % SessionSort.allCases.count]
        case 2: inputs.order.isReversed.toggle()
        case 3: inputs.order.filter = "\(change)"
        default: inputs.order.pins = [Int64(change)]
        }
      }
    }
    if signal.take(at: .seconds(9)) != nil { outputs += 1 }
    tell("five inputs combined", "2,000 changes in 0.2 s are few outputs", "\(outputs) outputs", outputs <= 5)
  }

  private static func recompute() {
    let sessions = made(10_000)
    var times = Times()
    for round in 0..<70 {
      var order = SessionOrder()
      order.sort = SessionSort.allCases[round % SessionSort.allCases.count]
      order.isReversed = round % 2 == 1
      order.filter = round % 3 == 0 ? "" : "10.0"
      order.pins = [3, 77, 9_000]
      let rows = times.measure { order.arrange(sessions) }
      precondition((rows?.count ?? 0) > 5_000)
    }
    tell("10,000 sessions sorted, filtered, pinned", "p50 <= 30 ms", times.text, times.percentile(50) <= 30)
  }

  static func made(_ count: Int) -> [StoredSession] {
    (1...Int64(count)).map { i in
      StoredSession(
        id: i, name: "user\(i * 7_919 % 10_007)", profile: "tjp", connection: i,
        client: "10.0.\(i / 250).\(i % 250):\(20_000 + i)", server: "192.168.0.9:8080", connections: 1,
        messages: i * 31 % 997, unanswered: i % 50 == 0 ? 1 : 0, rejected: 0, damaged: 0, retries: i % 20 == 0 ? 2 : 0,
        late: 0, heartbeats: 0, lostHeartbeats: 0, roundTrip95ToServer: i * 7_907 % 100_003, roundTrip95ToClient: nil,
        lastMessage: i,
        first: Timestamp(microseconds: 1_760_000_000_000_000), last: Timestamp(microseconds: 1_760_000_000_000_000 + i))
    }
  }

  private static func statements(_ store: String) throws {
    let reader = try StoreReader(store)
    let count = Counter()
    sqlite3_trace_v2(
      reader.database.handle, UInt32(SQLITE_TRACE_STMT),
      { _, context, _, _ in
        if let context { Unmanaged<Counter>.fromOpaque(context).takeUnretainedValue().value += 1 }
        return 0
      }, Unmanaged.passUnretained(count).toOpaque())
    var times = Times()
    let sessions = try times.measure { try reader.sessions() }
    for _ in 0..<9 { _ = try times.measure { try reader.sessions() } }
    withExtendedLifetime(count) {
      tell(
        "statements for rows of a refreshed list", "0 a row",
        "\(count.value / 10) for \(sessions.count) rows, \(times.text)", count.value == 10)
    }
  }

  private final class Counter { var value = 0 }
}
