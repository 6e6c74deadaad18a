import IMWire

/// The two ends of a connection, in whatever order.
struct EndpointPair: Hashable, Comparable {
  private let lower: Endpoint, upper: Endpoint

  init(_ one: Endpoint, _ other: Endpoint) {
    let isFirst = !Self.isLess(other, one)
    lower = isFirst ? one : other
    upper = isFirst ? other : one
  }

  /// Whether `end` is the lower one of both.
  func begins(with end: Endpoint) -> Bool { lower == end }

  static func < (a: EndpointPair, b: EndpointPair) -> Bool {
    a.lower == b.lower ? isLess(a.upper, b.upper) : isLess(a.lower, b.lower)
  }

  private static func isLess(_ one: Endpoint, _ other: Endpoint) -> Bool {
    (one.address.high, one.address.low, UInt64(one.port)) < (
      other.address.high, other.address.low, UInt64(other.port)
    )
  }
}
