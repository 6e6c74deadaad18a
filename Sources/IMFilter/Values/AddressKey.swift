import IMWire

/// An address with a place in an order: IPv4 before IPv6, each by its number.
struct AddressKey: Comparable, Sendable {
  var address: IPAddress

  static func < (a: AddressKey, b: AddressKey) -> Bool {
    let (a, b) = (a.address, b.address)
    if a.isIPv6 != b.isIPv6 { return b.isIPv6 }
    return a.high != b.high ? a.high < b.high : a.low < b.low
  }

  /// The first and the last address of the network that `address` is in, with a prefix of `bits`.
  /// Bits of the address below the prefix are of no account. `nil` when the address has fewer bits than that.
  static func network(of address: IPAddress, bits: Int) -> (lower: AddressKey, upper: AddressKey)? {
    let width = address.isIPv6 ? 128 : 32
    guard (0...width).contains(bits) else { return nil }
    let host = UInt128(1) << UInt128(width - bits) &- 1
    let value = UInt128(address.high) << 64 | UInt128(address.low)
    func key(_ value: UInt128) -> AddressKey {
      var key = AddressKey(address: address)
      key.address.high = UInt64(truncatingIfNeeded: value >> 64)
      key.address.low = UInt64(truncatingIfNeeded: value)
      return key
    }
    return (key(value & ~host), key(value | host))
  }
}
