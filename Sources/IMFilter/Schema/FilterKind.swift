/// What values a field has, and thereby which operators and literals go with it.
package enum FilterKind: Equatable, Sendable {
  /// A whole number from -2⁶³ to 2⁶⁴-1.
  case integer
  /// A number with a fraction.
  case real
  /// A moment: seconds since the epoch to the nanosecond, or an RFC 3339 time in quotes.
  case time
  /// UTF-8 text; bytes that are not UTF-8 are kept as they are.
  case text
  /// Raw bytes.
  case bytes
  /// An IPv4 or IPv6 address.
  case address
  /// True or false; a record that says nothing of it means false.
  case flag
  /// One of these words and no other. The record answers with the word's index in this list. A group is a name for several of them.
  case word(of: [String], groups: [WordGroup] = [])
  /// A word, a number, or both, as profiles name their types. With `known` words a literal word must be among them;
  /// without, any word is accepted.
  case name(known: [String])

  /// A name for several words of a field, such as `lost` for `unanswered` and `damaged`.
  package struct WordGroup: Equatable, Sendable {
    let name: String
    let words: [String]

    /// A group of its parts.
    package init(_ name: String, _ words: [String]) { (self.name, self.words) = (name, words) }
  }

  /// The kind as an error message says it, with its article.
  var phrase: String {
    switch self {
    case .integer: "a whole number"
    case .real: "a number"
    case .time: "a time"
    case .text: "text"
    case .bytes: "bytes"
    case .address: "an address"
    case .flag: "a flag"
    case .word: "a word"
    case .name: "a name"
    }
  }

  /// The kind in one or two words, as the man page's field list says it.
  package var label: String {
    switch self {
    case .integer: "integer"
    case .real: "number"
    case .time: "time"
    case .text: "text"
    case .bytes: "bytes"
    case .address: "address"
    case .flag: "flag"
    case .word: "word"
    case .name: "name or number"
    }
  }

  /// Whether `<`, `<=`, `>`, `>=` and ranges make sense. A name is ordered where it is a number.
  var isOrdered: Bool {
    switch self {
    case .integer, .real, .time, .name: true
    case .text, .bytes, .address, .flag, .word: false
    }
  }

  /// Whether `contains` and `matches` make sense.
  var isTextual: Bool {
    switch self {
    case .text, .bytes, .word, .name: true
    case .integer, .real, .time, .address, .flag: false
    }
  }
}
