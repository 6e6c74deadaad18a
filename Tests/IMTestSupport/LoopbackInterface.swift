import Glibc

/// Whether 127.0.0.1 can be reached. In a new network namespace the loopback interface is down: the tests that need
/// sockets are skipped there, and say so.
package let loopbackIsUp: Bool = {
  let descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
  guard descriptor >= 0 else { return false }
  defer { close(descriptor) }
  var address = sockaddr_in()
  address.sin_family = sa_family_t(AF_INET)
  address.sin_port = UInt16(9).bigEndian
  address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
  // A datagram socket sends nothing here: connecting it asks for the route alone.
  return withUnsafeBytes(of: &address) {
    connect(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count)) == 0
  }
}()
