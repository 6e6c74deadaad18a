import Foundation
import IMEngine
import IMEngineTestSupport
import IMMetrics
import IMOutput
import IMTestSupport
import IMWire
import Testing

/// Messages by session: `imdump messages --by session`.
@Suite struct SessionTests {
  /// Counts every message that ends.
  final class Sink: EngineSink {
    let store: MessageStore
    var book: GroupTable
    init(_ plans: [ProtocolPlan], limit: Int) {
      store = MessageStore(plans: plans)
      book = GroupTable(limit: limit)
    }
    func frame(
      _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
      body: RawSpan, tlvs: Span<TLVRef>
    ) {
      store.note(frame, note, connection, direction, body, tlvs)
    }
    func finished(_ exchange: borrowing Exchange) {
      let exchange = copy exchange
      guard let record = store.take(exchange) else { return }
      book.count(
        exchange, role: record.role, on: record.connection, name: record.session,
        nameIsNumber: record.sessionIsNumber)
    }
    func named(_ session: UInt32, _ name: String) {}
    func resolved(_ exchange: borrowing Exchange) {}
    func connection(_ report: ConnectionReport) {}
    func adopted(_ exchange: UInt32, _ times: [Timestamp]) { store.adopted(exchange, times) }
    func issue(_ issue: IMEngine.Issue, _ connection: ConnectionInfo) {}
    func opened(_ connection: ConnectionInfo, _ at: Timestamp) {}
  }

  private func book(_ sample: String, limit: Int = 100_000) throws -> GroupTable {
    let plans = [MadePlan.tjp()]
    let sink = Sink(plans, limit: limit)
    var options = EngineOptions(plans: plans)
    options.needs = [.frames, .finished]
    var engine = Engine(options: options, sink: sink)
    let batch = CaptureBuilder(try Samples.packets(sample)).batch()
    engine.process(batch.bytes.span.bytes, batch.records.span)
    engine.finish()
    return sink.book
  }

  private func truth(_ sample: String) throws -> [Int: [[String: Any]]] {
    let truth = try JSONSerialization.jsonObject(with: Data(try Samples.bytes("\(sample).truth.json")))
    let messages = (truth as? [String: Any])?["messages"] as? [[String: Any]] ?? []
    return Dictionary(grouping: messages.filter { $0["fate"] != nil }) { $0["session"] as? Int ?? -1 }
  }

  @Test(arguments: ["tjp-clean-chat.pcap", "tjp-weak-network.pcap"])
  func figuresAreThoseOfTheTruth(_ sample: String) throws {
    let sessions = try book(sample).groups
    let truth = try truth(sample)
    #expect(Set(sessions.compactMap(\.name)) == Set(truth.keys.map(String.init)))
    for session in sessions {
      let messages = truth[session.name.flatMap { Int($0) } ?? -1] ?? []
      let data = messages.filter { $0["type"] as? String == "data" }
      let beats = messages.filter { $0["type"] as? String == "heartbeat" }
      #expect(session.units == UInt64(messages.count) && session.messages == UInt64(data.count))
      for fate in Fate.allCases {
        #expect(session[fate] == UInt64(data.filter { $0["fate"] as? String == fate.name }.count), "\(fate)")
      }
      #expect(session.heartbeats == UInt64(beats.count))
      #expect(session.lostHeartbeats == UInt64(beats.count { $0["fate"] as? String == "unanswered" }))
      #expect(session.connections == UInt64(Set(messages.compactMap { $0["conn"] as? Int }).count))
      #expect(session.retries == UInt64(data.compactMap { $0["retries"] as? Int }.reduce(0, +)))
      for (way, name) in ["c2s", "s2c"].enumerated() {
        let times = messages.filter {
          $0["retries"] as? Int == 0 && $0["dir"] as? String == name && $0["type"] as? String != "heartbeat"
        }.compactMap { $0["rtt_us"] as? Int }
        #expect(session.roundTrips[way].count == UInt64(times.count), "\(name)")
        #expect(session.roundTrips[way].maximum == times.max().map(Int64.init), "\(name)")
      }
      let begins = messages.compactMap { ($0["ts"] as? [Int])?.first }
      #expect(session.firstAt.microseconds == begins.min().map(Int64.init))
      let ends = messages.flatMap { ($0["ts"] as? [Int] ?? []) + ($0["acks"] as? [Int] ?? []).prefix(1) }
      #expect(session.lastAt.microseconds == ends.max().map(Int64.init))
    }
  }

  @Test func moreSessionsThanTheLimitAreCountedTogether() throws {
    let all = try book("tjp-weak-network.pcap")
    let some = try book("tjp-weak-network.pcap", limit: 1)
    #expect(all.groups.count == 3)
    #expect(all.others == nil)
    #expect(some.groups.count == 1)
    let sum = all.groups.reduce(0) { $0 + $1.units }
    #expect(some.groups[0].units + (some.others?.units ?? 0) == sum)
    var out = ByteWriter()
    GroupWriter(plans: [MadePlan.tjp()], isJSON: true).write(some, to: &out)
    #expect(out.text.split(separator: "\n").last?.hasPrefix(#"{"others":true,"units":"#) == true)
  }

  @Test func theWorstSessionsComeFirst() throws {
    let book = try book("tjp-weak-network.pcap")
    var out = ByteWriter()
    GroupWriter(plans: [MadePlan.tjp()], isJSON: true).write(book, to: &out)
    let rows = try out.text.split(separator: "\n").map {
      Document(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any] ?? [:])
    }
    let ranks = rows.map { [$0.number("lost") ?? 0, $0.number("rejected") ?? 0, $0.number("retries") ?? 0] }
    #expect(ranks.count == 3 && zip(ranks, ranks.dropFirst()).allSatisfy { !$0.lexicographicallyPrecedes($1) })
    // The phone that moved: two connections, and the address of the second.
    let moved = try #require(rows.first { $0.text("client")?.hasPrefix("100.64.17.4:") == true })
    #expect(moved.number("connections") == 2)
    #expect(moved.text("profile") == "tjp")
    for row in rows {
      let sum = Fate.allCases.reduce(0) { $0 + (row.number($1.name) ?? -1) }
      #expect(row.number("messages") == sum)
    }
    var table = ByteWriter()
    GroupWriter(plans: [MadePlan.tjp()], isJSON: false).write(book, to: &table)
    let lines = table.text.split(separator: "\n")
    #expect(lines.count == 4)
    #expect(Set(lines.map(\.count)).count == 1)
  }
}
