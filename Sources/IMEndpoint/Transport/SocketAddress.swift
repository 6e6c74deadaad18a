package import Glibc
public import IMWire

/// Lends `endpoint` as the system has addresses.
package func withSocketAddress<Result>(
  _ endpoint: Endpoint, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
) -> Result {
  if endpoint.address.isIPv6 {
    var address = sockaddr_in6()
    address.sin6_family = sa_family_t(AF_INET6)
    address.sin6_port = endpoint.port.bigEndian
    withUnsafeMutableBytes(of: &address.sin6_addr) {
      $0.storeBytes(of: endpoint.address.high.bigEndian, as: UInt64.self)
      $0.storeBytes(of: endpoint.address.low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
    return withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in6>.size)) }
    }
  }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = endpoint.port.bigEndian
  address.sin_addr.s_addr = UInt32(truncatingIfNeeded: endpoint.address.low).bigEndian
  return withUnsafePointer(to: &address) {
    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) }
  }
}

/// The endpoint that the system names; nil for a family other than IPv4 and IPv6. An IPv4 address that an IPv6 socket
/// shows as mapped becomes an IPv4 address.
package func endpoint(_ address: sockaddr_storage) -> Endpoint? {
  let family = Int32(address.ss_family)
  return withUnsafeBytes(of: address) { bytes in
    let port = UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
    switch family {
    case AF_INET:
      let v4 = UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self))
      return Endpoint(address: IPAddress(v4: v4), port: port)
    case AF_INET6:
      let high = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self))
      if high == 0, low >> 32 == 0xFFFF {
        return Endpoint(address: IPAddress(v4: UInt32(truncatingIfNeeded: low)), port: port)
      }
      return Endpoint(address: IPAddress(v6High: high, v6Low: low), port: port)
    default: return nil
    }
  }
}

/// A server by the name of its host, or its address, and a port.
public struct ServerName: Hashable, Sendable {
  /// The host's name or address.
  public var host: String
  /// The port.
  public var port: UInt16

  /// A name of its parts.
  public init(host: String, port: UInt16) {
    self.host = host
    self.port = port
  }
}

/// The endpoints that a host's name or address stands for, in the order in which the system would try them.
///
/// It may ask name servers and blocks meanwhile.
public func resolve(host: String, port: UInt16) throws(TransportError) -> [Endpoint] {
  var hints = addrinfo()
  hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
  var list: UnsafeMutablePointer<addrinfo>?
  let code = getaddrinfo(host, String(port), &hints, &list)
  guard code == 0 else {
    throw TransportError("resolve " + host, reason: String(cString: gai_strerror(code)))
  }
  defer { freeaddrinfo(list) }
  var endpoints: [Endpoint] = []
  var next = list
  while let entry = next {
    var storage = sockaddr_storage()
    let size = min(Int(entry.pointee.ai_addrlen), MemoryLayout<sockaddr_storage>.size)
    if let address = entry.pointee.ai_addr {
      withUnsafeMutableBytes(of: &storage) { $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: size)) }
      if let found = endpoint(storage), !endpoints.contains(found) { endpoints.append(found) }
    }
    next = entry.pointee.ai_next
  }
  guard !endpoints.isEmpty else { throw TransportError("resolve " + host, reason: "no address") }
  return endpoints
}
