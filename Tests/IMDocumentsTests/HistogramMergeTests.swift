import IMDocuments
import IMEngine
import IMMetrics
import IMTestSupport
import IMWire
import Testing

/// Two sensors that each see half of the connections: their summaries' histograms, added up, against all round trips.
@Suite struct HistogramMergeTests {
  /// Numbers that look random and are the same every time.
  private struct Dice {
    var state: UInt64
    mutating func roll() -> Double {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Double(state >> 11) / Double(1 << 53)
    }
  }

  /// 30 connections with 40 messages each, ten seconds apart, and the microseconds after which each was answered.
  private static func traffic(_ seed: UInt64) -> (connections: [[TimedPacket]], answers: [[Int64]]) {
    var dice = Dice(state: seed)
    var connections: [[TimedPacket]] = []
    var answers: [[Int64]] = []
    for number in 0..<30 {
      var talk = ConversationBuilder(
        client: Endpoint(address: IPAddress(v4: 0x0a00_0001 + UInt32(number)), port: 20_000),
        server: Endpoint(address: IPAddress(v4: 0xcb00_7109), port: 8_080))
      var times: [Int64] = []
      let start = 1_700_000_000_000_000 + Int64(number) * 37_000
      talk.open(at: Timestamp(microseconds: start))
      for message in 1...40 {
        let at = start + Int64(message) * 10_000_000
        // From a quarter of a millisecond to four seconds, as many in each octave.
        var time = 0.25
        let octaves = dice.roll() * 14
        for _ in 0..<Int(octaves) { time *= 2 }
        let answer = Int64(time * (1 + octaves.truncatingRemainder(dividingBy: 1)) * 1_000)
        talk.send(
          TJPFrameBuilder(text: "hello", sequence: UInt32(message), session: UInt16(number)).bytes, .clientToServer,
          at: Timestamp(microseconds: at))
        talk.send(
          TJPFrameBuilder.echoACK(of: UInt32(message), session: UInt16(number)).bytes, .serverToClient,
          at: Timestamp(microseconds: at + answer))
        times.append(answer)
      }
      connections.append(talk.packets)
      answers.append(times)
    }
    return (connections, answers)
  }

  /// The histograms of all summaries over packets, added up: counts by value in milliseconds.
  private static func histogram(_ connections: [[TimedPacket]]) throws -> [Double: Int] {
    var sum: [Double: Int] = [:]
    let packets = connections.flatMap { $0 }.sorted { $0.timestamp < $1.timestamp }
    for document in try ECSRun.documents(packets, log: .off) where document.dataset == "imdump.summary" {
      guard let values = document["imdump.summary.rtt.histogram.values"] as? [Double],
        let counts = document["imdump.summary.rtt.histogram.counts"] as? [Int]
      else { continue }
      #expect(values == values.sorted() && values.count == counts.count)
      for (value, count) in zip(values, counts) { sum[value, default: 0] += count }
    }
    return sum
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func theSumOfTwoSensorsHasThePercentilesOfAll(_ seed: UInt64) throws {
    let (connections, answers) = Self.traffic(seed)
    let halves = [0, 1].map { half in connections.indices.filter { $0 % 2 == half }.map { connections[$0] } }
    let merged = try Self.histogram(halves[0]).merging(Self.histogram(halves[1]), uniquingKeysWith: +)
    #expect(try merged == Self.histogram(connections))
    let truth = answers.flatMap { $0 }.sorted()
    #expect(merged.values.reduce(0, +) == truth.count)
    for percent in [50, 90, 95, 99, 99.9] {
      let rank = max(1, Int((percent / 100 * Double(truth.count)).rounded(.up)))
      var seen = 0
      let value = try #require(
        merged.sorted { $0.key < $1.key }.first { entry in
          seen += entry.value
          return seen >= rank
        })
      let exact = Double(truth[rank - 1]) / 1_000
      #expect(abs(value.key - exact) <= exact * 0.025 + 0.001, "p\(percent): \(value.key), not \(exact)")
    }
  }
}
