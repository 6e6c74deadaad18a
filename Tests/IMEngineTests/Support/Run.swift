import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// The built-in plans, compiled once.
enum Plans {
  static let tjp = plan("tjp")
  static let mqtt = plan("mqtt")
  static let both = [tjp, mqtt]
  /// Those that are in use by default.
  static let usual = BuiltInProfiles.usual.map(plan)

  private static func plan(_ name: String) -> ProtocolPlan {
    do { return try BuiltInProfiles.plan(name) } catch { preconditionFailure("\(error)") }
  }
}

/// A capture led through an engine from its first packet to its end, and everything that came of it.
struct Run {
  let heard: Recorder
  let ledger: Ledger
  let reassembly: ReassemblyCounters
  let heldBytes: Int
  let reconnects: UInt64
  /// Packets that are no TCP, by what they are.
  let unread: [UnreadKind: UInt64]
  /// Totals by plan, type (64 for unknown ones).
  let totals: [[KindTotals]]
  /// What was not in order in sequence numbers, by plan.
  let orders: [[SequenceTotals]]

  var frames: [SeenFrame] { heard.frames }
  var issues: [IMEngine.Issue] { heard.issues.map(\.issue) }
  var gaps: [IMEngine.Issue] { issues.filter { $0.kind == .gap } }

  /// Takes `packets` in the order given. `batches` is how many packets a batch holds, `cut` how many the first one does; the
  /// answer must not depend on it. `end` is when the capture ended, where that was later than the last packet.
  init(
    _ packets: [TimedPacket], plans: [ProtocolPlan] = Plans.both, snapLength: Int = 262_144, batches: Int = .max,
    cut: Int? = nil, end: Timestamp? = nil, hasTimes: Bool = true,
    _ change: (inout EngineOptions) -> Void = { _ in }
  ) {
    var options = EngineOptions(plans: plans)
    options.needs = [.frames, .resolved, .finished, .issues, .connections]
    change(&options)
    let heard = Recorder()
    var engine = Engine(options: options, sink: heard)
    if !hasTimes { engine.lacksTimes() }
    var first = 0
    while first < packets.count {
      let size = first == 0 ? cut ?? batches : batches
      let end = size > packets.count - first ? packets.count : first + size
      var capture = CaptureBuilder([TimedPacket](packets[first..<end]))
      capture.snapLength = snapLength
      let batch = capture.batch(firstNumber: UInt64(first + 1))
      engine.process(batch.bytes.span.bytes, batch.records.span)
      first = end
    }
    engine.finish(at: end)
    self.heard = heard
    ledger = engine.totals
    reassembly = engine.reassembly
    heldBytes = engine.heldBytes
    reconnects = engine.reconnects
    var unread: [UnreadKind: UInt64] = [:]
    for kind in UnreadKind.allCases where engine.unread(kind) > 0 { unread[kind] = engine.unread(kind) }
    self.unread = unread
    orders = plans.indices.map { engine.sequenceTotals(plan: $0) }
    totals = plans.indices.map { plan in (0...64).map { engine.totals(plan: plan, kind: $0) } }
  }

  /// Everything captured must be somewhere, once: packets, payload bytes, messages.
  func expectLedgerAddsUp(_ comment: Comment? = nil, sourceLocation: SourceLocation = #_sourceLocation) {
    var skipped: UInt64 = 0
    for reason in SkipReason.allCases { skipped += ledger.skipped[Int(reason.rawValue)] }
    #expect(ledger.packets == ledger.segments + skipped, comment, sourceLocation: sourceLocation)
    let used =
      ledger.decodedBytes + ledger.damagedBytes + ledger.strayBytes + ledger.unreadBytes + reassembly.repeatedBytes
      + reassembly.ignoredBytes
    #expect(reassembly.payloadBytes == used, comment, sourceLocation: sourceLocation)
    #expect(heldBytes == 0, comment, sourceLocation: sourceLocation)
    var units: UInt32 = 0
    for total in totals.joined() {
      for way in 0...1 {
        #expect(total.fates[way].open == 0, comment, sourceLocation: sourceLocation)
        units += total.fates[way].units
      }
    }
    #expect(
      units == UInt32(heard.finished.count { $0.fate != .unacknowledged }), comment, sourceLocation: sourceLocation)
    #expect(
      ledger.decodedBytes + ledger.cutBytes + ledger.damagedBytes == UInt64(frames.reduce(0) { $0 + $1.bytes.count }),
      comment, sourceLocation: sourceLocation)
  }
}
