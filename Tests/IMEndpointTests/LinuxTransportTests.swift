import Glibc
import IMTestSupport
import IMWire
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// Real sockets on the loopback, both ends in one loop that is turned until something has come about.
@Suite(.enabled(if: loopbackIsUp, "the loopback interface is down")) struct LinuxTransportTests {
  static let loopback = IPAddress(v4: 0x7F00_0001)

  /// Turns `loop` until `condition` holds; false after `seconds` without it.
  static func turn(_ loop: EventLoop, for seconds: Int64 = 20, until condition: () -> Bool) throws -> Bool {
    let end = monotonicNow() + seconds * 1_000_000_000
    while !condition() {
      if monotonicNow() > end { return false }
      try loop.turn(longest: 20_000_000)
    }
    return true
  }

  @Test func `what a client sends comes back, messages longer than any buffer included`() throws {
    let loop = try EventLoop()
    let server = LinuxTransport(EchoServerCore(), loop: loop)
    let at = try server.listen(at: Endpoint(address: Self.loopback, port: 0))
    let client = LinuxTransport(LineClientCore(), loop: loop)
    defer {
      client.shutDown()
      server.shutDown()
    }
    client.update { core, _ in
      core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())]
    }
    #expect(try Self.turn(loop) { client.core.opened.count == 1 })
    #expect(client.core.opened.first??.address == Self.loopback)
    var sent: [UInt8] = []
    var random = Draw(1)
    for size in [0, 1, 64, 65_532, 65_536, 65_537, 300_000, 5_000_000, 10] {
      let body = (0..<size).map { _ in UInt8(random.next(256)) }
      sent += LineClientCore.message(body)
    }
    client.update { core, _ in
      core.output = sent
      core.commands = [.write(LineClientCore.id), .measure(LineClientCore.id)]
    }
    #expect(try Self.turn(loop) { client.core.received.count >= sent.count })
    #expect(client.core.received == sent)
    #expect(server.core.messages == 9 && server.core.accepted == 1)
    let facts = try #require(client.core.facts.first)
    #expect(facts.retransmits == 0 && facts.totalRetransmits != nil && facts.roundTrip != nil)

    client.update { core, _ in core.commands = [.close(LineClientCore.id)] }
    #expect(try Self.turn(loop) { !client.core.closed.isEmpty && !server.core.closed.isEmpty })
    #expect(client.core.closed == [.requested] && server.core.closed == [.finished])
    #expect(loop.pool.lentBytes == 0)
    #expect(client.connectionCount == 0 && server.connectionCount == 0)
  }

  @Test func `no listener, a reset and an end in order are told apart`() throws {
    let loop = try EventLoop()
    let server = LinuxTransport(EchoServerCore(closesAfter: 1), loop: loop)
    let at = try server.listen(at: Endpoint(address: Self.loopback, port: 0))
    let free = try Sockets.listen(at: Endpoint(address: Self.loopback, port: 0), backlog: 1)
    let unused = try #require(Sockets.local(free))
    close(free)
    let client = LinuxTransport(LineClientCore(), loop: loop)
    defer {
      client.shutDown()
      server.shutDown()
    }
    client.update { core, _ in core.commands = [.open(LineClientCore.id, to: unused, options: SocketOptions())] }
    #expect(try Self.turn(loop) { client.core.closed == [.refused] })

    client.update { core, _ in
      core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())]
    }
    #expect(try Self.turn(loop) { client.core.opened.count == 1 && server.core.accepted == 1 })
    client.update { core, _ in core.commands = [.abort(LineClientCore.id)] }
    #expect(try Self.turn(loop) { client.core.closed.last == .requested && server.core.closed == [.reset] })

    client.update { core, _ in
      core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())]
    }
    #expect(try Self.turn(loop) { client.core.opened.count == 2 })
    client.update { core, _ in
      core.output = LineClientCore.message([1, 2, 3])
      core.commands = [.write(LineClientCore.id)]
    }
    #expect(try Self.turn(loop) { client.core.closed.last == .finished && server.core.closed.last == .requested })
    #expect(client.core.received == LineClientCore.message([1, 2, 3]))
  }

  @Test func `a message longer than the limit costs its connection`() throws {
    let loop = try EventLoop()
    let server = LinuxTransport(EchoServerCore(), loop: loop, receiveLimit: 1 << 16)
    let at = try server.listen(at: Endpoint(address: Self.loopback, port: 0))
    let client = LinuxTransport(LineClientCore(), loop: loop)
    defer {
      client.shutDown()
      server.shutDown()
    }
    client.update { core, _ in
      core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())]
    }
    #expect(try Self.turn(loop) { client.core.opened.count == 1 })
    client.update { core, _ in
      core.output = LineClientCore.message(Array(repeating: 7, count: 200_000))
      core.commands = [.write(LineClientCore.id)]
    }
    #expect(try Self.turn(loop) { server.core.closed == [.system(EMSGSIZE)] && !client.core.closed.isEmpty })
  }

  @Test func `a deadline reaches its core at its time and once`() throws {
    let loop = try EventLoop()
    let client = LinuxTransport(LineClientCore(), loop: loop)
    defer { client.shutDown() }
    let wanted = client.moment.advanced(by: .milliseconds(30))
    client.update { core, _ in core.deadline = wanted }
    #expect(try Self.turn(loop) { client.core.deadlines.count == 1 })
    #expect(client.core.deadlines.allSatisfy { $0 >= wanted })
  }

  @Test func `the loopback is a path, and another thread reaches the loop`() throws {
    let loop = try EventLoop()
    let client = LinuxTransport(LineClientCore(), loop: loop)
    defer { client.shutDown() }
    try client.watchPath(to: Endpoint(address: Self.loopback, port: 1))
    #expect(client.core.paths.map(\.kind) == [.wired])
    let remote = loop.remote
    let flag = Flag()
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Work { remote.perform { flag.isSet = true } })
    pthread_create(
      &thread, nil,
      {
        Unmanaged<Work>.fromOpaque($0!).takeRetainedValue().body(); return nil
      }, box.toOpaque())
    #expect(try Self.turn(loop) { flag.isSet })
    pthread_join(thread, nil)
  }
}

/// Something another thread does.
private final class Work: Sendable {
  let body: @Sendable () -> Void
  init(_ body: @escaping @Sendable () -> Void) { self.body = body }
}

/// Set on the loop's thread, read on the loop's thread.
private final class Flag: @unchecked Sendable {
  var isSet = false
}
