/// A 32-bit number that wraps, compared as RFC 1982 says: TCP sequence and acknowledgment numbers.
@frozen
public struct SerialNumber: Hashable, Sendable, BitwiseCopyable {
  /// The number as it stands on the wire, in host order.
  public var value: UInt32

  /// Wraps `value`.
  @inlinable public init(_ value: UInt32) { self.value = value }

  /// The signed distance from `earlier` to this number: positive when this one is later, within half the circle.
  @inlinable public func distance(from earlier: SerialNumber) -> Int32 {
    Int32(bitPattern: value &- earlier.value)
  }

  /// The number `count` steps further on.
  @inlinable public func advanced(by count: UInt32) -> SerialNumber {
    SerialNumber(value &+ count)
  }
}
