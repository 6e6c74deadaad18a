/// What a frame is for: the header's type. Values without a name are kept as they came.
@frozen
public struct FrameKind: RawRepresentable, Hashable, Sendable, BitwiseCopyable {
  /// The number on the wire.
  public var rawValue: UInt16

  /// The value with this number.
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// A message of the application.
  public static let data = FrameKind(rawValue: 0)
  /// A sign of life.
  public static let heartbeat = FrameKind(rawValue: 1)
  /// The acknowledgment of a frame of any other kind.
  public static let acknowledgment = FrameKind(rawValue: 2)
  /// Handshakes and refusals.
  public static let control = FrameKind(rawValue: 3)
  /// A message has been read.
  public static let receipt = FrameKind(rawValue: 4)
}

/// A version of the protocol, as the header and the handshake carry it.
@frozen
public struct ProtocolVersion: Hashable, Comparable, Sendable, BitwiseCopyable, CustomStringConvertible {
  /// Versions with different majors do not understand each other.
  public var major: UInt8
  /// A higher minor understands a lower one.
  public var minor: UInt8

  /// A version of its parts.
  @inlinable public init(_ major: UInt8, _ minor: UInt8) {
    self.major = major
    self.minor = minor
  }

  /// The version this library speaks.
  public static let current = ProtocolVersion(1, 0)

  /// Whether `a` comes before `b`.
  @inlinable public static func < (a: ProtocolVersion, b: ProtocolVersion) -> Bool {
    (a.major, a.minor) < (b.major, b.minor)
  }

  /// The value in words.
  public var description: String { "\(major).\(minor)" }
}

/// What both ends can do, agreed on in the handshake.
@frozen
public struct Features: OptionSet, Hashable, Sendable, BitwiseCopyable {
  /// The number that stands for the value.
  public var rawValue: UInt16

  /// The value with this number.
  @inlinable public init(rawValue: UInt16) { self.rawValue = rawValue }

  /// Messages and their acknowledgments.
  public static let basic = Features(rawValue: 1)
  /// Encrypted bodies. This library leaves encryption to TLS and never offers it.
  public static let encryption = Features(rawValue: 2)
  /// Bodies in zlib's format.
  public static let compression = Features(rawValue: 4)
  /// Read receipts.
  public static let receipts = Features(rawValue: 8)
  /// Messages to groups.
  public static let groups = Features(rawValue: 0x10)

  /// Acknowledgments say that the server is responsible, and receipts that an application has taken a message; messages
  /// carry the number and the time that their sender gave them.
  public static let levels = Features(rawValue: 0x20)
  /// What will not arrive is answered with the reason.
  public static let rejections = Features(rawValue: 0x40)
  /// Large messages go in pieces.
  public static let transfers = Features(rawValue: 0x80)
  /// The server knows who is in a group, and passes messages on to all of them.
  public static let membership = Features(rawValue: 0x100)
  /// What was accepted is kept in a store: it survives the server's process.
  public static let durable = Features(rawValue: 0x200)

  /// Receipts may name messages by conversation and number.
  public static let namedReceipts = Features(rawValue: 0x400)

  /// Large messages go on after either end has forgotten the session: each end says what it has.
  public static let resumption = Features(rawValue: 0x800)

  /// The server says who is in a group.
  public static let memberLists = Features(rawValue: 0x1000)

  /// The server relays a large message while it arrives, and may withdraw it.
  public static let relays = Features(rawValue: 0x2000)

  /// What this library can do.
  public static let all: Features = [
    .basic, .compression, .receipts, .groups, .levels, .rejections, .transfers, .membership, .durable,
    .namedReceipts, .resumption, .memberLists, .relays,
  ]
}
