package import IMWire

/// What a frame is for, whatever its protocol calls it.
package enum FrameRole: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  /// Something a user or an application said.
  case message
  /// An answer that names what it acknowledges.
  case acknowledgment
  /// A sign of life.
  case heartbeat
  /// Opening, subscribing, closing.
  case control
  /// That a message was read.
  case receipt
  /// Anything else, and types that the profile does not know.
  case other

  /// The name in profiles and stores.
  package var name: String {
    switch self {
    case .message: "message"
    case .acknowledgment: "acknowledgment"
    case .heartbeat: "heartbeat"
    case .control: "control"
    case .receipt: "receipt"
    case .other: "other"
    }
  }
}

/// What one frame type means and how it is checked.
package struct FrameKind: Sendable, BitwiseCopyable {
  /// Facts that are true or not.
  package struct Flags: OptionSet, Sendable, BitwiseCopyable {
    /// One bit for each.
    package let rawValue: UInt32
    /// The flags whose bits are set in `rawValue`.
    package init(rawValue: UInt32) { self.rawValue = rawValue }
    /// The body is not a TLV list.
    package static let noTLV = Flags(rawValue: 1)
    /// The receiver answers it.
    package static let expectsAck = Flags(rawValue: 2)
    /// It draws a number from its sender's counter.
    package static let numbered = Flags(rawValue: 4)
    /// The same type with the same number in the other direction is its answer.
    package static let echoed = Flags(rawValue: 8)
    /// It carries no number: an answer belongs to the oldest open one.
    package static let unnumbered = Flags(rawValue: 16)
    /// Only clients send it.
    package static let fromClient = Flags(rawValue: 32)
    /// Only servers send it.
    package static let fromServer = Flags(rawValue: 64)
    /// As an answer, a status that is not one of those that accept refuses; see `Plan.acceptedStatus`.
    package static let refusing = Flags(rawValue: 128)
    /// It names the client; the session begins with it.
    package static let opensSession = Flags(rawValue: 256)
    /// The protocol's handshake is made of it; see `Plan.handshakeRequest`.
    package static let handshake = Flags(rawValue: 512)
    /// It says that messages were read or delivered; see `Plan.receiptTag`.
    package static let receipt = Flags(rawValue: 1_024)
    /// Its identity is the client's name; the session stays the connection's own. Together with `opensSession`.
    package static let namesSession = Flags(rawValue: 2_048)
    /// Among its steps are `string`, `bytes` or `tlv`.
    package static let hasOtherSteps = Flags(rawValue: 4_096)
    /// It tells which variant of the protocol its connection speaks: the one whose steps fit it.
    package static let tellsVariant = Flags(rawValue: 8_192)
    /// An acknowledgment answers its message and all before it that are still open.
    package static let cumulative = Flags(rawValue: 16_384)
    /// The identity in it, where there is one, is the name that the server gave the client.
    package static let assignsIdentity = Flags(rawValue: 32_768)
    /// Each frame is a message of its own: one that repeats a number, or a body, is no copy.
    package static let neverCopied = Flags(rawValue: 65_536)
    /// Its sender sends it again on another connection of its session, as long as no answer came; see `NumberLife`.
    package static let outlives = Flags(rawValue: 131_072)
    /// Its body has a number by which answers may name it instead of its own; see `Frame.Flags.reference`.
    package static let referenced = Flags(rawValue: 262_144)
    /// As an answer, it refuses whatever its status is.
    package static let refusesAlways = Flags(rawValue: 524_288)
    /// Its frames have no length: they end where it would be.
    package static let lengthAbsent = Flags(rawValue: 1_048_576)
    /// It is answered only on connections on which a frame said so; see `tellsAnswers`.
    package static let answeredOnDemand = Flags(rawValue: 2_097_152)
    /// It tells whether types that are `answeredOnDemand` are answered from then on.
    package static let tellsAnswers = Flags(rawValue: 4_194_304)
    /// Whatever it is for, its body names what it acknowledges of the other side; see `answers`.
    package static let acknowledgesToo = Flags(rawValue: 8_388_608)
    /// As an acknowledgment, it is cumulative where its body says so; see `Frame.Flags.multiple`.
    package static let cumulativeOnDemand = Flags(rawValue: 16_777_216)
    /// Its number is how many of its sender's frames precede it; see `GeneralPlan.hasCounter`.
    package static let counted = Flags(rawValue: 33_554_432)
    /// It draws a number from that counter, which nothing answers.
    package static let countedOnly = Flags(rawValue: 67_108_864)
    /// The counter of its sender begins after it.
    package static let startsCounter = Flags(rawValue: 134_217_728)
    /// The counter of its sender goes on after it where it stopped on another connection.
    package static let continuesCounter = Flags(rawValue: 268_435_456)
    /// After it, the bodies of its connection are compressed; see `GeneralPlan.isZlib`.
    package static let startsCompression = Flags(rawValue: 536_870_912)
    /// What is looked at after tracking: by its tags, by the variant that it tells, by the number that it is referred to.
    static let tagged: Flags = [.handshake, .receipt, .tellsVariant, .referenced]
  }

  /// The type's value on the wire.
  package var value: UInt64 = .max
  /// The index in the profile's list of types.
  package var index: UInt8 = Self.unknownIndex
  /// The index that all types share which the profile does not know.
  package static let unknownIndex: UInt8 = 63
  /// What it is for.
  package var role = FrameRole.other
  /// How it is sent, answered and read.
  package var flags: Flags = []
  /// How many bits of proof a header of this type gives that it is one: fixed bits and lengths.
  package var evidence: UInt8 = 0
  /// The index of the first of all types that the same answers in order answer, its own one included: for an answer in order, of
  /// those that it answers.
  var order: UInt8 = Self.unknownIndex
  /// The least status that accepts, where `acceptedLast` is not `.max`.
  package var acceptedFirst: UInt16 = 0
  /// The types, by index, that this one answers.
  package var answers: UInt64 = 0
  /// The body's least length in bytes, trailer included; a shorter one is no frame.
  package var minimumBody: UInt32 = 0
  /// The body's greatest length in bytes, trailer included; a longer one is no frame.
  package var maximumBody: UInt32 = .max
  /// Whether the variant of the protocol knows no such type: no body fits it.
  package var isAbsent: Bool { minimumBody > maximumBody }
  /// Bits of the header's first eight bytes (big endian) that this type fixes.
  package var headMask: UInt64 = 0
  /// What those bits are; anything else is no frame.
  package var headValue: UInt64 = 0
  /// The first of the steps that read its body, in the plan's list.
  package var firstStep: UInt16 = 0
  /// How many steps there are; 0 where nothing is read.
  package var stepCount: UInt16 = 0
  /// Which list of names its statuses have; see `ProtocolPlan.statusNames`.
  package var statusList: UInt8 = 0
  /// The greatest status that accepts; `.max` where `Plan.acceptedStatus` says so for all types.
  package var acceptedLast: UInt32 = .max
  /// How long an answer may take, in nanoseconds.
  package var timeout = Nanoseconds.seconds(6)

  /// A type that nothing is known of.
  package init() {}
}
