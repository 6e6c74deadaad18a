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
  package func matches(_ record: some FilterRecord) -> Bool {
    var outcome = false
    var index = 0
    while index < program.count {
      switch program[index] {
      case .test(let test): outcome = tests[test].holds(for: record)
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
}
