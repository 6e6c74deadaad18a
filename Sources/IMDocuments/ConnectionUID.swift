import IMEngine
import IMWire

/// The name of a connection in the documents of every run that first sees it with the same packet, whatever other connections, files and shards that
/// run has.
///
///     26 digits in base 32 of the first 16 bytes of SHA-256(4 or 6, address, address, port, port, time, sequence number)
///
/// The lesser endpoint comes first, as in a Community ID. Addresses have 4 or 16 bytes, ports 2, the time of the connection's first packet in
/// microseconds 8, and that packet's TCP sequence number 4; all are big-endian. Nanoseconds are left out, since a copy of a capture may have lost
/// them.
enum ConnectionUID {
  /// The characters of the name.
  typealias Text = InlineArray<26, UInt8>

  /// The name of a connection; `nil` if no packet of it is known.
  static func text(of info: ConnectionInfo) -> Text? {
    guard info.firstSeen != .distantPast else { return nil }
    let ends = CommunityID.isOrdered(info.peer, info.server) ? [info.peer, info.server] : [info.server, info.peer]
    var bytes: [UInt8] = []
    bytes.reserveCapacity(64)
    func add(_ value: some FixedWidthInteger) { withUnsafeBytes(of: value.bigEndian) { bytes += $0 } }
    add(info.peer.address.isIPv6 ? 6 : 4 as UInt8)
    for end in ends {
      if end.address.isIPv6 {
        add(end.address.high)
        add(end.address.low)
      } else {
        add(UInt32(truncatingIfNeeded: end.address.low))
      }
    }
    for end in ends { add(end.port) }
    add(info.firstSeen.microseconds)
    add(info.firstSequence)
    let hash = bytes.withUnsafeBytes { SHA256.digest($0) }
    return RunIdentity.digits(
      UInt64(hash[0]) &<< 32 | UInt64(hash[1]), UInt64(hash[2]) &<< 32 | UInt64(hash[3]))
  }
}
