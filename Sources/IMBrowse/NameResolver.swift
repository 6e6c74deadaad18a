import CSandbox
import Glibc

/// What has become of an address that was looked up.
enum ResolvedName: Equatable, Sendable {
  /// It has a name.
  case named(String)
  /// It has none.
  case nameless
  /// Nobody has answered who would know.
  case unknown
}

/// Who knows names of addresses.
protocol NameResolving {
  /// The names of addresses, at most `NameResolver.batchCount` of them, by these. Ends when `isOver` says so, without those that are
  /// missing.
  func names(of addresses: [String], isOver: () -> Bool) -> [String: ResolvedName]
}

/// The process that looks names up: the DNS, or whatever the system has in its place.
final class NameResolver: NameResolving {
  /// Addresses of a batch, at most.
  static let batchCount = Int(IMDUMP_RESOLVER_BATCH)
  /// Milliseconds between two looks at whether anybody still waits.
  private static let pause: Int32 = 100
  /// Times that a batch is waited for: half a minute.
  private static let patience = 300

  private let socket: Int32
  private var serial: UInt32 = 0
  private var isGone = false

  /// One that answers at `socket`.
  init(socket: Int32) { self.socket = socket }

  deinit { close(socket) }

  func names(of addresses: [String], isOver: () -> Bool) -> [String: ResolvedName] {
    let known = addresses.prefix(Self.batchCount).compactMap { text in Self.address(text).map { (text, $0) } }
    guard !known.isEmpty, !isGone else { return [:] }
    serial &+= 1
    guard imdump_resolver_ask(socket, serial, known.map(\.1), Int32(known.count)) == 0 else {
      isGone = true
      return [:]
    }
    var names = Array(repeating: imdump_resolver_name(), count: known.count)
    for _ in 0..<Self.patience where !isOver() {
      let taken = imdump_resolver_take(socket, serial, &names, Int32(known.count), Self.pause)
      if taken == 0 { continue }
      isGone = taken < 0
      guard taken > 0 else { return [:] }
      return Dictionary(zip(known, names).map { ($0.0, Self.resolved($1)) }) { first, _ in first }
    }
    return [:]
  }

  /// Whether a text is an address, of which there may be a name.
  static func isAddress(_ text: String) -> Bool { address(text) != nil }

  private static func address(_ text: String) -> imdump_resolver_address? {
    var address = imdump_resolver_address()
    let isIPv6 = text.utf8.contains(UInt8(ascii: ":"))
    address.is_ipv6 = isIPv6 ? 1 : 0
    let isRight = withUnsafeMutableBytes(of: &address.bytes) { bytes in
      inet_pton(isIPv6 ? AF_INET6 : AF_INET, text, bytes.baseAddress) == 1
    }
    return isRight ? address : nil
  }

  private static func resolved(_ found: imdump_resolver_name) -> ResolvedName {
    switch Int(found.status) {
    case Int(IMDUMP_RESOLVER_NAMED):
      .named(
        withUnsafeBytes(of: found.name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
    case Int(IMDUMP_RESOLVER_NAMELESS): .nameless
    default: .unknown
    }
  }
}
