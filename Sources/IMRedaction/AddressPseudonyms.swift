package import IMWire

/// What stands for addresses: pseudonyms that have as many leading bits in common as the addresses have.
package struct AddressPseudonyms: Sendable {
  /// Addresses that are remembered, so that their bits are not made again for each packet.
  private static let maximumCount = 1 << 16

  private let names: Pseudonyms
  private var known: [IPAddress: IPAddress] = [:]
  /// The addresses asked for last, by some bits of theirs: a packet asks for two.
  private var recent: [(address: IPAddress, pseudonym: IPAddress)?]
  /// Those of link layers by a number that their bytes and their count make; 0 for none.
  private var recentLinks: [(address: UInt64, pseudonym: UInt64)]
  /// Addresses of IPv4 in the upper half, pseudonyms in the lower; 0 for none.
  private var recentV4: [UInt64]
  private static let recentCount = 1_024, recentLinkCount = 64, recentV4Count = 4_096

  /// Addresses by the key of `names`.
  package init(_ names: Pseudonyms) {
    self.names = names
    recent = Array(repeating: nil, count: Self.recentCount)
    recentLinks = Array(repeating: (0, 0), count: Self.recentLinkCount)
    recentV4 = Array(repeating: 0, count: Self.recentV4Count)
  }

  /// The pseudonym of an IPv4 address.
  @inline(__always)
  mutating func pseudonym(v4 address: UInt32) -> UInt32 {
    let place = Int((address &* 0x9e37_79b1) >> 20) & (Self.recentV4Count - 1)
    let found = recentV4[place]
    if found >> 32 == UInt64(address), found != 0 { return UInt32(truncatingIfNeeded: found) }
    let made = UInt32(truncatingIfNeeded: pseudonym(IPAddress(v4: address)).low)
    recentV4[place] = UInt64(address) << 32 | UInt64(made)
    return made
  }

  /// What stands for `address`. Addresses of nobody stay: all zeros, all ones.
  package mutating func pseudonym(_ address: IPAddress) -> IPAddress {
    let bits = (address.low ^ address.high) &* 0x9e37_79b9_7f4a_7c15
    let place = Int(truncatingIfNeeded: bits >> 40) & (Self.recentCount - 1)
    if let (old, found) = recent[place], old == address { return found }
    let made = known[address] ?? make(address)
    if known.count >= Self.maximumCount { known.removeAll() }
    known[address] = made
    recent[place] = (address, made)
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
  package mutating func link(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.count < 8 else { return makeLink(bytes) }
    let address = bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let made = link(address, count: bytes.count)
    return bytes.indices.map { UInt8(truncatingIfNeeded: made >> UInt64(8 * (bytes.count - 1 - $0))) }
  }

  /// The same for an address of `count` bytes, at most seven, as a number.
  @inline(__always)
  mutating func link(_ number: UInt64, count: Int) -> UInt64 {
    // Those of fewer bytes are kept apart.
    let address = number | UInt64(count) << 56
    let place = Int(truncatingIfNeeded: (address &* 0x9e37_79b9_7f4a_7c15) >> 40) & (Self.recentLinkCount - 1)
    if recentLinks[place].address == address { return recentLinks[place].pseudonym }
    return makeLink(address, count, place)
  }

  @inline(never)
  private mutating func makeLink(_ address: UInt64, _ count: Int, _ place: Int) -> UInt64 {
    let bytes = (0..<count).map { UInt8(truncatingIfNeeded: address >> UInt64(8 * (count - 1 - $0))) }
    let made = makeLink(bytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    recentLinks[place] = (address, made)
    return made
  }

  private func makeLink(_ bytes: [UInt8]) -> [UInt8] {
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
