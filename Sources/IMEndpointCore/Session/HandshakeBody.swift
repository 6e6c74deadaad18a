/// The body of a handshake's question: version and features in ten bytes, as the protocol has it, and behind them what
/// this library adds: who the client is, and which numbers are still open.
struct HandshakeRequest: Equatable, Sendable {
  var version: ProtocolVersion
  var features: Features
  var identity: ClientIdentity?
  var secret: DeviceSecret?
  /// Which process of the client this is.
  var instance: UInt64?
  /// Seconds for which the client wants to be remembered without a connection.
  var expiry: UInt32?
  var user: String?
  /// What the client shows to be let in.
  var token: [UInt8]?
  var unsettled: UnsettledNumbers?

  /// The body of a frame.
  var encoded: [UInt8] {
    var body: [UInt8] = []
    TLV.append(.versionRequest, [version.major, version.minor] + TLV.bigEndian(features.rawValue), to: &body)
    if let identity { TLV.append(.identity, identity.bytes, to: &body) }
    if let secret { TLV.append(.secret, secret.bytes, to: &body) }
    if let instance { TLV.append(.instance, TLV.bigEndian(instance), to: &body) }
    if let expiry { TLV.append(.expiry, TLV.bigEndian(expiry), to: &body) }
    if let user { TLV.append(.user, user.utf8, to: &body) }
    if let token { TLV.append(.token, token, to: &body) }
    unsettled?.append(to: &body)
    return body
  }

  init(
    version: ProtocolVersion, features: Features, identity: ClientIdentity? = nil, secret: DeviceSecret? = nil,
    user: String? = nil, unsettled: UnsettledNumbers? = nil
  ) {
    self.version = version
    self.features = features
    self.identity = identity
    self.secret = secret
    self.user = user
    self.unsettled = unsettled
  }

  /// Reads a question; `nil` when the body is none.
  init?(decoding body: RawSpan) {
    guard let range = TLV.value(of: .versionRequest, in: body), range.count == 4 else { return nil }
    (version, features) = HandshakeResponse.agreement(body, range)
    if let range = TLV.value(of: .identity, in: body), range.count == 16 {
      let middle = range.lowerBound + 8
      identity = ClientIdentity(
        high: TLV.number(body, range.lowerBound..<middle), low: TLV.number(body, middle..<range.upperBound))
    }
    if let range = TLV.value(of: .secret, in: body), range.count == DeviceSecret.byteCount {
      secret = body.extracting(range).withUnsafeBytes { DeviceSecret([UInt8]($0)) }
    }
    if let range = TLV.value(of: .instance, in: body), range.count == 8 { instance = TLV.number(body, range) }
    if let range = TLV.value(of: .expiry, in: body), range.count == 4 {
      expiry = UInt32(truncatingIfNeeded: TLV.number(body, range))
    }
    if let range = TLV.value(of: .user, in: body), range.count <= 256 {
      user = body.extracting(range).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    }
    if let range = TLV.value(of: .token, in: body), range.count <= Credentials.longestToken {
      token = body.extracting(range).withUnsafeBytes { [UInt8]($0) }
    }
    unsettled = UnsettledNumbers(decoding: body)
  }
}

/// The body of a handshake's answer: what both can do, or why not.
enum HandshakeResponse: Equatable, Sendable {
  case agreed(ProtocolVersion, Features, UnsettledNumbers?)
  case refused(HandshakeRefusal)

  /// The body of a frame.
  var encoded: [UInt8] {
    var body: [UInt8] = []
    switch self {
    case .agreed(let version, let features, let unsettled):
      TLV.append(.versionResponse, [version.major, version.minor] + TLV.bigEndian(features.rawValue), to: &body)
      unsettled?.append(to: &body)
    case .refused(let refusal):
      let version = refusal.version
      TLV.append(.refusal, TLV.bigEndian(refusal.reason.rawValue) + [version.major, version.minor], to: &body)
    }
    return body
  }

  /// Reads an answer; `nil` when the body is none.
  init?(decoding body: RawSpan) {
    if let range = TLV.value(of: .versionResponse, in: body), range.count == 4 {
      let (version, features) = Self.agreement(body, range)
      self = .agreed(version, features, UnsettledNumbers(decoding: body))
    } else if let range = TLV.value(of: .refusal, in: body), range.count == 4 {
      let number = TLV.number(body, range)
      let version = ProtocolVersion(UInt8(number >> 8 & 0xff), UInt8(number & 0xff))
      self = .refused(HandshakeRefusal(.init(rawValue: UInt16(number >> 16)) ?? .other, version: version))
    } else {
      return nil
    }
  }

  static func agreement(_ body: RawSpan, _ range: Range<Int>) -> (ProtocolVersion, Features) {
    let number = TLV.number(body, range)
    return (
      ProtocolVersion(UInt8(number >> 24 & 0xff), UInt8(number >> 16 & 0xff)),
      Features(rawValue: UInt16(number & 0xffff))
    )
  }
}

/// The first number of each category of which the sender does not know that it arrived: everything before is settled.
///
/// It goes ahead of all else on each new connection. Without it a receiver could not tell whether a number below the
/// first it sees is a duplicate or has been overtaken. The epoch says which counters they are: another one, and the
/// sender has started anew and counts from anywhere.
struct UnsettledNumbers: Equatable, Sendable {
  var counters: InlineArray<5, UInt32>
  var epoch: UInt64

  static func == (a: UnsettledNumbers, b: UnsettledNumbers) -> Bool {
    a.epoch == b.epoch && a.counters.indices.allSatisfy { a.counters[$0] == b.counters[$0] }
  }

  init(_ counters: InlineArray<5, UInt32>, epoch: UInt64) {
    self.counters = counters
    self.epoch = epoch
  }

  func append(to body: inout [UInt8]) {
    TLV.append(.unsettled, counters.indices.flatMap { TLV.bigEndian(counters[$0]) } + TLV.bigEndian(epoch), to: &body)
  }

  init?(decoding body: RawSpan) {
    guard let range = TLV.value(of: .unsettled, in: body), range.count == 28 else { return nil }
    counters = InlineArray(repeating: 0)
    for index in 0..<5 {
      let start = range.lowerBound + index * 4
      counters[index] = UInt32(truncatingIfNeeded: TLV.number(body, start..<start + 4))
    }
    epoch = TLV.number(body, range.lowerBound + 20..<range.upperBound)
  }
}
