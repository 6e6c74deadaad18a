import Foundation
import IMTestSupport
import IMWire
import Testing

/// Percentiles of many round trips are the same wherever they are shown, and those of the sorted round trips.
@Suite struct PercentileTests {
  /// A capture of one minute with 400 messages of each direction, and their round trips in microseconds.
  private static func capture(_ folder: Scratch) throws -> (path: String, roundTrips: [[Int64]]) {
    var random = SeededRandom(11)
    let begin: Int64 = 1_760_000_040_000_000
    var events: [(at: Int64, direction: Direction, frame: TJPFrameBuilder)] = []
    var roundTrips: [[Int64]] = [[], []]
    for i in 0..<800 as Range<UInt32> {
      let direction: Direction = i % 2 == 0 ? .clientToServer : .serverToClient
      // From 50 us to 3 s, most of them short.
      let time = Int64(50 * pow(60_000, Double(random.next() % 10_000) / 10_000))
      let at = begin + 100_000 + Int64(i) * 60_000
      events.append((at, direction, TJPFrameBuilder(text: "m", sequence: i + 1)))
      events.append((at + time, direction == .clientToServer ? .serverToClient : .clientToServer, .echoACK(of: i + 1)))
      roundTrips[Int(direction.rawValue)].append(time)
    }
    var talk = ConversationBuilder(
      client: Endpoint(address: IPAddress(v4: 0xc000_020a), port: 40_000),
      server: Endpoint(address: IPAddress(v4: 0xcb00_7105), port: 8_080))
    talk.open(at: Timestamp(microseconds: begin))
    for event in events.sorted(by: { $0.at < $1.at }) {
      talk.send(event.frame.bytes, event.direction, at: Timestamp(microseconds: event.at))
    }
    let bytes = CaptureBuilder(talk.packets.sorted { $0.timestamp < $1.timestamp }).pcap()
    return (try folder.file("a.pcap", bytes), roundTrips)
  }

  private static func milliseconds(_ object: [String: Any], _ place: String) -> Double? {
    (CatalogueTests.value(object, place) as? NSNumber)?.doubleValue
  }

  @Test func everyOutputHasTheSame() throws {
    let folder = try Scratch()
    let (path, roundTrips) = try Self.capture(folder)
    let stats = try #require(try Store.objects(["stats", "-q", "--json", path]).first)
    let byDirection = try Store.objects(["messages", "-q", "--json", "--by", "direction", path])
    let bySession = try #require(try Store.objects(["stats", "-q", "--json", "--by", "session", path]).first)
    let period = try #require(try Store.objects(["stats", "-q", "--json", "--per", "1m", path]).first)
    let summary = try #require(
      try Store.objects(["stats", "-q", "--format", "ecs", path]).first {
        CatalogueTests.value($0, "imdump.summary.rtt.client_to_server.p50_ms") != nil
      })
    let store = try Store([path])
    let row = try store.rows("SELECT * FROM bucket WHERE width_s = 60")[0]
    let session = try store.rows("SELECT * FROM session")[0]
    for (way, name, short) in [(0, "client_to_server", "c2s"), (1, "server_to_client", "s2c")] {
      for percent in [50.0, 95, 99] {
        let sorted = roundTrips[way].sorted()
        let truth = Double(sorted[Int((percent / 100 * Double(sorted.count)).rounded(.up)) - 1]) / 1_000
        let key = "p\(Int(percent))"
        let shown = try #require(Self.milliseconds(stats, "total.rtt_us.\(name).\(key)")) / 1_000
        #expect(abs(shown - truth) <= truth / 1_000 + 0.001, "\(name) \(key)")
        #expect(Self.milliseconds(period, "rtt.\(name).\(key)_ms") == shown, "\(name) \(key)")
        #expect(Self.milliseconds(summary, "imdump.summary.rtt.\(name).\(key)_ms") == shown, "\(name) \(key)")
        #expect(Self.milliseconds(row, "rtt_\(short)_\(key)_us").map { $0 / 1_000 } == shown, "\(name) \(key)")
        guard percent < 99 else { continue }
        let group = try #require(byDirection.first { $0["direction"] as? String == short })
        for object in [group, bySession] {
          #expect(Self.milliseconds(object, "rtt_ms.\(name).\(key)") == shown, "\(name) \(key)")
        }
        guard percent == 95 else { continue }
        #expect(Self.milliseconds(session, "rtt_\(short)_p95_us").map { $0 / 1_000 } == shown, "\(name) \(key)")
      }
    }
  }
}
