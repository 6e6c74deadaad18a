import Foundation
import IMCapture
import IMEngine
import IMMetrics
import IMOutput
import IMReport
import IMTestSupport
import IMWire
import Testing

@testable import IMPipeline
@testable import IMRun
@testable import IMSystem

/// The page of a capture that goes on, beside what `imdump stats` counts of the same packets.
@Suite struct LivePageTests {
  /// What the page shows at the end of a capture, and what stats counts.
  private func models(
    _ path: String, window: String, profiles: [String] = [], steps: Int? = nil
  ) throws -> (page: ReportModel, stats: StatsSink) {
    var input = InputOptions()
    input.files = [path]
    if let steps { input.steps = ReadingSteps(packets: steps) }
    let plans = try loadProfiles(profiles)
    var quiet = ReportOptions()
    quiet.isQuiet = true
    let run = Run(embedded: input, plans: plans, decode: DecodeOptions(), report: quiet)
    var choices = RunChoices()
    choices.page = PageOptions()
    choices.page?.window = PeriodLength(word: window)
    let companions = try run.companions(choices, Output.standard())
    let stats = StatsSink(plans: plans)
    // As a live capture is read: reports come when connections are over.
    let driver = run.driver(run.engine([.connections, .resolutions], sink: stats, companions: companions), companions)
    _ = run.lead(driver)
    let page = try #require(companions.lazy.compactMap { $0 as? LivePage }.first)
    return (page.model(driver), stats)
  }

  /// A window as long as the capture has everything.
  @Test(arguments: try Samples.captures()) func aLongWindowHasWhatStatsHas(_ sample: String) throws {
    let (page, stats) = try models(Samples.path(sample), window: "24h")
    let (total, figures) = (stats.total, page.figures)
    for direction in [Direction.clientToServer, .serverToClient] {
      for fate in Fate.allCases {
        #expect(figures.messages[direction][fate] == total.messages[direction][fate], "\(fate)")
      }
      #expect(figures.messages[direction].units == total.messages[direction].units)
    }
    for direction in [Direction.clientToServer, .serverToClient] {
      let (found, wanted) = (figures.roundTrips(direction), total.roundTripsByDirection[Int(direction.rawValue)])
      #expect(found.count == wanted.count && found.sum == wanted.sum)
      for percent in [50.0, 95, 99] { #expect(found.percentile(percent) == wanted.percentile(percent)) }
    }
    #expect(figures.heartbeats.answered == total.heartbeats.answered)
    #expect(figures.heartbeats.missed == total.heartbeats.missed)
    #expect(figures.heartbeats.sent == total.heartbeats.sent)
    #expect(figures.connections == total.connections || figures.connections.refused == total.connections.refused)
    if figures.connections == total.connections { #expect(figures.total.counts == total.counts) }
    // Charts, rows and lost messages add up to the same.
    let both = total.messages.both
    let lost = UInt64(both.unanswered) + UInt64(both.damaged)
    let buckets = page.series.all.map(\.value)
    #expect(buckets.reduce(0) { $0 + UInt64($1.lost) } == lost)
    #expect(buckets.reduce(0) { $0 + $1.roundTrips.count } == total.roundTrips.count)
    #expect(page.connections.reduce(0) { $0 + $1.lost } == lost)
    #expect(page.connections.reduce(0) { $0 + $1.messages } == UInt64(both.units))
    #expect(page.affected.reduce(0) { $0 + $1.lost } == lost)
    #expect((page.losses == nil) == (lost == 0))
    #expect(lost == 0 || !page.ladders.isEmpty)
    if page.summary.ledger.cutPackets == 0 {
      #expect(page.transport.all.reduce(0) { $0 + $1.value.bytes } == page.summary.ledger.packetBytes)
    }
  }

  /// TCP connections over time, also for traffic that is not decoded: the same as in `imdump streams`.
  @Test(
    arguments: [
      ("tjp-weak-network.pcap", 6, 1, 2, 2), ("tjp-v2-chat.pcap", 2, 2, 0, 0), ("cmpp-gateway.pcap", 2, 2, 0, 0),
    ] as [(String, UInt32, UInt32, UInt32, UInt32)])
  func connectionsOverTime(
    _ sample: String, _ opened: UInt32, _ closed: UInt32, _ reset: UInt32, _ failed: UInt32
  ) throws {
    let page = try models(Samples.path(sample), window: "24h").page
    let buckets = page.transport.all.map(\.value)
    #expect(buckets.reduce(0) { $0 + $1.opened } == opened && buckets.reduce(0) { $0 + $1.closed } == closed)
    #expect(buckets.reduce(0) { $0 + $1.reset } == reset && buckets.reduce(0) { $0 + $1.failed } == failed)
    #expect(buckets.reduce(0) { $0 + $1.handshakes.count } == UInt64(opened))
    #expect(
      String(decoding: Page().html(page), as: UTF8.self).contains("id=\"tcp-rows\"")
        == (page.summary.ledger.decodedConnections == 0))
    // A short window drops older buckets.
    let young = try models(Samples.path(sample), window: "1m").page
    #expect(young.transport.span.map { $0.begin.seconds >= young.live?.covered?.from.seconds ?? 0 } ?? true)
  }

  /// The same packets make the same page, however they are cut into batches.
  @Test(arguments: ["tjp-weak-network.pcap", "tjp-damage.pcap", "mqtt5-mosquitto.pcap"])
  func theSamePacketsMakeTheSamePage(_ sample: String) throws {
    for window in ["1m", "1h"] {
      let whole = Page().html(try models(Samples.path(sample), window: window).page)
      #expect(Page().html(try models(Samples.path(sample), window: window, steps: 7).page) == whole)
    }
  }

  /// What is older than the window is forgotten, and the rest is counted as it was.
  @Test func whatIsOldIsForgotten() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    let (page, _) = try models(path, window: "1m")
    let (all, _) = try models(path, window: "1h")
    let covered = try #require(page.live?.covered)
    // The capture lasts from 08:53:20 to 08:55:08.
    #expect(covered.from == Timestamp(seconds: 1_760_000_040, fraction: 0) && covered.from > covered.begun)
    let young = all.series.all.filter { $0.begin >= covered.from }.map(\.value)
    #expect(page.series.all.reduce(0) { $0 + $1.value.messages } == young.reduce(0) { $0 + $1.messages })
    #expect(UInt64(page.figures.messages.both.units) == young.reduce(0) { $0 + UInt64($1.messages) })
    for direction in [Direction.clientToServer, .serverToClient] {
      #expect(
        page.figures.roundTrips(direction).count == young.reduce(0) { $0 + $1.roundTrips[direction].count })
    }
    #expect(page.summary.ledger.packets < all.summary.ledger.packets && page.summary.ledger.packets > 0)
    #expect(page.losses == nil, "the lost messages were sent before")
    #expect(page.countedLines == all.countedLines, "the whole capture's counts stay")
  }

  /// However many connections there are, few are kept, and those with problems are among them.
  @Test func manyConnectionsAreForgotten() throws {
    var connections = TrackedConnections()
    let at = { (second: Int64) in Timestamp(seconds: 1_760_000_000 + second, fraction: 0) }
    func info(_ serial: UInt32) -> ConnectionInfo {
      ConnectionInfo(
        told: serial, client: Endpoint(address: IPAddress(v4: serial), port: 1),
        server: Endpoint(address: IPAddress(v4: 1), port: 2))
    }
    var forgotten: UInt64 = 0
    for serial in 1...UInt32(20_000) {
      forgotten += connections.carry(info(serial), at: at(Int64(serial))) { tracked in
        if serial == 3 {
          tracked.met(
            Issue(.frameCut, timestamp: at(3), direction: .clientToServer, streamOffset: 0))
        }
        tracked.lastSeen = at(Int64(serial))
      }
      #expect(connections.all.count <= TrackedConnections.maximumCount)
    }
    #expect(forgotten + UInt64(connections.all.count) == 20_000)
    #expect(connections.all[3]?.score == 1 && connections.all[20_000] != nil && connections.all[4] == nil)
  }

  /// A trail has the last frames; from a problem on, it has those from shortly before it.
  @Test func aTrailKeepsWhatLedToAProblem() {
    var trail = LadderTrail()
    let at = { (second: Int) in Timestamp(seconds: 1_760_000_000 + Int64(second), fraction: 0) }
    func step(_ number: Int) -> Ladder.Step {
      Ladder.Step(label: "data \(number)", sequence: UInt64(number), isFromClient: true, facts: [], copy: 1)
    }
    for number in 0..<1_000 { trail.frame(step(number), at: at(number), of: UInt32(number)) }
    #expect((LadderTrail.length...2 * LadderTrail.length).contains(trail.rows.count))
    #expect(trail.before == UInt64(1_000 - trail.rows.count))
    trail.trouble(at(990))
    #expect(trail.rows.first?.at == at(990 - LadderTrail.lead) && trail.rows.count == 10 + LadderTrail.lead)
    for number in 1_000..<2_000 { trail.frame(step(number), at: at(number), of: UInt32(number)) }
    #expect(trail.rows.count == LadderTrail.limit)
    #expect(trail.before + UInt64(trail.rows.count) + trail.behind == 2_000)
  }

  @Test(arguments: [
    (60, 60, 1), (90, 60, 2), (600, 60, 10), (3_600, 60, 60), (7_200, 120, 60), (86_400, 1_440, 60),
  ])
  func windows(_ seconds: Int64, _ slice: Int64, _ count: Int64) {
    let window = PageWindow(seconds: seconds)
    #expect(window.slice == slice && window.count == count)
  }
}
