import IMContent

/// A value in the content of a frame, and the path that leads to it, as a profile writes it.
struct ContentMember: Equatable {
  /// What a value is.
  enum Value: Hashable {
    case text([UInt8])
    case number(UInt64)
    case flag(Bool)
    /// An object, an array or a message.
    case group
    case null
    /// A negative number, a fraction, or a text that is long or escaped.
    case other
  }

  var path: String
  var value: Value
}
