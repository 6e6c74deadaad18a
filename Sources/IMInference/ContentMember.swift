import IMContent

/// A value in the content of a frame, and its path, as written in a profile.
struct ContentMember: Equatable {
  /// A value, as far as it is kept.
  enum Value: Hashable {
    case text([UInt8])
    case number(UInt64)
    case flag(Bool)
    /// An object, an array or a message.
    case group
    case null
    /// A negative number, a fraction, or a long or escaped text.
    case other
  }

  var path: String
  var value: Value
}
