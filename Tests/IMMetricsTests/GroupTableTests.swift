import IMEngineTestSupport
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMMetrics

/// Messages by session, topic or client, and the limits of their table.
@Suite struct GroupTableTests {
  private static func info(_ serial: UInt32, server port: UInt16 = 8_080) -> ConnectionInfo {
    var server = MadeReport.server
    server.port = port
    return ConnectionInfo(told: serial, client: MadeReport.client, server: server)
  }

  private static func count(
    _ fate: Fate, in table: inout GroupTable, _ group: String, connection: UInt32 = 1, role: FrameRole = .message,
    at second: Int64 = 0, after microseconds: Int64 = 1_000, copies: Int = 1, server: UInt16 = 8_080
  ) {
    let exchange = MadeResolution.exchange(
      fate, connection: connection, at: Timestamp(seconds: 1_000 + second, fraction: 0), after: microseconds,
      copies: copies)
    table.count(exchange, role: role, on: info(connection, server: server), group: group)
  }

  @Test func fatesOfAGroup() throws {
    var table = GroupTable()
    for fate in Fate.allCases { Self.count(fate, in: &table, "a", copies: fate == .ackedAfterRetry ? 2 : 1) }
    Self.count(.ackedAfterRetry, in: &table, "a", copies: 4)
    Self.count(.acked, in: &table, "a", role: .heartbeat)
    Self.count(.unanswered, in: &table, "a", role: .heartbeat)
    Self.count(.damaged, in: &table, "a", role: .heartbeat)
    Self.count(.rejected, in: &table, "a", role: .control)
    let group = try #require(table.groups.first)
    #expect(table.groups.count == 1 && table.others == nil)
    for fate in Fate.allCases { #expect(group[fate] == (fate == .ackedAfterRetry ? 2 : 1), "\(fate)") }
    // One of the 13 exchanges asks for no answer, and it is one of the 9 messages.
    #expect(group.exchanges == 13 && group.units == 12 && group.messages == 8 && group.lost == 2)
    #expect(group.retries == 4 && group.heartbeats == 3 && group.lostHeartbeats == 2)
    // Round trips of messages answered after one copy; heartbeats are excluded.
    #expect(group.roundTrips.count == 1 && group.name == "a" && !group.nameIsNumber)
  }

  @Test func connectionsAndServersOfAGroup() throws {
    var table = GroupTable()
    for (connection, second, server) in [(1, 0, 80), (2, 9, 81), (1, 3, 80), (3, 5, 80)] as [(UInt32, Int64, UInt16)] {
      Self.count(.acked, in: &table, "a", connection: connection, at: second, server: server)
    }
    let group = try #require(table.groups.first)
    #expect(group.connections == 3 && group.hasSeveralServers)
    // The connection of the exchange that began last, in whichever order exchanges are counted.
    #expect(group.connection.serial == 2)
    #expect(group.firstAt == Timestamp(seconds: 1_000, fraction: 0))
    #expect(group.lastAt == Timestamp(seconds: 1_009, fraction: 1_000_000))
  }

  /// Worst first: by lost, rejected and retried messages, then by missed heartbeats; ties are resolved by the earlier beginning.
  @Test func worstFirst() {
    var table = GroupTable()
    Self.count(.acked, in: &table, "fine late", at: 50)
    Self.count(.unanswered, in: &table, "missed heartbeat", role: .heartbeat)
    Self.count(.ackedAfterRetry, in: &table, "retried", copies: 2)
    Self.count(.rejected, in: &table, "refused")
    Self.count(.damaged, in: &table, "lost")
    for _ in 0..<2 { Self.count(.unanswered, in: &table, "lost twice") }
    Self.count(.acked, in: &table, "fine early", at: 10)
    let names = table.worstFirst.compactMap { table.groups[$0].name }
    #expect(names == ["lost twice", "lost", "refused", "retried", "missed heartbeat", "fine early", "fine late"])
  }

  /// Groups beyond the limit are counted together, so that no exchange is missing from the sum.
  @Test(arguments: [1, 3, 10]) func groupsAreBounded(_ limit: Int) {
    var table = GroupTable(limit: limit)
    for i in 0..<40 { Self.count(.acked, in: &table, "\(i % 8)") }
    #expect(table.groups.count == min(limit, 8))
    let sum = table.groups.reduce(table.others?.exchanges ?? 0) { $0 + $1.exchanges }
    #expect(sum == 40 && (table.others == nil) == (limit > 7))
    #expect(table.groups.map(\.name) == (0..<min(limit, 8)).map { "\($0)" })
    if let others = table.others { #expect(others.name == nil && others.exchanges == UInt64(8 - limit) * 5) }
  }

  /// When there is no room for another pair of group and connection, a connection is counted if it is the first of its group, or newer
  /// than all before it. A connection that has a pair is never counted twice.
  @Test func pairsAreBounded() {
    // Room for 20 pairs.
    var table = GroupTable(limit: 2)
    for connection in 1...20 as ClosedRange<UInt32> { Self.count(.acked, in: &table, "a", connection: connection) }
    Self.count(.acked, in: &table, "b", connection: 7)
    #expect(table.groups.map(\.connections) == [20, 1])
    for connection in [7, 9, 7, 9, 8, 30] as [UInt32] { Self.count(.acked, in: &table, "b", connection: connection) }
    // 8 is older than 9, so it may have been counted already.
    #expect(table.groups[1].connections == 3)
    for connection in [5, 20, 3, 21] as [UInt32] { Self.count(.acked, in: &table, "a", connection: connection) }
    #expect(table.groups[0].connections == 21)
  }

  /// The name of a session may be learned after its first message, and does not change after that.
  @Test func namesMayComeLater() {
    var table = GroupTable()
    for name in [nil, "phone", "other"] as [String?] {
      table.count(
        MadeResolution.exchange(.acked, connection: 4), role: .message, on: Self.info(4), name: name,
        nameIsNumber: true)
    }
    #expect(table.groups.map(\.name) == ["phone"] && table.groups[0].nameIsNumber && table.groups[0].exchanges == 3)
  }

  /// Exact percentiles need memory: with little of it, groups have coarse ones, within 2.5 %, and the table reports that.
  @Test func percentilesAreBounded() throws {
    var random = SeededRandom(51)
    var exact = GroupTable(), coarse = GroupTable(limit: 100, bytes: 8 * 150)
    var samples: [[Int64]] = [[], [], []]
    for i in 0..<900 {
      let sample = Int64.random(in: 1_000...900_000, using: &random)
      samples[i % 3].append(sample)
      Self.count(.acked, in: &exact, "\(i % 3)", after: sample)
      Self.count(.acked, in: &coarse, "\(i % 3)", after: sample)
    }
    #expect(!exact.hasCoarsePercentiles && coarse.hasCoarsePercentiles)
    #expect(coarse.groups.reduce(0) { $0 + $1.roundTrips.fineBuckets } <= 150)
    for (group, samples) in samples.enumerated() {
      let sorted = samples.sorted()
      for percent in [50, 90, 99] {
        let truth = Double(sorted[(percent * sorted.count + 99) / 100 - 1])
        let fine = Double(try #require(exact.groups[group].roundTrips[.clientToServer].percentile(Double(percent))))
        let rough = Double(try #require(coarse.groups[group].roundTrips[.clientToServer].percentile(Double(percent))))
        #expect(abs(fine - truth) <= truth / 1_024 + 1 && abs(rough - truth) <= truth * 0.026 + 1, "p\(percent)")
      }
    }
  }
}
