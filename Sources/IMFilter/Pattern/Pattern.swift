/// A regular expression, ready to match.
///
/// Matching follows all ways through the automaton at once (Thompson, 1968; Pike's virtual machine without captures), so
/// its time is at most the length of the text times the count of states, whatever the expression and the text are.
struct Pattern: Sendable {
  private let states: [PatternState]
  private let classes: [UnitClass]
  private let ignoresCase: Bool
  /// Whether the expression begins with `^`, so that after the first character only running ways count.
  private let isAnchored: Bool

  /// States of the automaton.
  var stateCount: Int { states.count }

  /// Reads and compiles `source`, which is UTF-8, into at most `budget` states.
  init(_ source: [UInt8], budget: Int = FilterLimits.stateCount) throws(PatternError) {
    var parser = PatternParser(source)
    let node = try parser.parse()
    var compiler = PatternCompiler(budget: budget)
    try compiler.compile(node)
    states = compiler.states
    classes = parser.classes
    ignoresCase = parser.ignoresCase
    if case .assertion(.start) = states.first { isAnchored = true } else { isAnchored = false }
  }

  /// Whether the expression matches somewhere in `text`. Allocates four arrays of the automaton's size.
  func matches(_ text: RawSpan) -> Bool {
    var steps = 0
    return matches(text, steps: &steps)
  }

  /// As `matches(_:)`, and adds to `steps` each visit to a state.
  func matches(_ text: RawSpan, steps: inout Int) -> Bool {
    /// The position, plus one, at which a state was last reached.
    var seen = [Int](repeating: 0, count: states.count)
    var taking: [Int32] = []
    var pending: [Int32] = []
    var stack: [Int32] = []
    taking.reserveCapacity(states.count)
    pending.reserveCapacity(states.count + 1)
    var offset = 0
    var previous: UInt32?
    while true {
      let next: (unit: UInt32, width: Int)? =
        offset < text.byteCount ? TextUnit.decode(text, at: offset) : nil
      if !isAnchored || offset == 0 { pending.append(0) }
      if pending.isEmpty { return false }
      taking.removeAll(keepingCapacity: true)
      for state in pending {
        stack.append(state)
        while let top = stack.popLast() {
          let index = Int(top)
          if seen[index] == offset + 1 { continue }
          seen[index] = offset + 1
          steps += 1
          switch states[index] {
          case .unit, .any, .unitClass: taking.append(top)
          case .assertion(let assertion):
            if assertion.holds(between: previous, and: next?.unit) { stack.append(top + 1) }
          case .split(let one, let other):
            stack.append(other)
            stack.append(one)
          case .jump(let target): stack.append(target)
          case .match: return true
          }
        }
      }
      guard let next else { return false }
      pending.removeAll(keepingCapacity: true)
      let variants = ignoresCase ? TextUnit.caseVariants(next.unit) : (next.unit, next.unit, next.unit)
      for state in taking {
        steps += 1
        if takes(states[Int(state)], variants) { pending.append(state + 1) }
      }
      previous = next.unit
      offset += next.width
    }
  }

  /// Whether `state` takes the unit with these case variants.
  private func takes(_ state: PatternState, _ variants: (UInt32, UInt32, UInt32)) -> Bool {
    switch state {
    case .unit(let unit): unit == variants.0 || unit == variants.1 || unit == variants.2
    case .any(let newline): newline || variants.0 != 0x0a
    case .unitClass(let index):
      ignoresCase ? classes[Int(index)].containsAnyCase(variants) : classes[Int(index)].contains(variants.0)
    case .assertion, .split, .jump, .match: false
    }
  }
}
