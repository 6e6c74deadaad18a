/// Bytes of connections that nothing decodes, by the lower of their ports.
struct UndecodedPorts {
  /// Ports that are counted; whatever a scan adds is left out.
  private static var maximumCount: Int { 4_096 }
  private var bytes: [UInt16: UInt64] = [:]

  /// Counts bytes of a connection between two ports, as `FlowKey.ports` has them.
  mutating func add(_ ports: UInt32, _ count: Int) {
    let port = UInt16(truncatingIfNeeded: min(ports >> 16, ports & 0xffff))
    if bytes.count < Self.maximumCount || bytes[port] != nil { bytes[port, default: 0] += UInt64(count) }
  }

  /// The ports with the most bytes, busiest first.
  func busiest(_ count: Int) -> [(port: UInt16, bytes: UInt64)] {
    Array(bytes.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.prefix(count).map { ($0.key, $0.value) })
  }
}
