/// A property of an option's owner, made when it is needed.
package typealias Property<Root, Value> = () -> WritableKeyPath<Root, Value>

extension Option {
  /// A flag: sets the property to `value`.
  package static func flag(
    _ text: String, _ property: @autoclosure @escaping Property<Root, Bool>, is value: Bool = true, _ help: String,
    isHidden: Bool = false
  ) -> Option {
    var option = Option(text, help) { root, _ in root[keyPath: property()] = value }
    option.isHidden = isHidden
    return option
  }

  /// A flag that counts how often it is given.
  package static func tally(
    _ text: String, _ property: @autoclosure @escaping Property<Root, Int>, _ help: String
  ) -> Option {
    // No command line has more letters than the number can count.
    var option = Option(text, help) { root, _ in root[keyPath: property()] &+= 1 }
    option.accumulates = true
    return option
  }

  /// An option with a value, or an operand that has to be there; the last one counts.
  package static func value<Value: OptionValue>(
    _ text: String, _ property: @autoclosure @escaping Property<Root, Value>, _ help: String,
    completing completion: @autoclosure @escaping () -> WordCompletion? = nil
  ) -> Option {
    var option = Option(text, help) { root, word throws(ValueError) in
      guard let value = Value(word: word) else { throw ValueError("expected \(Value.expected)") }
      root[keyPath: property()] = value
    }
    option.words = { Value.words }
    option.completion = completion
    option.initial = { $0[keyPath: property()].word }
    return option
  }

  /// An option with a number in a range.
  package static func value<Value: OptionValue & Comparable>(
    _ text: String, _ property: @autoclosure @escaping Property<Root, Value>, in range: ClosedRange<Value>,
    _ help: String
  ) -> Option {
    var option = Option(text, help) { root, word throws(ValueError) in
      root[keyPath: property()] = try read(word, in: range)
    }
    option.initial = { $0[keyPath: property()].word }
    return option
  }

  /// An option with a number in a range, which may be absent.
  package static func value<Value: OptionValue & Comparable>(
    _ text: String, _ property: @autoclosure @escaping Property<Root, Value?>, in range: ClosedRange<Value>,
    _ help: String
  ) -> Option {
    Option(text, help) { root, word throws(ValueError) in
      root[keyPath: property()] = try read(word, in: range)
    }
  }

  /// An option that may be given several times, or an operand for every word that is left.
  package static func list<Value: OptionValue>(
    _ text: String, _ property: @autoclosure @escaping Property<Root, [Value]>, _ help: String,
    completing completion: @autoclosure @escaping () -> WordCompletion? = nil
  ) -> Option {
    var option = Option(text, help) { root, word throws(ValueError) in
      guard let value = Value(word: word) else { throw ValueError("expected \(Value.expected)") }
      root[keyPath: property()].append(value)
    }
    option.accumulates = true
    option.words = { Value.words }
    option.completion = completion
    return option
  }

  /// An option that does something else with its word. What `set` throws says what is expected in the word's place.
  package static func custom(
    _ text: String, _ help: String, set: @escaping (inout Root, String) throws(ValueError) -> Void
  ) -> Option {
    Option(text, help, set: set)
  }

  /// The rows of a group that is a property.
  package static func group<Group: OptionGroup>(
    _ property: @autoclosure @escaping Property<Root, Group>
  ) -> Option {
    var option = Option("", "") { _, _ in }
    option.group = {
      flatten(Group.table).map { inner in
        var outer = Option(inner.text, inner.help) { root, word throws(ValueError) in
          try inner.set(&root[keyPath: property()], word)
        }
        outer.isHidden = inner.isHidden
        outer.accumulates = inner.accumulates
        outer.words = inner.words
        outer.completion = inner.completion
        outer.initial = { inner.initial($0[keyPath: property()]) }
        return outer
      }
    }
    return option
  }
}

/// Reads a number of `range`.
private func read<Value: OptionValue & Comparable>(
  _ word: String, in range: ClosedRange<Value>
) throws(ValueError) -> Value {
  guard let value = Value(word: word), range.contains(value) else {
    let (least, most) = (range.lowerBound.word ?? "", range.upperBound.word ?? "")
    throw ValueError("expected a number from \(least) to \(most)")
  }
  return value
}
