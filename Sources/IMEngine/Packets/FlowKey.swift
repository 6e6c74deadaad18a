import IMWire

/// The two ends of a TCP connection in an order that does not depend on who sent a packet: side 0 is the lower
/// (address, port).
///
/// For IPv4 both addresses stand in `a` (side 0 in the high half); for IPv6, `a` and `b` are side 0's address, `c` and
/// `d` side 1's.
struct FlowKey: Equatable {
  var a: UInt64 = 0
  var b: UInt64 = 0
  var c: UInt64 = 0
  var d: UInt64 = 0
  /// Side 0's port in the high half, side 1's in the low.
  var ports: UInt32 = 0
  var isIPv6 = false

  @inline(__always)
  static func == (x: FlowKey, y: FlowKey) -> Bool {
    (x.a ^ y.a) | (x.b ^ y.b) | (x.c ^ y.c) | (x.d ^ y.d) | UInt64(x.ports ^ y.ports) == 0
      && x.isIPv6 == y.isIPv6
  }

  /// Whether it is that IPv4 key.
  @inline(__always)
  func isSame(v4 other: FlowKey) -> Bool { (a ^ other.a) | UInt64(ports ^ other.ports) == 0 && !isIPv6 }

  /// Becomes the key of an IPv4 segment, given its addresses, the source's in the high half, and its ports as they stand in
  /// the header; gives the side that sent it.
  @inline(__always)
  mutating func set(v4 forward: UInt64, ports wire: UInt32) -> UInt8 {
    // Who sent a packet is a coin's toss to the processor: there is no branch here.
    let backward = forward << 32 | forward >> 32
    let swapped = wire << 16 | wire >> 16
    let isSwapped =
      UInt128(_low: UInt64(swapped), _high: backward) < UInt128(_low: UInt64(wire), _high: forward)
    a = isSwapped ? backward : forward
    ports = isSwapped ? swapped : wire
    b = 0
    c = 0
    d = 0
    isIPv6 = false
    return isSwapped ? 1 : 0
  }

  /// The same for IPv6.
  @inline(__always)
  mutating func set(_ source: UInt128, _ destination: UInt128, ports wire: UInt32) -> UInt8 {
    let swapped = wire << 16 | wire >> 16
    let isSwapped = destination < source || (destination == source && swapped < wire)
    let (low, high) = isSwapped ? (destination, source) : (source, destination)
    a = low._high
    b = low._low
    c = high._high
    d = high._low
    ports = isSwapped ? swapped : wire
    isIPv6 = true
    return isSwapped ? 1 : 0
  }

  /// The endpoint of side 0 or 1.
  func endpoint(_ side: Int) -> Endpoint {
    let port = UInt16(truncatingIfNeeded: side == 0 ? ports >> 16 : ports)
    if isIPv6 {
      return Endpoint(
        address: side == 0 ? IPAddress(v6High: a, v6Low: b) : IPAddress(v6High: c, v6Low: d), port: port)
    }
    return Endpoint(
      address: IPAddress(v4: UInt32(truncatingIfNeeded: side == 0 ? a >> 32 : a)), port: port)
  }
}

/// Hashes the keys of flows. Salt and multiplier come from a seed, so that senders cannot choose addresses that collide: with the salt alone, keys
/// that collide under one seed would mostly collide under any other.
struct FlowHasher: Sendable {
  private let salt: UInt64
  /// Odd, with bits in all positions for any seed.
  private let multiplier: UInt64

  init(seed: UInt64) {
    salt = seed ^ 0xA076_1D64_78BD_642F
    multiplier = (seed &* GoldenRatio.of64Bits) ^ 0xE703_7ED1_A0B4_28DB | 1
  }

  @inline(__always)
  func hash(_ key: FlowKey) -> UInt64 {
    var h = key.a &+ UInt64(key.ports) &* GoldenRatio.of64Bits
    if key.isIPv6 {
      h = mix(h) ^ key.b
      h = mix(h) ^ key.c
      h = mix(h) ^ key.d
    }
    return mix(h)
  }

  /// The hash of a key that is known to be of IPv4.
  @inline(__always)
  func hash(v4 key: FlowKey) -> UInt64 { mix(key.a &+ UInt64(key.ports) &* GoldenRatio.of64Bits) }

  /// A multiply and fold of 128 bits.
  @inline(__always)
  private func mix(_ h: UInt64) -> UInt64 {
    let wide = (h ^ salt).multipliedFullWidth(by: multiplier)
    return wide.high ^ wide.low
  }
}
