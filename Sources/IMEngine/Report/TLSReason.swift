package import IMTLS

/// Why TLS connections could not be decrypted, and how many of them.
package struct TLSReason: Sendable {
  /// The reason.
  package let reason: TLSUnread
  /// How many connections it is that of.
  package fileprivate(set) var connections: UInt64 = 1
  /// The first four bytes of the client randoms of the first of them, as numbers; at most three.
  package fileprivate(set) var randoms: [UInt32] = []

  fileprivate init(_ reason: TLSUnread) { self.reason = reason }

  /// The reason in words, with its name and the randoms as eight hexadecimal digits.
  package var text: String {
    let names = randoms.map { random in
      let digits = String(random, radix: 16)
      return String(repeating: "0", count: 8 - digits.count) + digits
    }
    let known = names.joined(separator: ", ") + (connections > UInt64(names.count) ? ", ..." : "")
    let what =
      switch reason {
      case .noKey: "the key log has no secrets for client random \(known)"
      case .keyLate: "the secrets came too late"
      case .noHello: "no ClientHello was captured, and no secrets of the key log match"
      case .noServerHello: "the ServerHello, whose random TLS 1.2 needs, was not captured"
      case .suite: "imdump does not read this version or cipher suite"
      case .tag: "the secrets of the key log decrypt no record"
      case .limit: "the search for keys reached its limit"
      case .cut, .noRecord: "too many bytes are missing"
      case .earlyRejected: "the server rejected the early data"
      case .beforeTLS: "it came before TLS began"
      }
    return "\(what) (\(reason.name))"
  }
}

/// The reasons of all connections that could not be decrypted, in the order in which they came up.
struct TLSReasons {
  private(set) var all: [TLSReason] = []

  /// Takes note of a connection.
  mutating func note(_ reason: TLSUnread, random: UInt32?) {
    let i: Int
    if let known = all.firstIndex(where: { $0.reason == reason }) {
      all[known].connections += 1
      i = known
    } else {
      all.append(TLSReason(reason))
      i = all.count - 1
    }
    if let random, all[i].randoms.count < 3 { all[i].randoms.append(random) }
  }
}
