package import IMWire

/// The two ends of a connection, in whatever order.
package struct EndpointPair: Hashable, Comparable {
  @usableFromInline let lower: Endpoint, upper: Endpoint

  /// A pair of endpoints in either order.
  @inlinable package init(_ one: Endpoint, _ other: Endpoint) {
    let isFirst = !Self.isLess(other, one)
    lower = isFirst ? one : other
    upper = isFirst ? other : one
  }

  /// Whether `end` is the lower one of both.
  @inlinable package func begins(with end: Endpoint) -> Bool { lower == end }

  /// A hash of both ends, which `seed` keeps senders from choosing so that many are the same.
  @inline(__always) @inlinable
  package func hash(_ seed: UInt64) -> UInt64 {
    let ports = UInt64(lower.port) << 32 | UInt64(upper.port) << 8 | (lower.address.isIPv6 ? 1 : 0)
    var hash = Self.mix(lower.address.low ^ seed, ports)
    hash = Self.mix(upper.address.low ^ hash, seed)
    guard lower.address.isIPv6 || upper.address.isIPv6 else { return hash }
    hash = Self.mix(lower.address.high ^ hash, seed)
    return Self.mix(upper.address.high ^ hash, seed)
  }

  /// A multiply and fold of 128 bits.
  @inline(__always) @inlinable
  static func mix(_ a: UInt64, _ b: UInt64) -> UInt64 {
    let wide = (a ^ 0xa076_1d64_78bd_642f).multipliedFullWidth(by: b ^ 0xe703_7ed1_a0b4_28db)
    return wide.high ^ wide.low
  }

  @inlinable package static func < (a: EndpointPair, b: EndpointPair) -> Bool {
    a.lower == b.lower ? isLess(a.upper, b.upper) : isLess(a.lower, b.lower)
  }

  @inlinable static func isLess(_ one: Endpoint, _ other: Endpoint) -> Bool {
    (one.address.high, one.address.low, UInt64(one.port)) < (
      other.address.high, other.address.low, UInt64(other.port)
    )
  }
}
