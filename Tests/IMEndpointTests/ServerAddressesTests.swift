import IMWire
import Testing

@testable import IMEndpointCore

/// Which address of a server the next connection goes to.
@Suite struct ServerAddressesTests {
  static func endpoint(_ number: UInt8) -> Endpoint {
    Endpoint(address: IPAddress(v4: 0x0A00_0000 | UInt32(number)), port: 8080)
  }

  /// The last parts of addresses that are taken.
  static func taken(_ servers: inout ServerAddresses, _ count: Int, isConnected: Bool = false) -> [Endpoint] {
    (0..<count).map { _ in servers.take(isConnected: isConnected) }
  }

  @Test func anAttemptGoesRoundFromTheAddressThatWorked() {
    let all = (1...3).map { Self.endpoint($0) }
    var servers = ServerAddresses(all + [all[0]])
    #expect(servers.all == all)
    servers.begin()
    #expect(Self.taken(&servers, 2) == [all[0], all[1]] && servers.hasUntried)
    #expect(Self.taken(&servers, 2) == [all[2], all[0]] && !servers.hasUntried)
    servers.succeeded(all[1])
    #expect(Self.taken(&servers, 3, isConnected: true) == [all[1], all[1], all[1]])
    servers.begin()
    #expect(servers.hasUntried && Self.taken(&servers, 3) == [all[1], all[2], all[0]] && !servers.hasUntried)
  }

  @Test func newAddressesKeepTheOneThatWorked() {
    var servers = ServerAddresses((1...3).map { Self.endpoint($0) })
    servers.succeeded(Self.endpoint(2))
    servers.replace([])
    #expect(servers.all.count == 3)
    servers.replace([Self.endpoint(4), Self.endpoint(2)])
    #expect(Self.taken(&servers, 2) == [Self.endpoint(2), Self.endpoint(4)])
    servers.replace((1...40).map { Self.endpoint($0) })
    #expect(servers.all.count == ServerAddresses.limit)
    servers.replace([Self.endpoint(9)])
    #expect(Self.taken(&servers, 2, isConnected: true) == [Self.endpoint(9), Self.endpoint(9)])
  }
}
