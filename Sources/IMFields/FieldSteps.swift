/// Steps that are taken one after the other, and in few bytes what most of them are: a reader of a quick step reads no
/// more of it, and counts no references.
package struct FieldSteps: Sendable {
  /// The steps.
  package let steps: [FieldStep]
  /// What they are, at the same places.
  let quick: [QuickStep]

  /// Steps with nothing made of them yet.
  package init(_ steps: [FieldStep]) {
    self.steps = steps
    quick = steps.map { QuickStep($0) }
  }

  /// Whether there are none.
  var isEmpty: Bool { steps.isEmpty }
}

/// What a step is, as far as that fits into few bytes.
struct QuickStep: BitwiseCopyable {
  /// What is done.
  enum Kind: UInt8 {
    /// Something else, which the step itself tells.
    case other
    /// So many bytes are left out.
    case skip
    /// A whole number of one to eight bytes, which has no parts.
    case number
    /// The rest, as text in UTF-8 or as bytes.
    case text, bytes
  }

  var kind = Kind.other
  var isLittleEndian = false
  var count: UInt16 = 0
  var field: Int32 = -1
  /// The table of names; negative without one.
  var names: Int32 = -1

  init(_ step: FieldStep) {
    guard step.conditions.isEmpty else { return }
    switch step.action {
    case .skip(.fixed(let count)) where (0...Int(UInt16.max)).contains(count):
      (kind, self.count) = (.skip, UInt16(count))
    case .value(let value): take(value)
    default: break
    }
  }

  init(_ known: ElementTable.Known) { if case .value(let value) = known { take(value) } }

  private mutating func take(_ value: SharedValue) {
    let step = value.step
    guard let field = Int32(exactly: step.field), field >= 0, let names = Int32(exactly: step.names) else { return }
    (self.field, self.names, isLittleEndian) = (field, names, step.littleEndian)
    if value.plainCount > 0 {
      (kind, count) = (.number, UInt16(value.plainCount))
    } else if step.extent == .rest, step.lengths.isEmpty, step.fallback == nil, !step.endsAtZero, !step.isTrimmed {
      switch step.form {
      case .text(.fixed(.utf8)): kind = .text
      case .bytes: kind = .bytes
      default: break
      }
    }
  }
}
