import Foundation
import IMEngine
import IMTestSupport
import IMWire
import Testing

@testable import IMMetrics

/// Two captures side by side.
@Suite struct ComparisonTests {
  /// The servers, the losses and the delays of a made-up capture.
  private struct Capture {
    /// Connections, and messages of each.
    var connections = 200, messages = 20
    /// How much longer everything takes, and how many connections lose all that they send.
    var scale = 1.0, lost = 0.02

    /// Every client has a delay of its own, log-normal about 50 ms, and its messages differ little from it.
    func groups(_ random: inout SeededRandom) -> (EndpointMetrics, ConnectionGroups) {
      func normal() -> Double {
        let (u, v) = (Double(random.next() >> 11 + 1) / 0x1p53, Double(random.next() >> 11) / 0x1p53)
        return (-2 * log(u)).squareRoot() * cos(2 * .pi * v)
      }
      var (total, groups) = (EndpointMetrics(), ConnectionGroups())
      let start = Timestamp(milliseconds: 1_760_000_000_000)
      for connection in 1...UInt32(connections) {
        let delay = 50_000 * scale * exp(0.3 * normal())
        let isLost = Double(random.next() >> 11) / 0x1p53 < lost
        for message in 0..<UInt32(messages) {
          let trip = Int64(delay * exp(0.05 * normal()))
          let resolution = Resolution(
            Exchange(
              told: isLost ? .unanswered : .acked, role: 0, direction: .clientToServer, id: message,
              connection: connection, sentAt: start, decidedAt: start.advanced(by: .microseconds(trip)), copies: 1),
            endpoint: 0)
          total.resolved(resolution, role: .message)
          groups.resolved(resolution, role: .message)
        }
      }
      return (total, groups)
    }
  }

  /// How many of `pairs` comparisons mark each metric.
  private static func marks(_ old: Capture, _ new: Capture, pairs: Int, seed: UInt64) -> [String: Int] {
    var random = SeededRandom(seed)
    var marks: [String: Int] = [:]
    for _ in 0..<pairs {
      let (one, other) = (old.groups(&random), new.groups(&random))
      for figure in ComparedMetric.all(one.0, other.0, (one.1, other.1)) where figure.differs == true {
        marks[figure.name, default: 0] += 1
      }
    }
    return marks
  }

  /// Two captures of one distribution, where the connection decides the delay and the loss: messages are no observations. Chance marks
  /// a metric in at most 10 of 5,000 comparisons, and in none or one of the few that a short run makes.
  @Test func chanceMarksNothing() {
    let isLong = ProcessInfo.processInfo.environment["IMDUMP_LONG"] != nil
    for (pairs, most, capture) in [
      (isLong ? 5_000 : 100, isLong ? 10 : 1, Capture()),
      (isLong ? 1_000 : 30, isLong ? 5 : 1, Capture(connections: 20, messages: 50, lost: 0.2)),
      (isLong ? 300 : 5, isLong ? 3 : 1, Capture(connections: 700, messages: 5)),
    ] {
      let marks = Self.marks(capture, capture, pairs: pairs, seed: 11)
      #expect(marks.allSatisfy { $0.value <= most }, "\(pairs) pairs: \(marks)")
    }
  }

  /// A median that is a fifth higher is marked in nine of ten comparisons of 200 connections; so are 50 connections lost of 200 where 4 were.
  @Test func differencesAreMarked() throws {
    let slower = Self.marks(Capture(), Capture(scale: 1.2), pairs: 40, seed: 12)
    #expect(slower["rtt_p50[c2s]", default: 0] >= 36, "\(slower)")
    let lossier = Self.marks(Capture(), Capture(lost: 0.25), pairs: 20, seed: 13)
    #expect(lossier["loss", default: 0] >= 16 && lossier["success", default: 0] >= 16, "\(lossier)")
  }

  /// A share of ten connections each, whose messages were all lost or all answered: hypergeometric, two-sided.
  @Test(
    arguments: [
      // 2 / C(16, 8) is rare enough, 2 / C(14, 7) is not; nor is any deal of ten and one.
      (8, 0, 8, 8, true), (7, 0, 7, 7, nil), (10, 0, 1, 1, nil), (1, 1, 1, 0, nil), (0, 0, 8, 8, nil),
      // 0 of 10 and 6 of 10: p = 0.011; 0 of 20 and 12 of 20: p = 0.00002.
      (10, 0, 10, 6, false), (20, 0, 20, 12, true), (20, 5, 20, 5, false), (20, 0, 20, 0, false),
      (20, 20, 20, 20, false),
    ] as [(Int, Int, Int, Int, Bool?)])
  func wholeConnections(_ one: Int, _ hits: Int, _ other: Int, _ otherHits: Int, _ expected: Bool?) {
    func observations(_ count: Int, _ hits: Int) -> [Chance.Observation] {
      (0..<count).map { Chance.Observation(hits: $0 < hits ? 20 : 0, trials: 20) }
    }
    let (here, there) = (observations(one, hits), observations(other, otherHits))
    #expect(Chance.differs(here, from: there) == expected)
    // Neither the order of the two nor what is called a hit changes it; nor do connections without a trial.
    #expect(Chance.differs(there, from: here) == expected)
    let misses = [here, there].map { $0.map { Chance.Observation(hits: $0.trials - $0.hits, trials: $0.trials) } }
    #expect(Chance.differs(misses[0], from: misses[1]) == expected)
    let empty = [Chance.Observation](repeating: Chance.Observation(hits: 0, trials: 0), count: 100)
    #expect(Chance.differs(here + empty, from: there) == expected)
  }

  /// One connection with nearly all messages decides nothing: it is one observation.
  @Test func oneLargeConnectionDecidesNothing() {
    let small = (0..<50).map { _ in Chance.Observation(hits: 1, trials: 2) }
    let large = small + [Chance.Observation(hits: 0, trials: 100_000)]
    #expect(Chance.differs(small, from: large) == false)
  }

  /// Samples below a value and at it, by the recorder's three digits.
  @Test func countsAtAValue() {
    var recorder = RTTRecorder()
    #expect(recorder.counts(at: 5) == (0, 0))
    for value in [5, 5, 7, 1_000, 1_000_000, 1_000_001, 2_000_000] as [Int64] { recorder.record(microseconds: value) }
    #expect(recorder.counts(at: 4) == (0, 0) && recorder.counts(at: 5) == (0, 2) && recorder.counts(at: 6) == (2, 0))
    #expect(recorder.counts(at: 1_000_000) == (4, 2) && recorder.counts(at: .max) == (7, 0))
  }

  private static func figure(_ name: String, _ unit: ComparedMetric.Unit, _ old: Double?, _ new: Double?)
    -> ComparedMetric
  {
    ComparedMetric(name: name, unit: unit, old: old, new: new, differs: false)
  }

  @Test func conditionsHold() throws {
    func holds(_ text: String, _ unit: ComparedMetric.Unit, _ old: Double?, _ new: Double?) throws -> Bool {
      let condition = try #require(FailCondition(text), "\(text)")
      return !condition.failures(in: [Self.figure(condition.name, unit, old, new)]).isEmpty
    }
    #expect(try holds("rtt_p99>+10%", .milliseconds, 100, 111))
    #expect(try !holds("rtt_p99>+10%", .milliseconds, 100, 110))
    #expect(try holds("rtt_p99 >= +10%", .milliseconds, 100, 110))
    #expect(try holds("rtt_p95>200ms", .milliseconds, nil, 201))
    #expect(try holds("rtt_p95>0.2s", .milliseconds, 5, 201))
    #expect(try holds("rtt_p95>+1ms", .milliseconds, 5, 6.5))
    #expect(try holds("success<99%", .ratio, 1, 0.98))
    #expect(try !holds("success<99%", .ratio, 1, 0.995))
    #expect(try holds("success<-0.5pp", .ratio, 1, 0.994))
    #expect(try !holds("success<-0.5pp", .ratio, 1, 0.996))
    #expect(try holds("loss>+0.5pp", .ratio, 0, 0.006))
    // From nothing to something: more than any part of nothing.
    #expect(try holds("loss>+50%", .ratio, 0, 0.0001))
    #expect(try !holds("loss>+50%", .ratio, 0, 0))
    #expect(try holds("messages<100", .count, 1_000, 99))
    #expect(try holds("messages<-10%", .count, 1_000, 899))
    // What is not known holds nothing.
    #expect(try !holds("loss>0%", .ratio, 0, nil))
    #expect(try !holds("rtt_p50>+0%", .milliseconds, nil, 5))
  }

  /// The server became slower at its own messages only: each direction is judged by itself, and a name without one means either.
  @Test func directionsAreJudgedApart() throws {
    func capture(_ up: Int64, _ down: Int64) -> EndpointMetrics {
      var total = EndpointMetrics()
      let start = Timestamp(milliseconds: 1_760_000_000_000)
      for (direction, trip) in [(Direction.clientToServer, up), (.serverToClient, down)] {
        for message in 0..<10 as Range<UInt32> {
          let exchange = Exchange(
            told: .acked, role: 0, direction: direction, id: message, connection: 1, sentAt: start,
            decidedAt: start.advanced(by: .milliseconds(trip)), copies: 1)
          total.resolved(Resolution(exchange, endpoint: 0), role: .message)
        }
      }
      return total
    }
    let figures = ComparedMetric.all(capture(10, 20), capture(10, 60))
    let medians = figures.filter { $0.baseName == "rtt_p50" }
    #expect(medians.map(\.name) == ["rtt_p50[c2s]", "rtt_p50[s2c]"])
    #expect(medians.map(\.old) == [10, 20] && medians.map(\.new) == [10, 60])
    #expect(figures.filter { $0.baseName == "messages" }.map(\.new) == [20])
    func failed(_ text: String) throws -> [String] {
      try #require(FailCondition(text)).failures(in: figures).map(\.name)
    }
    #expect(try failed("rtt_p50>+10%") == ["rtt_p50[s2c]"])
    #expect(try failed("rtt_p50[c2s]>+10%").isEmpty)
    #expect(try failed("rtt_p50[s2c]>+10%") == ["rtt_p50[s2c]"])
    #expect(try failed("rtt_p50>5ms") == ["rtt_p50[c2s]", "rtt_p50[s2c]"])
    #expect(FailCondition("loss[c2s]>1%") == nil && FailCondition("rtt_p50[up]>1ms") == nil)
  }

  @Test(arguments: [
    "", "rtt_p99", "rtt_p99>", "rtt_p99>ten%", "rtt_p77>10ms", ">10ms", "success<99ms", "rtt_p99>5pp", "messages<5ms",
    "loss==1%", "rtt_p99>10", "rtt_p99>inf", "rtt_p99>nan%", "success<5pp",
  ]) func noConditions(_ text: String) { #expect(FailCondition(text) == nil) }
}
