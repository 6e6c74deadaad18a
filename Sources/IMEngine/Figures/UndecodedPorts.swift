/// What the beginning of a stream looks like that no plan reads.
package enum UndecodedLook: Sendable {
  /// TLS whose beginning was not captured.
  case tls
  /// HTTP.
  case http
  /// The secure shell.
  case ssh
  /// As many different bytes as encryption and compression make.
  case scrambled

  /// The words for it.
  package var text: String {
    switch self {
    case .tls: "TLS, encrypted"
    case .http: "HTTP"
    case .ssh: "SSH, encrypted"
    case .scrambled: "looks encrypted or compressed"
    }
  }

  /// What the `count` bytes at `start` look like; `nil` where they may be a protocol's.
  init?(_ bytes: borrowing Bytes, _ start: Int, count: Int) {
    guard count >= 5 else { return nil }
    let word = bytes.u32(start)
    switch word {
    // GET, POST, PUT, HEAD, OPTIONS, DELETE, CONNECT, HTTP
    case 0x4745_5420, 0x504f_5354, 0x5055_5420, 0x4845_4144, 0x4f50_5449, 0x4445_4c45, 0x434f_4e4e, 0x4854_5450:
      self = .http
      return
    case 0x5353_482d:
      self = .ssh
      return
    default: break
    }
    // Content types 20 to 23, versions 3.0 to 3.4.
    if (20...23).contains(word >> 24), word >> 8 & 0xffff <= 0x0304, word >> 8 & 0xff00 == 0x0300 {
      self = .tls
      return
    }
    // Of 64 random bytes, 57 are different on average, and hardly ever fewer than 50; text has some 30, and headers have zeros.
    guard count >= 64 else { return nil }
    var seen: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
    for i in 0..<64 {
      let byte = bytes.u8(start &+ i), bit = UInt64(1) << UInt64(byte & 63)
      switch byte >> 6 {
      case 0: seen.0 |= bit
      case 1: seen.1 |= bit
      case 2: seen.2 |= bit
      default: seen.3 |= bit
      }
    }
    let different =
      seen.0.nonzeroBitCount + seen.1.nonzeroBitCount + seen.2.nonzeroBitCount + seen.3.nonzeroBitCount
    guard different >= 50 else { return nil }
    self = .scrambled
  }
}

/// Bytes of connections that nothing decodes, by the lower of their ports.
struct UndecodedPorts {
  /// Ports that are counted; whatever a scan adds is left out.
  private static var maximumCount: Int { 4_096 }

  private struct Entry {
    var bytes: UInt64 = 0
    /// Streams whose beginning was looked at, and the look of the last one that had any.
    var streams = 0
    var scrambled = 0
    var look: UndecodedLook?
  }

  private var entries: [UInt16: Entry] = [:]

  /// Counts bytes of a connection between two ports, as `FlowKey.ports` has them.
  mutating func add(_ ports: UInt32, _ count: Int) {
    let port = Self.port(ports)
    if entries.count < Self.maximumCount || entries[port] != nil {
      entries[port, default: Entry()].bytes += UInt64(count)
    }
  }

  /// Looks at the `count` bytes at `start`, the first that are held of a direction; of each port, at 32 directions.
  mutating func look(_ ports: UInt32, _ bytes: borrowing Bytes, _ start: Int, count: Int) {
    guard count >= 5, var entry = entries[Self.port(ports)], entry.streams < 32 else { return }
    entry.streams += 1
    if let look = UndecodedLook(bytes, start, count: count) {
      entry.look = look
      entry.scrambled += 1
    }
    entries[Self.port(ports)] = entry
  }

  private static func port(_ ports: UInt32) -> UInt16 { UInt16(truncatingIfNeeded: min(ports >> 16, ports & 0xffff)) }

  /// The ports with the most bytes, busiest first, with what most of their streams look like; `nil` where that may be a protocol.
  func busiest(_ count: Int) -> [(port: UInt16, bytes: UInt64, look: UndecodedLook?)] {
    let sorted = entries.sorted { ($0.value.bytes, $1.key) > ($1.value.bytes, $0.key) }
    return sorted.prefix(count).map {
      ($0.key, $0.value.bytes, $0.value.scrambled * 2 >= $0.value.streams ? $0.value.look : nil)
    }
  }
}
