/// A number that wraps, compared as RFC 1982 says: a TCP sequence or acknowledgment number as it stands in headers, flows and
/// queues.
///
/// Of two numbers half the circle apart each is before the other and none is after it.
extension UInt32 {
  /// The signed way from `earlier` to this number, within half the circle: positive where this one is later.
  @inlinable @inline(__always)
  package func distance(from earlier: UInt32) -> Int { Int(Int32(bitPattern: self &- earlier)) }

  /// Whether it is later than `other`.
  @inlinable @inline(__always)
  package func isAfter(_ other: UInt32) -> Bool { Int32(bitPattern: self &- other) > 0 }

  /// Whether it is `other` or later.
  @inlinable @inline(__always)
  package func isAtOrAfter(_ other: UInt32) -> Bool { Int32(bitPattern: self &- other) >= 0 }

  /// Whether it is earlier than `other`.
  @inlinable @inline(__always)
  package func isBefore(_ other: UInt32) -> Bool { Int32(bitPattern: self &- other) < 0 }

  /// Whether it is `other` or earlier.
  @inlinable @inline(__always)
  package func isAtOrBefore(_ other: UInt32) -> Bool { Int32(bitPattern: self &- other) <= 0 }
}
