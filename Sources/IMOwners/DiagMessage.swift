package import IMWire

/// Requests and answers of the kernel's socket diagnosis, `NETLINK_SOCK_DIAG`; see sock_diag(7). Numbers are in the order of
/// the machine, ports and addresses in that of the network. Layouts: `linux/netlink.h`, `linux/inet_diag.h`.
///
///     request   offset  bytes
///     nlmsghdr       0     16   length, type 20, flags, sequence, port 0
///     family        16      1   AF_INET or AF_INET6
///     protocol      17      1   6
///     extensions    18      1   0: the control group comes unasked
///     states        20      4   a bit for each state
///     ports         24      4   of the socket, and of its peer
///     addresses     28     32   of the socket, and of its peer
///     interface     60      4   0
///     cookie        64      8   all ones: none
package enum DiagMessage {
  static let requestCount = 72
  private static let byFamily: UInt16 = 20
  private static let error: UInt16 = 2, done: UInt16 = 3
  private static let request: UInt16 = 1, dump: UInt16 = 0x300
  private static let cgroupID: UInt16 = 21
  private static let inet: UInt8 = 2, inet6: UInt8 = 10
  private static let listening: UInt8 = 10
  /// Sockets that have a peer and a process: established, and those that close.
  private static let states: UInt32 = 1 << 1 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11

  /// A socket's two ends.
  package struct Ends: Hashable, Sendable {
    /// The socket's own end, and its peer's.
    package var local: Endpoint, remote: Endpoint

    /// Ends.
    package init(local: Endpoint, remote: Endpoint) { (self.local, self.remote) = (local, remote) }
  }

  /// What the kernel says of one socket.
  package struct Socket: Equatable, Sendable {
    /// Its ends; IPv4 addresses within IPv6 ones are IPv4 addresses.
    package var ends: Ends
    /// The number of the user that made it.
    package var user: UInt32
    /// The number of its control group; `nil` where the kernel does not say.
    package var group: UInt64?
  }

  /// One answer.
  package enum Answer: Equatable, Sendable {
    case socket(Socket)
    /// There is none, or it cannot be told.
    case none
    /// The end of a dump.
    case done
  }

  /// Asks for the socket with these ends.
  package static func request(_ ends: Ends, sequence: UInt32) -> [UInt8] {
    header(isIPv6: ends.local.address.isIPv6, flags: request, sequence: sequence, states: .max, ends)
  }

  /// Asks for all connected sockets of a family.
  package static func dump(isIPv6: Bool, sequence: UInt32) -> [UInt8] {
    let nowhere = Endpoint(address: IPAddress(v4: 0), port: 0)
    return header(
      isIPv6: isIPv6, flags: request | dump, sequence: sequence, states: states, Ends(local: nowhere, remote: nowhere))
  }

  private static func header(
    isIPv6: Bool, flags: UInt16, sequence: UInt32, states: UInt32, _ ends: Ends
  ) -> [UInt8] {
    var out: [UInt8] = []
    out.reserveCapacity(requestCount)
    func host<Number: FixedWidthInteger>(_ number: Number) {
      withUnsafeBytes(of: number) { out.append(contentsOf: $0) }
    }
    func network<Number: FixedWidthInteger>(_ number: Number) { host(number.bigEndian) }
    func address(_ address: IPAddress) {
      if isIPv6 {
        network(address.high)
        network(address.low)
      } else {
        network(UInt32(truncatingIfNeeded: address.low))
        out.append(contentsOf: repeatElement(0, count: 12))
      }
    }
    host(UInt32(requestCount))
    host(byFamily)
    host(flags)
    host(sequence)
    host(UInt32(0))
    out += [isIPv6 ? inet6 : inet, 6, 0, 0]
    host(states)
    network(ends.local.port)
    network(ends.remote.port)
    address(ends.local.address)
    address(ends.remote.address)
    host(UInt32(0))
    host(UInt64.max)
    return out
  }

  /// The answers in what was read from the kernel, with their sequence numbers. What does not fit ends them.
  package static func answers(_ bytes: UnsafeRawBufferPointer) -> [(sequence: UInt32, answer: Answer)] {
    var found: [(sequence: UInt32, answer: Answer)] = []
    var at = 0
    while bytes.count - at >= 16 {
      let length = Int(bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
      guard length >= 16, length <= bytes.count - at else { break }
      let message = UnsafeRawBufferPointer(rebasing: bytes[at..<at + length])
      let sequence = message.loadUnaligned(fromByteOffset: 8, as: UInt32.self)
      switch message.loadUnaligned(fromByteOffset: 4, as: UInt16.self) {
      case byFamily: found.append((sequence, socket(message).map { .socket($0) } ?? .none))
      case done: found.append((sequence, .done))
      case error: found.append((sequence, .none))
      default: break
      }
      at += (length + 3) & ~3
    }
    return found
  }

  /// A message about one socket: `inet_diag_msg` behind the header, and attributes behind it.
  ///
  ///     family 0, state 1, ports 4 and 6, addresses 8 and 24, user 64; 72 bytes
  private static func socket(_ message: UnsafeRawBufferPointer) -> Socket? {
    guard message.count >= 16 + 72 else { return nil }
    let isIPv6 = message[16] == inet6
    // A socket that listens answers for peers that it does not have.
    guard isIPv6 || message[16] == inet, message[17] != listening else { return nil }
    func number<Number: FixedWidthInteger>(_ at: Int, _ type: Number.Type) -> Number {
      Number(bigEndian: message.loadUnaligned(fromByteOffset: 16 + at, as: type))
    }
    func end(_ address: Int, _ port: Int) -> Endpoint {
      let high = number(address, UInt64.self), low = number(address + 8, UInt64.self)
      let ip: IPAddress =
        if !isIPv6 {
          IPAddress(v4: number(address, UInt32.self))
        } else if high == 0, low >> 32 == 0xFFFF {
          IPAddress(v4: UInt32(truncatingIfNeeded: low))
        } else {
          IPAddress(v6High: high, v6Low: low)
        }
      return Endpoint(address: ip, port: number(port, UInt16.self))
    }
    var socket = Socket(
      ends: Ends(local: end(8, 4), remote: end(24, 6)),
      user: message.loadUnaligned(fromByteOffset: 16 + 64, as: UInt32.self), group: nil)
    var at = 16 + 72
    while message.count - at >= 4 {
      let length = Int(message.loadUnaligned(fromByteOffset: at, as: UInt16.self))
      guard length >= 4, length <= message.count - at else { break }
      if message.loadUnaligned(fromByteOffset: at + 2, as: UInt16.self) & 0x3FFF == cgroupID, length == 12 {
        socket.group = message.loadUnaligned(fromByteOffset: at + 4, as: UInt64.self)
      }
      at += (length + 3) & ~3
    }
    return socket
  }
}
