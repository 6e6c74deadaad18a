import IMMetrics
import IMTestSupport
import Testing

/// Two captures side by side. The probabilities are scipy's (`scipy.stats.fisher_exact`, two-sided; the test of proportions by
/// hand).
@Suite struct ComparisonTests {
  struct Table: CustomTestStringConvertible {
    let hits: UInt64, trials: UInt64, others: UInt64, otherTrials: UInt64, differs: Bool
    var testDescription: String { "\(hits)/\(trials) and \(others)/\(otherTrials)" }

    init(_ hits: UInt64, _ trials: UInt64, _ others: UInt64, _ otherTrials: UInt64, _ differs: Bool) {
      (self.hits, self.trials, self.others, self.otherTrials, self.differs) = (
        hits, trials, others, otherTrials, differs
      )
    }
  }

  @Test(arguments: [
    Table(0, 50, 8, 60, false),  // p = 0.0076
    Table(1, 1_000, 12, 1_000, false),  // p = 0.0033
    Table(0, 100, 9, 90, true),  // p = 0.00096
    Table(99, 100, 80, 100, true),  // p = 0.000008
    Table(5, 200, 30, 210, true),  // p = 0.000012
    Table(990, 1_000, 1_000, 1_000, false),  // p = 0.0019
    Table(985, 1_000, 1_000, 1_000, true),  // p = 0.000058
    Table(0, 24, 2, 50, false),  // p = 1
    Table(3, 4, 1, 9, false),  // p = 0.052
    Table(100, 1_000, 150, 1_000, true),  // 3.38 standard deviations
    Table(100, 1_000, 140, 1_000, false),  // 2.75
    Table(5_000, 100_000, 5_400, 100_000, true),  // 4.03
    Table(5_000, 100_000, 5_300, 100_000, false),  // 3.04
    Table(0, 10, 0, 1_000, false), Table(10, 10, 7, 7, false), Table(0, 0, 5, 9, false), Table(3, 2, 1, 9, false),
    Table(0, .max / 4, 3, .max / 4, false),
  ]) func sharesDiffer(_ table: Table) {
    #expect(Chance.differs(table.hits, of: table.trials, from: table.others, of: table.otherTrials) == table.differs)
    // Neither the order of the two nor what is called a hit changes it.
    #expect(Chance.differs(table.others, of: table.otherTrials, from: table.hits, of: table.trials) == table.differs)
    guard table.hits <= table.trials, table.others <= table.otherTrials else { return }
    let misses = Chance.differs(
      table.trials - table.hits, of: table.trials, from: table.otherTrials - table.others, of: table.otherTrials)
    #expect(misses == table.differs)
  }

  /// Round trips drawn from one distribution are seldom called different; of two that are 40 % apart, always.
  @Test func percentilesDiffer() {
    var random = SeededRandom(9)
    func recorder(_ scale: Double) -> RTTRecorder {
      var recorder = RTTRecorder()
      for _ in 0..<2_000 {
        // Long tails, as round trips have them: 1 ms and more.
        let draw = Double(random.next() >> 11) / Double(1 << 53)
        recorder.record(microseconds: Int64(1_000 * scale / (1 - draw * 0.99)))
      }
      return recorder
    }
    var falseMarks = 0
    for _ in 0..<200 {
      let (one, other) = (recorder(1), recorder(1))
      for percent in [50.0, 90, 95, 99] where Chance.differs(percent, one, from: other) { falseMarks += 1 }
    }
    // 800 comparisons at one in a thousand, and intervals that may not overlap are stricter than that.
    #expect(falseMarks <= 2)
    for _ in 0..<20 {
      let isSeen = Chance.differs(50, recorder(1), from: recorder(1.4))
      #expect(isSeen)
    }
    // Too few samples for a verdict, however far apart they are.
    var few = RTTRecorder(), others = RTTRecorder()
    for i in 1...20 {
      few.record(microseconds: Int64(i) * 10)
      others.record(microseconds: Int64(i) * 1_000_000)
    }
    let verdicts = [
      Chance.differs(99, few, from: others), Chance.differs(50, few, from: others),
      Chance.differs(50, RTTRecorder(), from: others),
    ]
    #expect(verdicts == [false, true, false])
  }

  private static func figure(_ name: String, _ unit: ComparedFigure.Unit, _ old: Double?, _ new: Double?)
    -> ComparedFigure
  {
    ComparedFigure(name: name, unit: unit, old: old, new: new, differs: false)
  }

  @Test func conditionsHold() throws {
    func holds(_ text: String, _ unit: ComparedFigure.Unit, _ old: Double?, _ new: Double?) throws -> Bool {
      let condition = try #require(FailCondition(text), "\(text)")
      return condition.holds(Self.figure(condition.name, unit, old, new))
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

  @Test(arguments: [
    "", "rtt_p99", "rtt_p99>", "rtt_p99>ten%", "rtt_p77>10ms", ">10ms", "success<99ms", "rtt_p99>5pp", "messages<5ms",
    "loss==1%", "rtt_p99>10", "rtt_p99>inf", "rtt_p99>nan%", "success<5pp",
  ]) func noConditions(_ text: String) { #expect(FailCondition(text) == nil) }
}
