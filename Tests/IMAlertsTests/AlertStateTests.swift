import IMWire
import Testing

@testable import IMAlerts

/// The states of an alert, read as a specification: verdicts second by second, and what is told when.
///
///     w wrong   b between threshold and clear   r right   . no data   h held   o over
@Suite struct AlertStateTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var patience: Int64 = 0
    var keep: Int64 = 0
    var verdicts: String
    /// `F` fires, `R` is resolved, `-` nothing is told.
    var told: String
    var testDescription: String { name }
  }

  static let cases: [Case] = [
    Case(name: "right all the time", verdicts: "rrrr", told: "----"),
    Case(name: "wrong at once fires at once", verdicts: "rww", told: "-F-"),
    Case(name: "right again resolves at once", verdicts: "wrr", told: "FR-"),
    Case(name: "it fires again after it was resolved", verdicts: "wrwr", told: "FRFR"),
    Case(name: "wrong for long enough", patience: 2, verdicts: "wwww", told: "--F-"),
    Case(name: "one second short of it", patience: 3, verdicts: "wwwrwww", told: "-------"),
    Case(name: "being right once begins the waiting anew", patience: 2, verdicts: "wwrwww", told: "-----F"),
    Case(
      name: "between threshold and clear is not wrong while it waits", patience: 2, verdicts: "wwbwww", told: "-----F"),
    Case(name: "hysteresis: between keeps it firing", verdicts: "wbbbr", told: "F---R"),
    Case(name: "between alone fires nothing", verdicts: "bbbb", told: "----"),
    Case(name: "right for long enough", keep: 2, verdicts: "wrrr", told: "F--R"),
    Case(name: "wrong again while it is kept firing", keep: 2, verdicts: "wrrwrrr", told: "F-----R"),
    Case(name: "between while it is kept firing", keep: 2, verdicts: "wrrbrrr", told: "F-----R"),
    Case(name: "no data keeps inactive", verdicts: "....w", told: "----F"),
    Case(name: "no data keeps pending, and fires nothing by itself", patience: 2, verdicts: "w.....w", told: "------F"),
    Case(name: "no data keeps firing", verdicts: "w......r", told: "F------R"),
    Case(name: "no data resolves nothing by itself", keep: 2, verdicts: "wr.....r", told: "F------R"),
    Case(name: "held keeps inactive", verdicts: "hhhhw", told: "----F"),
    Case(name: "held keeps firing", verdicts: "whhhr", told: "F---R"),
    Case(name: "held keeps pending", patience: 3, verdicts: "whhhr", told: "-----"),
    Case(name: "over resolves what fires", keep: 60, verdicts: "wo", told: "FR"),
    Case(name: "over ends pending", patience: 1, verdicts: "wow", told: "---"),
    Case(name: "over is nothing while inactive", verdicts: "ro", told: "--"),
  ]

  @Test(arguments: cases)
  func aSequenceOfVerdicts(_ this: Case) {
    var state = AlertState()
    var told = ""
    for (second, letter) in this.verdicts.enumerated() {
      let verdict: AlertState.Verdict =
        switch letter {
        case "w": .wrong
        case "b": .between
        case "r": .right
        case "h": .held
        case "o": .over
        default: .noData
        }
      let transition = state.take(
        verdict, at: Timestamp(seconds: Int64(second), fraction: 0), patience: this.patience * 1_000_000_000,
        keepFiring: this.keep * 1_000_000_000)
      switch transition {
      case .fired: told += "F"
      case .resolved: told += "R"
      case nil: told += "-"
      }
    }
    #expect(told == this.told)
  }

  @Test func sinceIsTheFirstWrongMoment() {
    var state = AlertState()
    let second = { (n: Int64) in Timestamp(seconds: n, fraction: 0) }
    #expect(state.take(.wrong, at: second(5), patience: 2_000_000_000) == nil)
    #expect(state.take(.wrong, at: second(6), patience: 2_000_000_000) == nil)
    #expect(state.take(.wrong, at: second(7), patience: 2_000_000_000) == .fired(since: second(5)))
    #expect(state.take(.right, at: second(9)) == .resolved(since: second(5)))
  }
}
