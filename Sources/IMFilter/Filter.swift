/// A compiled `-Y` filter: a question about a record, answered yes or no.
///
/// `type == data && rtt_ms > 500` is compiled once against a schema and then asked of any number of records, from any
/// thread. Nothing is allocated per record but by `matches`, and by `contains` on a name that is only a number. The
/// language is described in `man/imdump-filter.7`.
package struct Filter: Sendable {
  private let program: [Instruction]
  private let tests: [FieldTest]

  /// Compiles `text` against `schema`.
  ///
  /// Time and memory grow with the text's length alone, which `FilterLimits` bounds, whatever the text is.
  package init(_ text: String, schema: FilterSchema) throws(FilterError) {
    var parser = try Parser(text, schema: schema)
    try parser.parse()
    program = parser.program
    tests = parser.tests
  }

  /// The indices of the fields that the filter names, in the schema's order. A record need not prepare others.
  package var fieldsUsed: [Int] { Set(tests.map(\.field)).sorted() }

  /// Whether `record` is as the filter asks. Looks at fields from left to right and only until the answer is known.
  package func matches(_ record: some FilterRecord) -> Bool { outcome { tests[$0].holds(for: record) } }

  // MARK: In parts

  /// The field that each test asks for, by the test's place in the filter, from left to right.
  package var testFields: [Int] { tests.map(\.field) }

  /// Whether `record` is as the test at `place` asks.
  package func holds(_ place: Int, for record: some FilterRecord) -> Bool { tests[place].holds(for: record) }

  /// What the filter says where `holds` says of each test whether it holds. Of two records that know different fields, each answers
  /// its own tests.
  @inline(__always)
  package func outcome(_ holds: (Int) -> Bool) -> Bool {
    var outcome = false
    var index = 0
    while index < program.count {
      switch program[index] {
      case .test(let test): outcome = holds(test)
      case .invert: outcome.toggle()
      case .jumpIfFalse(let target):
        if !outcome {
          index = target
          continue
        }
      case .jumpIfTrue(let target):
        if outcome {
          index = target
          continue
        }
      }
      index += 1
    }
    return outcome
  }

  /// Whether the filter may say yes, where `known` is `nil` for tests whose outcome is not known yet. It may be wrong only in saying so:
  /// that two tests cannot hold together is not seen, and long programs
  /// are not looked at.
  package func mayMatch(_ known: (Int) -> Bool?) -> Bool {
    guard program.count < UInt128.bitWidth else { return true }
    // Bit `n`: the place `n` of the program can be reached with that outcome. Jumps go forward only.
    var reachedFalse: UInt128 = 1, reachedTrue: UInt128 = 0
    func bit(_ index: Int) -> UInt128 { 1 &<< UInt128(truncatingIfNeeded: index) }
    for index in program.indices where (reachedFalse | reachedTrue) & bit(index) != 0 {
      var (no, yes) = (reachedFalse & bit(index) != 0, reachedTrue & bit(index) != 0)
      switch program[index] {
      case .test(let test):
        let answer = known(test)
        (no, yes) = (answer != true, answer != false)
      case .invert: (no, yes) = (yes, no)
      case .jumpIfFalse(let target):
        if no { reachedFalse |= bit(target) }
        no = false
      case .jumpIfTrue(let target):
        if yes { reachedTrue |= bit(target) }
        yes = false
      }
      if no { reachedFalse |= bit(index + 1) }
      if yes { reachedTrue |= bit(index + 1) }
    }
    return reachedTrue & bit(program.count) != 0
  }
}
