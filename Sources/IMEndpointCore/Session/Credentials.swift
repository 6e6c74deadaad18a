public import IMWire

/// The claims of a client in its handshake, by which an application accepts or refuses it; see `ServerCore.authenticates`.
public struct Credentials: Hashable, Sendable {
  /// The name under which the client wants to be written to.
  public var user: String?
  /// The identity that it claims, which other clients know, too.
  public var identity: ClientIdentity?
  /// What it shows as a proof, at most 4,096 bytes: `ClientConfiguration.token`.
  public var token: [UInt8]?
  /// Where its connection comes from.
  public var remote: Endpoint

  /// Credentials of their parts.
  public init(user: String?, identity: ClientIdentity?, token: [UInt8]?, remote: Endpoint) {
    self.user = user
    self.identity = identity
    self.token = token
    self.remote = remote
  }

  /// The longest token that is read, in bytes.
  static var longestToken: Int { 4_096 }

  /// Whether the token is `expected`. The time it takes depends on the length alone, and does not reveal how many bytes are right.
  public func tokenIs(_ expected: [UInt8]) -> Bool {
    guard let token, token.count == expected.count else { return false }
    return zip(token, expected).reduce(0) { $0 | ($1.0 ^ $1.1) } == 0
  }
}
