import IMTestSupport
import Testing

@testable import IMBrowser

/// Combined inputs on drawn timelines.
@Suite struct CombinedSignalTests {
  /// What is handed on, and when, by the rule in words: the inputs as they are when nothing has changed for `quiet`, or `patience` after the
  /// first change that was not handed on.
  private static func reference(_ changes: [(at: Int, value: Int)], quiet: Int, patience: Int, end: Int) -> [String] {
    var outputs: [String] = []
    var value = 0
    var waiting: (first: Int, last: Int)?
    for now in 0...end {
      // A change in the moment in which the inputs are handed on belongs to the next output.
      if let (first, last) = waiting, now - last >= quiet || now - first >= patience {
        outputs.append("\(now): \(value)")
        waiting = nil
      }
      for change in changes where change.at == now && change.value != value {
        value = change.value
        waiting = (waiting?.first ?? now, now)
      }
    }
    return outputs
  }

  private static func outputs(_ changes: [(at: Int, value: Int)], quiet: Int, patience: Int, end: Int) -> [String] {
    var signal = CombinedSignal(0, quiet: .milliseconds(quiet), patience: .milliseconds(patience))
    _ = signal.take(at: .zero)
    var outputs: [String] = []
    for now in 0...end {
      let isDue = signal.deadline.map { $0 <= .milliseconds(now) } ?? false
      let taken = signal.take(at: .milliseconds(now))
      #expect((taken != nil) == isDue)
      if let taken { outputs.append("\(now): \(taken)") }
      for change in changes where change.at == now { signal.change(at: .milliseconds(now)) { $0 = change.value } }
    }
    return outputs
  }

  @Test(
    arguments: [
      ("a---------", ["3: 1"]), ("ab--------", ["4: 2"]), ("ab-c-d-e-f-g------", ["8: 5", "14: 7"]),
      ("a-------b---", ["3: 1", "11: 2"]), ("----------", []), ("a--b---", ["3: 1", "6: 2"]),
    ] as [(String, [String])]) func drawn(_ timeline: String, _ wanted: [String])
  {
    let changes = timeline.enumerated().compactMap { i, letter in
      letter.asciiValue.flatMap { $0 >= 0x61 ? (at: i, value: Int($0) - 0x60) : nil }
    }
    let end = timeline.count + 6
    #expect(Self.outputs(changes, quiet: 3, patience: 8, end: end) == wanted)
    #expect(Self.reference(changes, quiet: 3, patience: 8, end: end) == wanted)
  }

  /// A thousand drawn timelines, against the rule in words.
  @Test func timelinesOfChance() {
    var random = SeededRandom(9)
    for _ in 0..<1_000 {
      let quiet = 1 + Int(random.next() % 6), patience = quiet + Int(random.next() % 12)
      var changes: [(at: Int, value: Int)] = []
      for at in 0..<60 where random.once(in: 3) { changes.append((at, Int(random.next() % 4))) }
      #expect(
        Self.outputs(changes, quiet: quiet, patience: patience, end: 90)
          == Self.reference(changes, quiet: quiet, patience: patience, end: 90))
    }
  }

  @Test func manyChangesAreFewOutputs() {
    var signal = CombinedSignal(0, quiet: .milliseconds(30), patience: .milliseconds(100))
    var outputs = 0
    for change in 0..<2_000 {
      let now = Duration.microseconds(change * 200)
      if signal.take(at: now) != nil { outputs += 1 }
      signal.change(at: now) { $0 += 1 }
    }
    if signal.take(at: .seconds(1)) != nil { outputs += 1 }
    #expect(outputs <= 6)
    #expect(signal.value == 2_000)
  }

  @Test func theFirstInputsAreHandedOnAtOnce() {
    var signal = CombinedSignal(7, quiet: .milliseconds(30), patience: .milliseconds(100))
    #expect(signal.take(at: .zero) == 7)
    #expect(signal.take(at: .seconds(1)) == nil)
    signal.change(at: .seconds(2)) { $0 = 7 }
    #expect(signal.deadline == nil)
  }
}
