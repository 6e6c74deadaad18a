/// A value that is read from one word.
package protocol OptionValue {
  /// Reads `word`; `nil` where it is no such value.
  init?(word: String)
  /// The word that gives this value, as help shows a default; `nil` where there is nothing to show.
  var word: String? { get }
  /// All the words that are taken, where they can be listed.
  static var words: [String] { get }
  /// What is expected, as an error says it: "a whole number".
  static var expected: String { get }
}

extension OptionValue {
  /// The words cannot be listed.
  package static var words: [String] { [] }
}

/// A value was refused.
package struct ValueError: Error, Equatable {
  /// What is expected in its place, or what is wrong.
  package var message: String

  /// A refusal that says `message`.
  package init(_ message: String) { self.message = message }
}

extension OptionValue where Self: CaseIterable & RawRepresentable, RawValue == String {
  /// The case of that name.
  package init?(word: String) { self.init(rawValue: word) }
  /// The case's name.
  package var word: String? { rawValue }
  /// The names of all cases, in their order.
  package static var words: [String] { allCases.map(\.rawValue) }
  /// The name, or the list of them.
  package static var expected: String { words.count == 1 ? "'\(words[0])'" : "one of \(words.joined(last: "or"))" }
}

extension OptionValue where Self: FixedWidthInteger {
  /// The number, written in digits of ASCII.
  package init?(word: String) { self.init(word) }
  /// The number in digits.
  package var word: String? { description }
  /// The type's range, where people have it in mind; else only what kind of number.
  package static var expected: String {
    bitWidth < 32 ? "a number from \(min) to \(max)" : isSigned ? "a whole number" : "a whole number, 0 or greater"
  }
}

extension Int: OptionValue {}
extension Int64: OptionValue {}
extension UInt16: OptionValue {}
extension UInt32: OptionValue {}
extension UInt64: OptionValue {}

extension String: OptionValue {
  /// The word itself.
  package init?(word: String) { self = word }
  /// The text; `nil` for the empty one, which is no default to tell.
  package var word: String? { isEmpty ? nil : self }
  /// Anything goes.
  package static var expected: String { "text" }
}

extension Optional: OptionValue where Wrapped: OptionValue {
  /// The value of the word; absent is only what is not given.
  package init?(word: String) {
    guard let value = Wrapped(word: word) else { return nil }
    self = value
  }
  /// The value's word; `nil` where it is absent.
  package var word: String? { flatMap(\.word) }
  /// Those of the value.
  package static var words: [String] { Wrapped.words }
  /// What the value wants.
  package static var expected: String { Wrapped.expected }
}

extension [String] {
  /// `text, json or ecs`.
  func joined(last word: String) -> String {
    count < 2 ? joined() : dropLast().joined(separator: ", ") + " \(word) " + self[count - 1]
  }
}
