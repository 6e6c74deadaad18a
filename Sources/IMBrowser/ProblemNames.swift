import IMStore

/// The kinds of problems of messages, in the order of the keys 1 to 9.
enum ProblemNames {
  static var all: [String] { ProblemKinds.names }

  /// The kind with an index.
  static func kind(_ index: Int) -> ProblemKinds { ProblemKinds(rawValue: 1 << Int64(index)) }
}
