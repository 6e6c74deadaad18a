/// The name of a message within one core, from the moment it is accepted until nothing more can happen to it.
@frozen
public struct MessageID: Hashable, Comparable, Sendable, BitwiseCopyable {
  /// Counts up from 1.
  public var rawValue: UInt64

  /// A name of its number.
  /// The value with this number.
  @inlinable public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Whether `a` comes before `b`.
  @inlinable public static func < (a: MessageID, b: MessageID) -> Bool { a.rawValue < b.rawValue }
}

/// The name of a session within one core. A place is used again after its session was dropped, with another generation.
@frozen
public struct SessionID: Hashable, Sendable, BitwiseCopyable {
  /// A small number, dense from 0.
  public var place: UInt32
  /// Which session of this place, from 0.
  public var generation: UInt32

  /// A name of its parts.
  @inlinable public init(place: UInt32, generation: UInt32 = 0) {
    self.place = place
    self.generation = generation
  }
}

/// Who a client is, across connections and addresses: what its messages' numbers are remembered under.
///
/// A process that does not keep its unacknowledged messages takes a new one each time it starts.
@frozen
public struct ClientIdentity: Hashable, Sendable, BitwiseCopyable {
  /// The first eight bytes on the wire.
  public var high: UInt64
  /// The last eight.
  public var low: UInt64

  /// An identity of its two halves.
  @inlinable public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// One that was never given before.
  public static func random() -> ClientIdentity {
    ClientIdentity(high: .random(in: .min ... .max), low: .random(in: .min ... .max))
  }
}

extension ClientIdentity {
  /// The 16 bytes on the wire.
  package var bytes: [UInt8] { TLV.bigEndian(high) + TLV.bigEndian(low) }

  /// The identity in 16 bytes.
  package init(_ bytes: some Collection<UInt8>) {
    high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    low = bytes.dropFirst(8).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// What proves to a server that a client is the one its identity names.
///
/// The identity travels to everybody who gets a message, so it proves nothing. The secret goes to the server alone, which
/// keeps a hash of it. An application that keeps its identity keeps its secret with it.
public struct DeviceSecret: Hashable, Sendable, CustomStringConvertible {
  /// Bytes of a secret.
  public static var byteCount: Int { 16 }
  /// The bytes on the wire.
  public let bytes: [UInt8]

  /// A secret that was kept; `nil` when it is not of `byteCount` bytes.
  public init?(_ bytes: [UInt8]) {
    guard bytes.count == Self.byteCount else { return nil }
    self.bytes = bytes
  }

  private init(random: Void) {
    var generator = SystemRandomNumberGenerator()
    bytes = (0..<Self.byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
  }

  /// One that no client has had before.
  public static func random() -> DeviceSecret { DeviceSecret(random: ()) }

  /// No secret: it may appear in a log.
  public var description: String { "DeviceSecret" }
}

/// How much a message matters beside others that wait.
public enum Priority: UInt8, Sendable, CaseIterable, Comparable, BitwiseCopyable {
  /// Before everything else.
  case urgent
  /// Before what is normal.
  case high
  /// What people write.
  case normal
  /// What can wait for a better network.
  case low

  /// Whether `a` comes before `b`.
  public static func < (a: Priority, b: Priority) -> Bool { a.rawValue < b.rawValue }
}

/// Numbers that look random and follow from a seed: SplitMix64.
struct SeededGenerator: RandomNumberGenerator, Sendable {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state = state &+ 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
    return z ^ z >> 31
  }

  /// A number from 0 to below 1.
  mutating func fraction() -> Double { Double(next() >> 11) / Double(1 << 53) }
}
