import Glibc
import IMWire
import Testing

@testable import IMOwners

/// The kernel is asked about sockets of this process.
@Suite struct ConnectionOwnersTests {
  /// A connection of this process to itself, over loopback.
  private final class Pair {
    let listener: Int32
    var client: Int32 = -1, accepted: Int32 = -1
    var clientEnd = Endpoint(address: IPAddress(v4: 0x7F00_0001), port: 0)
    var serverEnd = Endpoint(address: IPAddress(v4: 0x7F00_0001), port: 0)

    init() throws {
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      func port(_ descriptor: Int32) -> UInt16 {
        var name = sockaddr_in()
        var count = socklen_t(MemoryLayout<sockaddr_in>.size)
        withUnsafeMutablePointer(to: &name) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { _ = getsockname(descriptor, $0, &count) }
        }
        return UInt16(bigEndian: name.sin_port)
      }
      func with(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
        withUnsafePointer(to: &address) {
          $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
          }
        }
      }
      try #require(with { bind(listener, $0, $1) } == 0)
      try #require(listen(listener, 8) == 0)
      serverEnd.port = port(listener)
      address.sin_port = serverEnd.port.bigEndian
      client = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      try #require(with { connect(client, $0, $1) } == 0)
      accepted = accept(listener, nil, nil)
      clientEnd.port = port(client)
    }

    deinit { for descriptor in [listener, client, accepted] { close(descriptor) } }
  }

  @Test func aSocketOfThisHostHasItsUser() throws {
    let pair = try Pair()
    let owners = try #require(ConnectionOwners())
    let owner = owners.owner(of: 1, client: pair.clientEnd, server: pair.serverEnd)
    #expect(owner?.user == getuid())
    #expect(owners.owner(of: 1, client: pair.clientEnd, server: pair.serverEnd) == owner)
  }

  /// A socket that listens there is no owner of a connection that it does not have.
  @Test func aConnectionOfAnotherHostHasNone() throws {
    let pair = try Pair()
    let owners = try #require(ConnectionOwners())
    let stranger = Endpoint(address: IPAddress(v4: 0xC000_0207), port: 40_000)
    #expect(owners.owner(of: 1, client: stranger, server: pair.serverEnd) == nil)
    var elsewhere = pair.serverEnd
    elsewhere.address = IPAddress(v6High: 0x2001_0DB8 << 32, v6Low: 1)
    #expect(owners.owner(of: 2, client: pair.clientEnd, server: elsewhere) == nil)
  }

  /// Beyond the requests of a second, one dump tells of all that wait.
  @Test func manyConnectionsAreFoundByADump() throws {
    let pairs = try (0..<20).map { _ in try Pair() }
    var now: UInt64 = 1 << 40
    let owners = try #require(ConnectionOwners(clock: { now }))
    let stranger = Endpoint(address: IPAddress(v4: 0xC000_0207), port: 40_000)
    for number in 0..<UInt32(ConnectionOwners.requestsPerSecond / 2) {
      _ = owners.owner(of: 1_000 + number, client: stranger, server: stranger)
    }
    for (number, pair) in pairs.enumerated() {
      #expect(owners.owner(of: UInt32(number), client: pair.clientEnd, server: pair.serverEnd) == nil)
    }
    _ = owners.owner(of: 99, client: stranger, server: pairs[0].serverEnd)
    for _ in 0..<1_000 { owners.advance() }
    for (number, pair) in pairs.enumerated() {
      #expect(owners.owner(of: UInt32(number), client: pair.clientEnd, server: pair.serverEnd)?.user == getuid())
    }
    #expect(owners.owner(of: 99, client: stranger, server: pairs[0].serverEnd) == nil)
    // The next second has requests again.
    now += 2_000_000_000
    let late = try Pair()
    #expect(owners.owner(of: 100, client: late.clientEnd, server: late.serverEnd) != nil)
  }

  /// What the kernel would never send is no reason to stop.
  @Test func answersAreBounded() {
    var state: UInt64 = 7
    func draw(_ bound: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(state >> 33) % bound
    }
    var sockets = 0
    for _ in 0..<20_000 {
      var bytes = (0..<draw(201)).map { _ in UInt8(draw(256)) }
      if bytes.count > 20 {
        bytes.replaceSubrange(0..<6, with: [UInt8(bytes.count), 0, 0, 0, 20, 0])
        bytes[16] = draw(2) == 0 ? 2 : 10
      }
      let answers = bytes.withUnsafeBytes { DiagMessage.answers($0) }
      // A header has 16 bytes, and a socket 72 more.
      #expect(answers.count <= bytes.count / 16)
      let found = answers.count { if case .socket = $0.answer { true } else { false } }
      #expect(found * 88 <= bytes.count)
      sockets += found
    }
    #expect(sockets > 100)
  }

  /// A request as the kernel's headers lay it out.
  @Test func aRequestByHand() {
    let ends = DiagMessage.Ends(
      local: Endpoint(address: IPAddress(v4: 0x0A00_0001), port: 8_080),
      remote: Endpoint(address: IPAddress(v4: 0xC000_0202), port: 443))
    let request = DiagMessage.request(ends, sequence: 9)
    let front: [UInt8] = [
      72, 0, 0, 0, 20, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 2, 6, 0, 0, 255, 255, 255, 255, 0x1F, 0x90, 1, 0xBB,
    ]
    let zeros = [UInt8](repeating: 0, count: 12)
    let back: [UInt8] =
      [10, 0, 0, 1] + zeros + [192, 0, 2, 2] + zeros + [0, 0, 0, 0] + [UInt8](repeating: 255, count: 8)
    #expect(request == front + back)
  }
}
