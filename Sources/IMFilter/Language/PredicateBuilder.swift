import IMWire

/// Gathers what a comparison or a set accepts.
struct PredicateBuilder {
  private var wholes: [(lower: Int128, upper: Int128)] = []
  private var fractions: [(lower: Double, upper: Double)] = []
  private var addresses: [(lower: AddressKey, upper: AddressKey)] = []
  private var texts: [[UInt8]] = []
  private var flag = false

  /// Accepts the values that stand in `comparison` to `operand`; `!=` accepts what `==` does, and its test is turned
  /// round. Answers `false` when the operand is a name without a number and the comparison asks for order.
  mutating func add(_ comparison: Comparison, _ operand: Operand) -> Bool {
    switch operand {
    case .whole(let value): wholes.append(Self.range(comparison, value))
    case .fractional(let value): fractions.append(Self.range(comparison, value))
    case .addresses(let lower, let upper): addresses.append((lower, upper))
    case .text(let text): texts.append(text)
    case .flag(let value): flag = value
    case .name(let text, let number):
      if let number { wholes.append(Self.range(comparison, number)) }
      if comparison.asksOrder { return number != nil }
      texts.append(text)
    }
    return true
  }

  /// Accepts the values from `lower` to `upper`, both included. Answers `false` when there are none, and `nil` when the
  /// two are no ends of a range.
  mutating func add(_ lower: Operand, through upper: Operand) -> Bool? {
    switch (lower, upper) {
    case (.whole(let lower), .whole(let upper)), (.name(_, .some(let lower)), .name(_, .some(let upper))):
      wholes.append((lower, upper))
      return lower <= upper
    case (.fractional(let lower), .fractional(let upper)):
      fractions.append((lower, upper))
      return lower <= upper
    case (.addresses(let lower, _), .addresses(_, let upper)):
      guard lower.address.isIPv6 == upper.address.isIPv6 else { return nil }
      addresses.append((lower, upper))
      return lower <= upper
    default: return nil
    }
  }

  /// The predicate of all that was added, for a field of `kind`.
  func predicate(for kind: FilterKind) -> Predicate {
    switch kind {
    case .integer, .time, .word: .whole(Ranges(wholes))
    case .real: .fractional(Ranges(fractions))
    case .address: .address(Ranges(addresses))
    case .flag: .flag(flag)
    case .text, .bytes: .text(TextSet(texts))
    case .name: .name(TextSet(texts), Ranges(wholes))
    }
  }

  private static func range(_ comparison: Comparison, _ value: Int128) -> (lower: Int128, upper: Int128) {
    switch comparison {
    case .equal, .notEqual: (value, value)
    case .less: (.min, value - 1)
    case .lessOrEqual: (.min, value)
    case .greater: (value + 1, .max)
    case .greaterOrEqual: (value, .max)
    }
  }

  private static func range(_ comparison: Comparison, _ value: Double) -> (lower: Double, upper: Double) {
    switch comparison {
    case .equal, .notEqual: (value, value)
    case .less: (-.infinity, value.nextDown)
    case .lessOrEqual: (-.infinity, value)
    case .greater: (value.nextUp, .infinity)
    case .greaterOrEqual: (value, .infinity)
    }
  }
}
