package import IMWire

/// What stands for addresses: pseudonyms that have as many leading bits in common as the addresses have.
package struct AddressPseudonyms: Sendable {
  /// Addresses that are remembered, so that their bits are not made again for each packet.
  private static let maximumCount = 1 << 16

  private let names: Pseudonyms
  private var known: [IPAddress: IPAddress] = [:]

  /// Addresses by the key of `names`.
  package init(_ names: Pseudonyms) { self.names = names }

  /// What stands for `address`. Addresses of nobody stay: all zeros, all ones.
  package mutating func pseudonym(_ address: IPAddress) -> IPAddress {
    if let found = known[address] { return found }
    let made = make(address)
    if known.count >= Self.maximumCount { known.removeAll() }
    known[address] = made
    return made
  }

  private func make(_ address: IPAddress) -> IPAddress {
    guard address.isIPv6 else {
      let v4 = UInt32(truncatingIfNeeded: address.low)
      return v4 == 0 || v4 == .max ? address : IPAddress(v4: self.v4(v4))
    }
    if address.high == 0, address.low <= 1 { return address }
    // An IPv4 address in IPv6's clothes.
    if address.high == 0, address.low >> 32 == 0xffff {
      return IPAddress(
        v6High: 0, v6Low: 0xffff_0000_0000 | UInt64(v4(UInt32(truncatingIfNeeded: address.low))))
    }
    let state = names.hash.sipHash(Pseudonyms.Kind.v6.rawValue)
    let high = bits(address.high, 64, state)
    return IPAddress(v6High: high, v6Low: bits(address.low, 64, names.next(state, address.high)))
  }

  private func v4(_ address: UInt32) -> UInt32 {
    let state = names.hash.sipHash(Pseudonyms.Kind.v4.rawValue)
    return UInt32(truncatingIfNeeded: bits(UInt64(address), 32, state))
  }

  /// Turns each bit over or not, as those in front of it say.
  private func bits(_ value: UInt64, _ count: Int, _ state: UInt64) -> UInt64 {
    var result = value
    for i in 0..<count {
      let front = i == 0 ? 0 : value >> UInt64(count - i)
      result ^= (names.next(state ^ UInt64(i) << 56, front) & 1) << UInt64(count - 1 - i)
    }
    return result
  }

  /// What stands for an address of a link layer: one that somebody has made up, as its second bit says; groups stay groups, and all
  /// ones and all zeros what they are.
  package func link(_ bytes: [UInt8]) -> [UInt8] {
    guard let first = bytes.first, !bytes.allSatisfy({ $0 == 0xff }), !bytes.allSatisfy({ $0 == 0 }) else {
      return bytes
    }
    var state = names.hash.sipHash(Pseudonyms.Kind.link.rawValue)
    for byte in bytes { state = names.next(state, UInt64(byte)) }
    var result = bytes.indices.map { UInt8(truncatingIfNeeded: state >> UInt64(8 * ($0 & 7))) }
    result[0] = result[0] & 0xfc | 2 | first & 1
    return result
  }
}
