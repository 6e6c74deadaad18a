package import IMWire

/// Headers of the PROXY protocol as bytes.
///
/// Source: "The PROXY protocol", versions 1 and 2, as HAProxy publishes it.
package enum ProxyHeaderBuilder {
  /// The twelve bytes that a header of version 2 begins with.
  package static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 0x51, 0x55, 0x49, 0x54, 10]

  /// A line of version 1.
  package static func line(_ source: Endpoint, _ destination: Endpoint) -> [UInt8] {
    let family = source.address.isIPv6 ? "TCP6" : "TCP4"
    return [UInt8](
      "PROXY \(family) \(source.address) \(destination.address) \(source.port) \(destination.port)\r\n".utf8)
  }

  /// A header of version 2 of its parts; `claimedLength` is what its length says, where it is to lie.
  package static func binary(
    command: UInt8 = 0x21, family: UInt8, _ addresses: [UInt8], tlvs: [UInt8] = [], claimedLength: Int? = nil
  ) -> [UInt8] {
    var bytes = signature + [command, family]
    bytes.append(big: UInt16(claimedLength ?? addresses.count + tlvs.count))
    return bytes + addresses + tlvs
  }

  /// A header of version 2 that names both ends.
  package static func binary(_ source: Endpoint, _ destination: Endpoint, tlvs: [UInt8] = []) -> [UInt8] {
    var addresses: [UInt8] = []
    for address in [source.address, destination.address] {
      if address.isIPv6 {
        addresses.append(big: address.high)
        addresses.append(big: address.low)
      } else {
        addresses.append(big: UInt32(truncatingIfNeeded: address.low))
      }
    }
    addresses.append(big: source.port)
    addresses.append(big: destination.port)
    return binary(family: source.address.isIPv6 ? 0x21 : 0x11, addresses, tlvs: tlvs)
  }

  /// A TLV of a header of version 2.
  package static func tlv(_ type: UInt8, _ value: [UInt8]) -> [UInt8] {
    var bytes = [type]
    bytes.append(big: UInt16(value.count))
    return bytes + value
  }
}
