/// One test of a filter: a field and what is asked of its values.
///
/// Of several values one suffices. `!=` asks that there is a value and that none is equal, so a test of an absent field is
/// false whatever it asks.
struct FieldTest: Sendable {
  /// The field's index in the schema.
  let field: Int
  private let path: FilterPath
  private let predicate: Predicate
  private let isNegated: Bool
  private let isRepeated: Bool
  private let source: Source

  /// Which of a record's answers are looked at.
  private enum Source {
    case scalar, flag, text, name
  }

  init(_ index: Int, _ field: FilterField, _ path: FilterPath, _ predicate: Predicate, isNegated: Bool = false) {
    self.field = index
    self.path = path
    self.predicate = predicate
    self.isNegated = isNegated
    isRepeated = field.isRepeated
    source =
      switch field.kind {
      case .integer, .real, .time, .address, .word: .scalar
      case .flag: .flag
      case .text, .bytes: .text
      case .name: .name
      }
  }

  /// Whether the test holds for `record`.
  func holds(for record: some FilterRecord) -> Bool {
    switch source {
    case .flag: return predicate.accepts(record.value(of: field, at: 0) ?? .flag(false)) != isNegated
    case .scalar:
      let (isPresent, isAccepted) = scalar(of: record)
      return isPresent && isAccepted != isNegated
    case .text:
      let (isPresent, isAccepted) = text(of: record)
      return isPresent && isAccepted != isNegated
    case .name:
      let (hasText, textAccepted) = text(of: record)
      if textAccepted || hasText && isAboutText { return textAccepted != isNegated }
      let (hasNumber, numberAccepted) = scalar(of: record)
      return (hasText || hasNumber) && numberAccepted != isNegated
    }
  }

  /// Whether a number is looked at, as its decimal digits, only when there is no name.
  private var isAboutText: Bool {
    switch predicate {
    case .contains, .matches: true
    default: false
    }
  }

  private func scalar(of record: some FilterRecord) -> (isPresent: Bool, isAccepted: Bool) {
    var index = 0
    while let value = record.value(of: field, at: index) {
      if predicate.accepts(value) { return (true, true) }
      index += 1
      if !isRepeated { break }
    }
    return (index > 0, false)
  }

  private func text(of record: some FilterRecord) -> (isPresent: Bool, isAccepted: Bool) {
    var isPresent = false
    let isAccepted = record.anyText(of: field, path: path) { text in
      isPresent = true
      return predicate.accepts(text: text)
    }
    return (isPresent, isAccepted)
  }
}
