import IMEngineTestSupport
import IMMetrics
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMOutput

/// Lists and tables that grow with the traffic: their contents, order and limits.
@Suite struct BoundedListTests {
  private static func info(_ serial: UInt32, plan: UInt8 = 0) -> ConnectionInfo {
    var info = ConnectionInfo(told: serial, client: MadeReport.client, server: MadeReport.server)
    info.plan = plan
    return info
  }

  // MARK: The connections with the most problems

  /// The twenty worst connections, ties resolved by serial number, in whichever order they end.
  @Test func theWorstConnections() {
    var random = SeededRandom(101)
    let base = MadeReport.decoded()
    for _ in 0..<20 {
      // Few different scores, so that there are many ties.
      let scores = (1...60 as ClosedRange<UInt32>).map { (serial: $0, score: random.next() % 6) }
      let expected = scores.filter { $0.score > 0 }.sorted { ($1.score, $0.serial) < ($0.score, $1.serial) }.prefix(20)
      var worst = WorstConnections()
      for (serial, score) in scores.shuffled(using: &random) {
        var report = base
        (report.info.serial, report.rare.deliberateCopies) = (serial, UInt32(score))
        worst.add(report)
      }
      #expect(worst.entries.map(\.report.info.serial) == expected.map(\.serial))
      #expect(worst.entries.map(\.score) == expected.map(\.score))
    }
    var none = WorstConnections()
    none.add(base)
    none.add(MadeReport.undecoded())
    #expect(none.entries.isEmpty)
  }

  // MARK: Hashes of exchanges

  /// Compared with a dictionary: consecutive numbers, some that stay open for long, and some that are far apart.
  @Test(arguments: [1, 2, 3]) func exchangeHashes(_ seed: UInt64) {
    var random = SeededRandom(seed)
    var hashes = ExchangeHashes()
    var model: [UInt32: UInt64] = [:]
    var next: UInt32 = seed == 3 ? .max - 30_000 : 0
    for _ in 0..<20_000 {
      let id = random.once(in: 50) ? UInt32(truncatingIfNeeded: random.next() % 0xffff_ffff) : next
      if id == next { next &+= 1 }
      guard id != .max else { continue }
      let hash = random.next()
      hashes.insert(hash, id)
      model[id] = hash
      // Some are overwritten, and most are removed soon.
      let other = id &- UInt32(truncatingIfNeeded: random.next() % 40)
      if random.once(in: 5), model[other] != nil {
        hashes.insert(hash &+ 1, other)
        model[other] = hash &+ 1
      }
      let old = id &- UInt32(truncatingIfNeeded: random.next() % 6_000)
      guard old != .max else { continue }
      #expect(hashes[old] == model[old])
      if !random.once(in: 4) { #expect(hashes.remove(old) == model.removeValue(forKey: old)) }
    }
    for (id, hash) in model { #expect(hashes[id] == hash) }
    for id in model.keys { #expect(hashes.remove(id) != nil && hashes[id] == nil) }
    #expect(hashes[.max] == nil && hashes.remove(.max) == nil)
  }

  // MARK: Short lists

  @Test func shortLists() {
    for count in 0...5 {
      var list = ShortList<Int>()
      for element in 0..<count { list.append(element * 10) }
      #expect(Array(list) == (0..<count).map { $0 * 10 } && list.count == count && list.isEmpty == (count == 0))
      #expect(list.first == (count > 0 ? 0 : nil) && list.last == (count > 0 ? (count - 1) * 10 : nil))
    }
    var one = ShortList(7)
    one.append(8)
    #expect(Array(one) == [7, 8] && Array(ShortList<Int>(nil)).isEmpty)
  }

  // MARK: Gaps in front of frames

  private static func issue(
    _ details: IssueDetails, at offset: UInt64, count: UInt64, _ direction: Direction = .clientToServer
  ) -> IMEngine.Issue {
    IMEngine.Issue(
      details, timestamp: Timestamp(milliseconds: 1), direction: direction, streamOffset: offset, byteCount: count)
  }

  private static let kind = {
    let kind = UnsafeMutablePointer<FrameKind>.allocate(capacity: 1)
    kind.initialize(to: FrameKind())
    return UInt(bitPattern: kind)
  }()

  private static func frame(at offset: UInt64) throws -> Frame {
    var frame = Frame(kind: try #require(UnsafePointer<FrameKind>(bitPattern: kind)))
    frame.streamOffset = offset
    return frame
  }

  @Test func gapMarks() throws {
    var marks = GapMarks()
    let info = Self.info(1)
    #expect(marks.isEmpty)
    // An issue that is not a gap, and a gap in a connection that will never be decoded, leave no mark.
    marks.note(Self.issue(.frameCut, at: 5, count: 9), info)
    marks.note(Self.issue(.gap(.unseen), at: 5, count: 9), Self.info(1, plan: 254))
    #expect(marks.isEmpty)
    marks.note(Self.issue(.gap(.unseen), at: 100, count: 50), info)
    marks.note(Self.issue(.gap(.unseen), at: 170, count: 30), info)
    marks.note(Self.issue(.resynchronised, at: 200, count: 20), info)
    // A frame before the end, a frame of the other direction, and a frame of another connection do not take the mark.
    #expect(marks.take(try Self.frame(at: 219), info, .clientToServer) == nil)
    #expect(marks.take(try Self.frame(at: 500), info, .serverToClient) == nil)
    #expect(marks.take(try Self.frame(at: 500), Self.info(2), .clientToServer) == nil)
    let mark = try #require(marks.take(try Self.frame(at: 220), info, .clientToServer))
    #expect(mark.missing == 80 && mark.early.isEmpty && marks.isEmpty)
    #expect(marks.take(try Self.frame(at: 221), info, .clientToServer) == nil)
  }

  /// A mark belongs to its sender's stream, even if client and server are swapped later.
  @Test func gapMarksOfTurnedConnections() throws {
    var marks = GapMarks()
    var info = Self.info(1)
    marks.note(Self.issue(.gap(.unseen), at: 0, count: 10), info)
    swap(&info.client, &info.server)
    info.peer = info.client
    #expect(marks.take(try Self.frame(at: 10), info, .clientToServer) == nil)
    #expect(marks.take(try Self.frame(at: 10), info, .serverToClient)?.missing == 10)
  }

  /// Gaps seen before the profile is known: at most 1,024 of a stream are kept separately. Those without a later frame are returned once
  /// a frame has determined the profile.
  @Test func earlyGaps() throws {
    var marks = GapMarks()
    for number in 0..<1_030 as Range<UInt64> {
      marks.note(Self.issue(.gap(.unseen), at: number * 10, count: 1), Self.info(1, plan: .max))
    }
    marks.note(Self.issue(.gap(.unseen), at: 0, count: 7, .serverToClient), Self.info(1, plan: .max))
    marks.note(Self.issue(.gap(.unseen), at: 0, count: 3), Self.info(2, plan: .max))
    let mark = try #require(marks.take(try Self.frame(at: 20_000), Self.info(1), .clientToServer))
    #expect(mark.early.count == 1_024 && mark.missing == 1_030)
    #expect(mark.early.reduce(0) { $0 + $1.byteCount } == 1_030 && mark.early.last?.byteCount == 7)
    // The other direction of the first connection; the second one has no frame.
    let rest = marks.takeRest()
    #expect(rest.map(\.gap.byteCount) == [7] && rest.map(\.info.serial) == [1] && marks.takeRest().isEmpty)
  }

  @Test func gapMarksAreBounded() {
    var marks = GapMarks()
    for serial in 1...16_384 as ClosedRange<UInt32> {
      marks.note(Self.issue(.gap(.unseen), at: 0, count: 1), Self.info(serial, plan: .max))
    }
    // Another gap in a known stream is not another stream; one more stream clears the table.
    marks.note(Self.issue(.gap(.unseen), at: 9, count: 1), Self.info(5, plan: .max))
    #expect(!marks.isEmpty)
    marks.note(Self.issue(.gap(.unseen), at: 0, count: 1), Self.info(20_000, plan: .max))
    for serial in [1, 5, 16_384] as [UInt32] {
      let frame = try? Self.frame(at: 100)
      #expect(frame.flatMap { marks.take($0, Self.info(serial), .clientToServer) } == nil)
    }
    #expect(!marks.isEmpty)
  }

  // MARK: Rejections

  /// The most frequent first; names only if the profile and the traffic contain them, whatever the indices are.
  @Test func refusals() {
    let plans = [MadePlan.tjp()]
    var statuses = StatusRegistry()
    statuses.met(StatusCode(plan: 0, list: 0, number: 403), place: 1)
    var counts = RejectionCounts()
    func add(_ times: Int, plan: UInt8, kind: UInt8, status: UInt16) {
      for _ in 0..<times {
        let exchange = Exchange(
          told: .rejected, role: kind, plan: plan, direction: .clientToServer, id: 0, connection: 1,
          sentAt: .distantPast, decidedAt: .distantPast, copies: 1)
        var resolution = Resolution(exchange, endpoint: 0)
        resolution.status = status
        counts.add(resolution)
      }
    }
    add(2, plan: 0, kind: 0, status: 1)
    add(5, plan: 0, kind: 3, status: 0)
    add(2, plan: 0, kind: 63, status: 9)
    add(1, plan: 9, kind: 0, status: 1)
    let rows = RejectionRow.rows(counts, plans, statuses)
    #expect(rows.map(\.profile) == ["tjp", "tjp", "tjp", "other"])
    #expect(rows.map(\.type) == ["control", "data", "other", "other"])
    #expect(rows.map(\.status) == [nil, 403, nil, 403] && rows.map(\.count) == [5, 2, 2, 1])
    #expect(rows.allSatisfy { $0.name == nil })
    #expect(RejectionRow.rows(counts, plans, statuses, role: .message).map(\.count) == [2])
    #expect(RejectionRow.rows(counts, plans, statuses, role: .heartbeat).isEmpty)
  }

  // MARK: Fates by number

  @Test func outcomesOfMessages() {
    let outcomes = MessageOutcomes()
    for (id, fate) in [(3, Fate.acked), (0, .unanswered), (900, .ackedAfterRetry)] as [(UInt32, Fate)] {
      outcomes.finished(
        Exchange(
          told: fate, role: 0, direction: .clientToServer, id: id, connection: 1, sentAt: .distantPast,
          decidedAt: .distantPast, copies: fate == .ackedAfterRetry ? 70_000 : 1))
    }
    #expect(outcomes[0]?.fate == .unanswered && outcomes[3]?.fate == .acked && outcomes[3]?.retries == 0)
    #expect(outcomes[900]?.retries == 65_535 && outcomes[900]?.isLate == false)
    #expect(outcomes[1] == nil && outcomes[901] == nil && outcomes[.max] == nil)
  }
}
