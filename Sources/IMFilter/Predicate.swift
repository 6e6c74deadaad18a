/// What a test asks of one value.
enum Predicate: Sendable {
  /// That there is one.
  case present
  /// That the flag is so.
  case flag(Bool)
  /// That the whole number, the nanoseconds of the time, or the index of the word lies in one of these ranges.
  case whole(Ranges<Int128>)
  /// That the number lies in one of these ranges.
  case fractional(Ranges<Double>)
  /// That the address lies in one of these ranges.
  case address(Ranges<AddressKey>)
  /// That the text is one of these.
  case text(TextSet)
  /// That the name is one of these, or its number lies in one of the ranges.
  case name(TextSet, Ranges<Int128>)
  /// That the text contains the needle.
  case contains(Needle)
  /// That the pattern matches the text.
  case matches(Pattern)

  /// The predicate as a test of a field of `kind` asks it. A closed word is compared by its index, so a question about
  /// its text is answered here, once, for each word.
  func fitted(to kind: FilterKind) -> Predicate {
    guard case .word(let words, _) = kind else { return self }
    var accepted: [(lower: Int128, upper: Int128)] = []
    for (index, word) in words.enumerated() where accepts(text: Array(word.utf8).span.bytes) {
      accepted.append((Int128(index), Int128(index)))
    }
    return .whole(Ranges(accepted))
  }

  /// Whether `value` is as asked; one whose case does not go with the question is not.
  func accepts(_ value: FilterValue) -> Bool {
    switch self {
    case .present: true
    case .flag(let wanted): value == .flag(wanted)
    case .whole(let ranges), .name(_, let ranges): value.whole.map(ranges.contains) ?? false
    case .fractional(let ranges): value.fractional.map(ranges.contains) ?? false
    case .address(let ranges):
      if case .address(let address) = value { ranges.contains(AddressKey(address: address)) } else { false }
    case .contains, .matches: value.whole.map { accepts(text: Array(String($0).utf8).span.bytes) } ?? false
    case .text: false
    }
  }

  /// Whether `text` is as asked.
  func accepts(text: RawSpan) -> Bool {
    switch self {
    case .present: true
    case .text(let members), .name(let members, _): members.contains(text)
    case .contains(let needle): needle.isIn(text)
    case .matches(let pattern): pattern.matches(text)
    case .flag, .whole, .fractional, .address: false
    }
  }
}
