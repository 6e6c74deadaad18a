package import IMWire

/// What an engine is to do.
package struct EngineOptions: Sendable {
  /// What the sink wants to hear; what nobody wants is not made.
  package struct Needs: OptionSet, Sendable {
    /// One bit for each.
    package let rawValue: UInt16
    /// The needs whose bits are set in `rawValue`.
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    /// Every frame.
    package static let frames = Needs(rawValue: 1)
    /// Exchanges when their fate is decided.
    package static let resolved = Needs(rawValue: 2)
    /// Exchanges when they are forgotten.
    package static let finished = Needs(rawValue: 4)
    /// Issues.
    package static let issues = Needs(rawValue: 8)
    /// Connections when they end.
    package static let connections = Needs(rawValue: 16)
    /// Settlements in batches, beside `resolved` or instead of it.
    package static let resolutions = Needs(rawValue: 32)
    /// Decoded connections also while they live, every minute.
    package static let progress = Needs(rawValue: 64)
    /// The last report on a connection when it is forgotten, a minute behind its end: what comes in between is in it.
    package static let lateReports = Needs(rawValue: 128)
    /// What of streams is no frame that is read where it stands.
    package static let undecoded = Needs(rawValue: 256)
  }

  /// The protocols to look for, in the order of preference.
  package var plans: [ProtocolPlan]
  /// Ports beyond the profiles' own on which they are expected.
  package var ports: [UInt16] = []
  /// Whether the only plan is expected at the beginning of any connection, on any ports, because the user named it.
  package var expectsOnlyPlan = false
  /// What the sink wants to hear; by default none of these.
  package var needs: Needs = []
  /// Limits and rules of reassembly.
  package var reassembly = ReassemblyOptions()
  /// Whether TCP and IP checksums are verified.
  package var verifiesChecksums = true
  /// Exchanges remembered at once, a power of two.
  package var exchangeCapacity = 1 << 17
  /// The most bytes of an inflated body; a longer one is not read.
  package var inflateLimit = 4 << 20
  /// The most bytes of an inflated body for each byte on the wire.
  package var inflateRatio = 100
  /// The most TLVs that are walked in one frame, at most 65,536.
  package var tlvLimit = 65_536
  /// Datagrams whose fragments are waited for, and for how long.
  package var datagramLimit = 4_096, datagramPatience = Duration.seconds(30)
  /// The most bytes that all tables hold together: connections, held segments, exchanges, sessions, fragments, figures.
  package var memory = 256 << 20
  /// What the sink keeps, in bytes: of each connection that a plan decodes, of each exchange, of each server.
  package var sinkCost: (connection: Int, exchange: Int, server: Int) = (0, 0, 0)
  /// What stands for names that are not to be shown.
  package var identities = IdentityHash(key: [])
  /// Keeps senders from choosing addresses and numbers that collide in the tables of flows and exchanges.
  package var seed: UInt64 = 0x1234_5678_9abc_def0

  /// Options for `plans`.
  package init(plans: [ProtocolPlan]) { self.plans = plans }
}
