import IMEngine
import IMMetrics
package import IMWire

/// How a rule groups its samples within its scope: `by` of a rule. Each group has a state of its own.
package enum AlertGrouping: Hashable, Sendable {
  /// The client's address.
  case client
  /// The session that a message belongs to.
  case session
  /// A message's type.
  case type
  /// The unit or container that has the connection's end of this host; live only.
  case owner
  /// The client's network, by the length of its prefix in bits, for IPv4 and for IPv6.
  case network(v4: UInt8, v6: UInt8)

  /// The name in rules, and of the label that an alert has.
  package var name: String {
    switch self {
    case .client: "client"
    case .session: "session"
    case .type: "type"
    case .owner: "owner"
    case .network: "network"
    }
  }

  /// Whether groups are made of messages, and not of connections.
  package var isOfMessages: Bool {
    switch self {
    case .session, .type: true
    case .client, .owner, .network: false
    }
  }

  /// The grouping that `text` names: a word, or `network/BITS` or `network/BITS/BITS`; `nil` for none.
  init?(_ text: String) {
    switch text {
    case "client": self = .client
    case "session": self = .session
    case "type": self = .type
    case "owner": self = .owner
    default:
      let parts = text.split(separator: "/", omittingEmptySubsequences: false)
      guard parts.first == "network", parts.count <= 3 else { return nil }
      let bits = parts.dropFirst().map { UInt8($0) ?? 0 }
      let v4 = bits.first ?? 24, v6 = bits.count > 1 ? bits[1] : 64
      guard (1...32).contains(v4), (1...128).contains(v6) else { return nil }
      self = .network(v4: v4, v6: v6)
    }
  }
}

/// One group of a rule with `by`.
package enum AlertGroup: Hashable, Sendable {
  /// An address of clients.
  case client(IPAddress)
  /// A session by its name, or by its number as text where `isNumber`.
  case session(String, isNumber: Bool)
  /// A type, by its profile's index and its own.
  case type(plan: UInt8, kind: UInt8, name: String)
  /// A unit or a container.
  case owner(String)
  /// A network: its first address, and the bits of its prefix.
  case network(IPAddress, bits: UInt8)

  /// The longest name of a session that is kept as it is, in bytes.
  private static let longestName = 256

  /// The group of a session by its name. A long name is truncated, and a hash of the whole name is appended.
  init(session name: String) {
    guard name.utf8.count > Self.longestName else {
      self = .session(name, isNumber: false)
      return
    }
    let kept = String(decoding: name.utf8.prefix(Self.longestName - 32), as: UTF8.self)
    self = .session("\(kept)...\(SHA1.shortDigest(name))", isNumber: false)
  }

  /// The name in alerts: `10.0.0.7`, `phone-1`, `PUBLISH`, `gateway.service`, `10.0.0.0/24`.
  package var name: String {
    switch self {
    case .client(let address): "\(address)"
    case .session(let name, _), .type(_, _, let name), .owner(let name): name
    case .network(let address, let bits): "\(address)/\(bits)"
    }
  }

  /// Whether a client chose the name, so that it may contain anything.
  package var isNamedByClient: Bool { if case .session(_, let isNumber) = self { !isNumber } else { false } }
}

/// The message that a sample is of, as far as groups ask: the engine's number of its session, and its type.
struct SampleOrigin {
  /// The tracker's number of the session; `.max` for none.
  var session = UInt32.max
  /// The type's index in its plan; `.max` for none.
  var kind = UInt8.max

  /// No message: the sample is of a connection.
  static let connection = SampleOrigin()

  init() {}

  /// The message that a frame carries.
  init(_ frame: Frame, _ note: FrameNote) {
    session = note.session
    kind = frame.kind.pointee.index
  }

  /// A message whose fate was decided.
  init(_ exchange: borrowing Exchange) {
    session = exchange.session
    kind = exchange.kind
  }
}

extension IPAddress {
  /// The first address of the network with this prefix of `bits` bits.
  func network(bits: UInt8) -> IPAddress {
    let kept = Int(bits)
    if !isIPv6 {
      let mask = kept >= 32 ? UInt32.max : ~(UInt32.max >> UInt32(kept))
      return IPAddress(v4: UInt32(truncatingIfNeeded: low) & mask)
    }
    let high = kept >= 64 ? self.high : self.high & ~(UInt64.max >> UInt64(kept))
    let low = kept >= 128 ? self.low : kept <= 64 ? 0 : self.low & ~(UInt64.max >> UInt64(kept - 64))
    return IPAddress(v6High: high, v6Low: low)
  }
}
