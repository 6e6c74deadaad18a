import IMEngine
import Testing

@testable import IMFields

/// The byte ranges of fields in a header, which tell whether a line has already shown a property.
@Suite struct ShownPropertyTests {
  @Test func bytesOfFields() {
    #expect(Field().byteRange.isEmpty)
    #expect(Field(offset: 20, byteCount: 4).byteRange == 20..<24)
    #expect(Field(offset: 20, byteCount: 4, littleEndian: true).byteRange == 20..<24)
    #expect(Field(offset: 0, byteCount: 1, lowBit: 4, bits: 4).byteRange == 0..<1)
    #expect(Field(offset: 2, byteCount: 2, lowBit: 0, bits: 10).byteRange == 2..<4)
    #expect(Field(offset: 2, byteCount: 2, lowBit: 0, bits: 8).byteRange == 3..<4)
    #expect(Field(offset: 2, byteCount: 2, littleEndian: true, lowBit: 0, bits: 8).byteRange == 2..<3)
    #expect(Field(offset: 8, byteCount: 8).byteRange == 8..<16)
  }

  /// `skip 2, a (2 bytes), b (1 byte, if c is 1), d (1 byte)`: the position of d depends on the frame.
  @Test func headerRanges() {
    func value(_ field: Int, _ count: Int) -> FieldStep.Action {
      var step = ValueStep()
      (step.field, step.extent) = (field, .fixed(count))
      return .value(SharedValue(step))
    }
    var draft = FieldPlan.Draft()
    draft.fields = ["a", "b", "d"].map { FieldInfo(name: $0) }
    draft.header = [
      FieldStep(.skip(.fixed(2))), FieldStep(value(0, 2)),
      FieldStep(value(1, 1), conditions: [FieldCondition([FieldTest(field: 0, ranges: [1...1])], isNegated: false)]),
      FieldStep(value(2, 1)),
    ]
    let plan = FieldPlan(draft)
    #expect(plan.headerRange(of: 0) == 2..<4)
    #expect(plan.headerRange(of: 1) == nil && plan.headerRange(of: 2) == nil)
  }
}
