/// An IPv4 or IPv6 address in 128 bits; IPv4 stands in the low 32 of them.
@frozen
public struct IPAddress: Hashable, Sendable, BitwiseCopyable {
  /// The first eight bytes of an IPv6 address, as a big-endian number; 0 for IPv4.
  public var high: UInt64
  /// The last eight bytes of an IPv6 address, or the four of an IPv4 address.
  public var low: UInt64
  /// Whether this is an IPv6 address.
  public var isIPv6: Bool

  /// The IPv4 address whose four bytes, most significant first, are `v4`.
  @inlinable public init(v4: UInt32) {
    high = 0
    low = UInt64(v4)
    isIPv6 = false
  }

  /// The IPv6 address of two big-endian halves.
  @inlinable public init(v6High: UInt64, v6Low: UInt64) {
    high = v6High
    low = v6Low
    isIPv6 = true
  }
}

/// One end of a TCP connection.
@frozen
public struct Endpoint: Hashable, Sendable, BitwiseCopyable {
  /// The address.
  public var address: IPAddress
  /// The TCP port.
  public var port: UInt16

  /// An endpoint of its parts.
  @inlinable public init(address: IPAddress, port: UInt16) {
    self.address = address
    self.port = port
  }
}

/// The two ways bytes travel on a connection. The client is the end that opened it.
@frozen
public enum Direction: UInt8, Sendable, BitwiseCopyable {
  /// From the client to the server.
  case clientToServer = 0
  /// From the server to the client.
  case serverToClient = 1

  /// Its name in filters, JSON, rules and SQL: `c2s` or `s2c`.
  public var shortName: String { self == .clientToServer ? "c2s" : "s2c" }
  /// Its name in documents and metrics: `client_to_server` or `server_to_client`.
  public var longName: String { self == .clientToServer ? "client_to_server" : "server_to_client" }
  /// Its name in text.
  public var text: String { self == .clientToServer ? "client to server" : "server to client" }

  /// The other way.
  @inlinable public var reversed: Direction {
    self == .clientToServer ? .serverToClient : .clientToServer
  }
}
