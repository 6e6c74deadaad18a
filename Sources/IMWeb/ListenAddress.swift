import Glibc

/// A numeric address and port, such as `127.0.0.1:9464` or `[::1]:9464`.
struct ListenAddress: Equatable {
  /// The address, without brackets.
  var address: String
  /// The port; 0 for one that the system chooses.
  var port: UInt16

  /// Parses `text`; nil if it is not an address and a port.
  init?(_ text: String) {
    guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else { return nil }
    var address = text[..<colon]
    if address.hasPrefix("["), address.hasSuffix("]") {
      address = address.dropFirst().dropLast()
      guard address.contains(":") else { return nil }
    } else if address.contains(":") {
      return nil
    }
    self.address = String(address)
    self.port = port
    var (four, six) = (in_addr(), in6_addr())
    guard inet_pton(AF_INET, self.address, &four) == 1 || inet_pton(AF_INET6, self.address, &six) == 1 else {
      return nil
    }
  }

  /// Binds a TCP socket to it. Returns a descriptor, or the negative error number.
  func bind() -> Int32 {
    var four = sockaddr_in(), six = sockaddr_in6()
    let isFour = inet_pton(AF_INET, address, &four.sin_addr) == 1
    guard isFour || inet_pton(AF_INET6, address, &six.sin6_addr) == 1 else { return -EINVAL }
    four.sin_family = sa_family_t(AF_INET)
    four.sin_port = port.bigEndian
    six.sin6_family = sa_family_t(AF_INET6)
    six.sin6_port = port.bigEndian
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let descriptor = socket(isFour ? AF_INET : AF_INET6, type, 0)
    guard descriptor >= 0 else { return -errno }
    var yes: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
    let result =
      isFour
      ? withUnsafeBytes(of: &four) { Self.bind(descriptor, $0) }
      : withUnsafeBytes(of: &six) { Self.bind(descriptor, $0) }
    guard result == 0 else {
      let number = errno
      close(descriptor)
      return -number
    }
    return descriptor
  }

  private static func bind(_ descriptor: Int32, _ address: UnsafeRawBufferPointer) -> Int32 {
    Glibc.bind(descriptor, address.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(address.count))
  }

  /// Whether it is a loopback address.
  var isLocal: Bool { address.hasPrefix("127.") || address == "::1" }

  /// The port of a bound socket.
  static func port(of descriptor: Int32) -> UInt16 {
    var bytes = [UInt8](repeating: 0, count: 128)
    var size = socklen_t(bytes.count)
    let result = bytes.withUnsafeMutableBytes {
      getsockname(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), &size)
    }
    // In both families, the port follows the family.
    return result == 0 ? UInt16(bytes[2]) << 8 | UInt16(bytes[3]) : 0
  }
}
