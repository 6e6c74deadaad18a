import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// Tables that grow with the traffic, and their limits.
@Suite struct RegistryTests {
  /// Exchanges and their owners, compared with a dictionary of all of them.
  @Test func exchangesHaveTheirOwners() {
    var random = SeededRandom(41)
    var registry = ExchangeRegistry(bits: 4)
    var open: [UInt32: UInt32] = [:]
    for id in 0..<5_000 as Range<UInt32> {
      let owner = UInt32(truncatingIfNeeded: random.next())
      registry.add(
        id, owner: owner, at: StreamPosition(offset: UInt64(id) << 27, ordinal: UInt16(id)),
        isLogged: id.isMultiple(of: 3))
      open[id] = owner
      // Most are resolved at once, and some only after the ring has wrapped many times.
      for known in open.keys.sorted() where random.once(in: 3) || open.count > 200 {
        let entry = registry.resolve(known)
        #expect(entry?.owner == open[known] && entry?.id == known && entry?.isLogged == known.isMultiple(of: 3))
        #expect(entry?.position == StreamPosition(offset: UInt64(known) << 27, ordinal: UInt16(known)))
        open[known] = nil
      }
    }
    for known in open.keys.sorted() { #expect(registry.resolve(known)?.owner == open[known]) }
  }

  @Test func aSettledExchangeGivesItsPlaceAway() {
    var registry = ExchangeRegistry(bits: 2)
    registry.add(1, owner: 10, at: StreamPosition(offset: 0))
    #expect(registry.resolve(1)?.owner == 10)
    // A late answer finds its exchange until the slot is reused.
    #expect(registry.resolve(1)?.isSettled == true)
    registry.add(5, owner: 50, at: StreamPosition(offset: 0))
    #expect(registry.resolve(1) == nil && registry.resolve(5)?.owner == 50)
    // An open exchange is kept outside the ring when its slot is reused, and returned once.
    registry.add(6, owner: 60, at: StreamPosition(offset: 0))
    registry.add(10, owner: 100, at: StreamPosition(offset: 0))
    #expect(registry.resolve(6)?.owner == 60 && registry.resolve(6) == nil && registry.resolve(99) == nil)
  }

  /// Exchanges that are never resolved are kept outside the ring, up to a limit.
  @Test func openExchangesAreBounded() {
    var registry = ExchangeRegistry(bits: 0)
    for id in 0..<70_000 as Range<UInt32> { registry.add(id, owner: id, at: StreamPosition(offset: 0)) }
    let known = (0..<70_000 as Range<UInt32>).filter { registry.resolve($0) != nil }
    // 65,536 and the one in the ring.
    #expect(known.count == 65_537 && known.last == 69_999 && known.first == 0)
  }

  @Test func statusesByTheirNumbers() {
    var registry = StatusRegistry()
    let codes = (0..<3 as Range<UInt64>).map { StatusCode(plan: UInt8($0), list: 1, number: 400 + $0) }
    registry.met(codes[0], place: 1)
    // Repeated or out of order: an entry is added only at the next index.
    registry.met(codes[1], place: 1)
    registry.met(codes[2], place: 3)
    #expect(registry[1] == codes[0] && registry[0] == nil && registry[2] == nil && registry[.max] == nil)
    registry.met(codes[1], place: 2)
    #expect(registry[2] == codes[1])
  }

  @Test func serversByTheirIndices() {
    var registry = ServerRegistry(maximumCount: 3)
    func info(_ index: UInt32, port: UInt16, plan: UInt8 = 0) -> ConnectionInfo {
      var server = MadeReport.server
      server.port = port
      var info = ConnectionInfo(told: 1, client: MadeReport.client, server: server)
      (info.endpoint, info.plan) = (index, plan)
      return info
    }
    #expect(registry.index(of: info(2, port: 20)) == 2 && registry[2]?.endpoint.port == 20)
    #expect(registry[0] == nil && registry[1] == nil && registry[.max] == nil)
    #expect(registry.index(of: info(0, port: 10)) == 0 && registry.index(of: info(2, port: 20)) == 2)
    // A server with the index of another one, the same address with another plan, an index beyond the limit, and no index.
    #expect(registry.index(of: info(2, port: 21)) == nil && registry.index(of: info(2, port: 20, plan: 1)) == nil)
    #expect(registry.index(of: info(3, port: 30)) == nil && registry.index(of: info(.max, port: 40)) == nil)
    #expect(registry[2] == EndpointKey(endpoint: info(2, port: 20).server, plan: 0))
    // A failed connection belongs to the server with its address.
    var report = MadeReport.undecoded()
    (report.info, report.serverPlan) = (info(1, port: 11, plan: .max), 0)
    #expect(registry.index(of: report) == 1 && registry[1]?.plan == 0)
    report.serverPlan = nil
    #expect(registry.index(of: report) == nil)
  }

  @Test func rolesOfTypes() {
    let plan = MadePlan.tjp()
    let roles = RoleTable(plans: [plan, plan])
    let expected: [FrameRole] = [.message, .heartbeat, .acknowledgment, .control, .receipt, .other]
    for plan: UInt8 in 0...1 {
      for (kind, role) in expected.enumerated() { #expect(roles[plan, UInt8(kind)] == role) }
      // Types that the profile does not know, whatever their index.
      for kind in [6, 63, 64, 65, 200, .max] as [UInt8] { #expect(roles[plan, kind] == .other) }
    }
    #expect(roles[2, 0] == .other && roles[.max, .max] == .other && RoleTable(plans: [])[0, 0] == .other)
  }

  /// Rejections are counted by plan, type and status, up to 64 combinations.
  @Test func rejections() {
    var counts = RejectionCounts()
    for _ in 0..<3 {
      for status in 0..<50 as Range<UInt16> { counts.add(MadeResolution.make(.rejected, kind: 1, status: status)) }
    }
    counts.add(MadeResolution.make(.rejected, kind: 2, status: 49))
    #expect(counts.entries.count == 51 && counts.others == 0)
    #expect(counts.entries[49].count == 3 && counts.entries[50].count == 1 && counts.entries[50].kind == 2)
    for status in 50..<70 as Range<UInt16> { counts.add(MadeResolution.make(.rejected, kind: 1, status: status)) }
    #expect(counts.entries.count == 64 && counts.others == 7)
    // Known combinations are still counted.
    counts.add(MadeResolution.make(.rejected, kind: 1, status: 0))
    #expect(counts.entries[0].count == 4 && counts.others == 7)
    var sum = RejectionCounts()
    sum.add(counts)
    sum.add(counts)
    #expect(sum.entries.map(\.count) == counts.entries.map { 2 * $0.count } && sum.others == 14)
    #expect(sum.entries.map(\.status) == counts.entries.map(\.status))
  }

  /// Rejections beyond the limit are counted, in whichever order two tables are added.
  @Test func rejectionsAreNeverLost() {
    func table(_ statuses: Range<UInt16>) -> RejectionCounts {
      var counts = RejectionCounts()
      for status in statuses { counts.add(MadeResolution.make(.rejected, status: status)) }
      return counts
    }
    func total(_ counts: RejectionCounts) -> UInt64 { counts.entries.reduce(counts.others) { $0 + $1.count } }
    let (one, other) = (table(0..<80), table(40..<200))
    var first = one, second = other
    first.add(other)
    second.add(one)
    #expect(total(one) == 80 && total(other) == 160 && total(first) == 240 && total(second) == 240)
    #expect(first.entries.count == 64 && second.entries.count == 64)
  }
}
