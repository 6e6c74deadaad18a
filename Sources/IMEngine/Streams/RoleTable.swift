import IMWire

/// A connection whose protocol is known and whose client is not.
struct AwaitedRoles {
  /// What decodes it.
  var profile: FlowProfile
  /// Bytes that both directions held when their types were looked at last.
  var looked = 0
  /// Whether it explained half of them.
  var isSure = true
}

/// Connections by port: the one that many share is a server's.
///
/// Counted for the whole run, saturating: 128 KiB, whatever the capture holds.
struct PortUse: ~Copyable {
  private let counts: UnsafeMutablePointer<UInt16>
  /// Ports that there are: 16 bits.
  private static var portCount: Int { 65_536 }

  init() {
    counts = .allocate(capacity: Self.portCount)
    counts.initialize(repeating: 0, count: Self.portCount)
  }

  deinit { counts.deallocate() }

  /// Takes note of a new connection between two ports, as `FlowKey.ports` has them.
  func add(_ ports: UInt32) {
    count(Int(ports >> 16))
    count(Int(ports & 0xffff))
  }

  private func count(_ port: Int) { counts[port] += counts[port] == .max ? 0 : 1 }

  /// The side whose port is shared so much that it must be the server's; `nil` where neither is.
  func server(_ ports: UInt32) -> Int? {
    let (first, second) = (Int(counts[Int(ports >> 16)]), Int(counts[Int(ports & 0xffff)]))
    if first >= 3, first >= 3 * second { return 0 }
    if second >= 3, second >= 3 * first { return 1 }
    return nil
  }
}

/// What tells who is the client of connections whose beginning was not captured.
struct RoleTable: ~Copyable {
  /// Connections whose client is not known yet, by serial number.
  var awaited: [UInt32: AwaitedRoles] = [:]
  /// How many connections each port has.
  let portUse = PortUse()

  /// Waits no longer for the client of the connection `serial`; whether it was waited for.
  @discardableResult
  mutating func stopWaiting(for serial: UInt32) -> Bool {
    !awaited.isEmpty && awaited.removeValue(forKey: serial) != nil
  }
}
