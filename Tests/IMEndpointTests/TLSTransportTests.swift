import Foundation
import IMTestSupport
import IMWire
import Testing

@testable import IMEndpoint
@testable import IMEndpointCore

/// TLS on real sockets of the loopback, with a certificate for `chat.example` that is its own authority.
@Suite(.enabled(if: loopbackIsUp, "the loopback interface is down")) struct TLSTransportTests {
  static let certificate = """
    -----BEGIN CERTIFICATE-----
    MIIBnjCCAUSgAwIBAgIUDZaMbCCJFp8szMhf82MhxapSgqEwCgYIKoZIzj0EAwIw
    FzEVMBMGA1UEAwwMY2hhdC5leGFtcGxlMCAXDTI2MTEyMjE1MDYxOFoYDzIxMjYx
    MDI5MTUwNjE4WjAXMRUwEwYDVQQDDAxjaGF0LmV4YW1wbGUwWTATBgcqhkjOPQIB
    BggqhkjOPQMBBwNCAASwBU58DQbD86KtuCSjy/7bqL78jyh+41/Tj+TbcYHPjIfg
    kfIIEugOhvS9L6jmBHU/NyjuRmuSQvRGNA2+MsiRo2wwajAdBgNVHQ4EFgQUI9tC
    rLS3H2R0NaxoaBUQ5Qhs5fwwHwYDVR0jBBgwFoAUI9tCrLS3H2R0NaxoaBUQ5Qhs
    5fwwDwYDVR0TAQH/BAUwAwEB/zAXBgNVHREEEDAOggxjaGF0LmV4YW1wbGUwCgYI
    KoZIzj0EAwIDSAAwRQIhAKDwnySi9FWMWXchopZld+Nsuvdi0pe0eEwV7aCn6rNp
    AiArPlnUAqS+pIqUznSlNatNJWOk+ICjAWJiVYfDO34u1A==
    -----END CERTIFICATE-----
    """
  static let key = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgruRAJFi+iDZsNvpK
    sGzImalTSObSs4oHGQl+w8vxLQmhRANCAASwBU58DQbD86KtuCSjy/7bqL78jyh+
    41/Tj+TbcYHPjIfgkfIIEugOhvS9L6jmBHU/NyjuRmuSQvRGNA2+MsiR
    -----END PRIVATE KEY-----
    """

  /// Another certificate that is its own authority, for `other.example`.
  static let otherCertificate = """
    -----BEGIN CERTIFICATE-----
    MIIBoDCCAUegAwIBAgIUTOYfFl9k409S3n/+j6bzLO/qu6MwCgYIKoZIzj0EAwIw
    GDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTAgFw0yNjExMjgxMTQ0NThaGA8yMTI2
    MTEwNDExNDQ1OFowGDEWMBQGA1UEAwwNb3RoZXIuZXhhbXBsZTBZMBMGByqGSM49
    AgEGCCqGSM49AwEHA0IABPUsvNVPChDaqcmYzxeJfoANMHK88MZSxeWaioLPvijC
    pTvQY9kvewXWOKq3pxs5GSC0N1MTFMhreFBvzQERPnqjbTBrMB0GA1UdDgQWBBTU
    ql4pvBB/gq9292Q3XWH0tu4mNjAfBgNVHSMEGDAWgBTUql4pvBB/gq9292Q3XWH0
    tu4mNjAPBgNVHRMBAf8EBTADAQH/MBgGA1UdEQQRMA+CDW90aGVyLmV4YW1wbGUw
    CgYIKoZIzj0EAwIDRwAwRAIgHhsO9bYQ/pmoRZ05FAYr1Gx8NtyfxSsd8g6IU8/8
    phYCIEQ0DsPPPz+apanbs+8nzx6Sd/t9n/n7cQiTD1kHRUCe
    -----END CERTIFICATE-----
    """
  static let otherKey = """
    -----BEGIN PRIVATE KEY-----
    MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgu3I4UeqQMgwQQjP3
    H+EnC1YQSPxYKyeH2qxY5G2Oc7qhRANCAAT1LLzVTwoQ2qnJmM8XiX6ADTByvPDG
    UsXlmoqCz74owqU70GPZL3sF1jiqt6cbORkgtDdTExTIa3hQb80BET56
    -----END PRIVATE KEY-----
    """
  /// `openssl x509 -in cert -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256` of the first.
  static let keyDigest = "4a13ebf5eab335a940cfa7dde2b6eb079188a6499078e13f1f8a288777d72d4e"

  /// Files of one test, removed with it.
  final class Folder {
    let path = FileManager.default.temporaryDirectory.appending(path: "imendpoint-\(UUID())").path

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    func write(_ name: String, _ text: String) throws -> String {
      try text.write(toFile: path + "/" + name, atomically: true, encoding: .utf8)
      return path + "/" + name
    }

    func read(_ name: String) -> String { (try? String(contentsOfFile: path + "/" + name, encoding: .utf8)) ?? "" }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  /// A server and a client that trusts its certificate and expects `name`.
  private func ends(
    _ loop: EventLoop, _ folder: Folder, name: String?
  ) throws -> (LinuxTransport<EchoServerCore>, LinuxTransport<LineClientCore>, Endpoint) {
    let certificate = try folder.write("cert", Self.certificate)
    let secured = try TLSContext.server(certificate: certificate, key: folder.write("key", Self.key))
    try secured.logKeys(to: folder.path + "/log")
    let server = LinuxTransport(EchoServerCore(), loop: loop, tls: secured)
    let at = try server.listen(at: Endpoint(address: LinuxTransportTests.loopback, port: 0))
    let trusting = try TLSContext.client(serverName: name, authorities: certificate)
    return (server, LinuxTransport(LineClientCore(), loop: loop, tls: trusting), at)
  }

  @Test(arguments: ["chat.example", nil])
  func `what a client sends comes back through TLS, and its secrets are logged`(name: String?) throws {
    let loop = try EventLoop()
    let folder = try Folder()
    let (server, client, at) = try ends(loop, folder, name: name)
    defer {
      client.shutDown()
      server.shutDown()
    }
    client.update { core, _ in core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())] }
    #expect(try LinuxTransportTests.turn(loop) { client.core.opened.count == 1 })
    var sent: [UInt8] = []
    for size in [0, 1, 16_384, 200_000, 3_000_000, 5] {
      sent += LineClientCore.message((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })
    }
    client.update { core, _ in
      core.output = sent
      core.commands = [.write(LineClientCore.id)]
    }
    #expect(try LinuxTransportTests.turn(loop) { client.core.received.count >= sent.count })
    #expect(client.core.received == sent)
    client.update { core, _ in core.commands = [.close(LineClientCore.id)] }
    #expect(try LinuxTransportTests.turn(loop) { !client.core.closed.isEmpty && !server.core.closed.isEmpty })
    #expect(client.core.closed == [.requested] && server.core.closed == [.finished])
    #expect(folder.read("log").contains("CLIENT_TRAFFIC_SECRET_0 "))
  }

  @Test func `a certificate of another name is refused`() throws {
    let loop = try EventLoop()
    let (server, client, at) = try ends(loop, Folder(), name: "other.example")
    defer {
      client.shutDown()
      server.shutDown()
    }
    client.update { core, _ in core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())] }
    #expect(try LinuxTransportTests.turn(loop) { client.core.closed == [.secureChannel] })
    #expect(client.core.opened.isEmpty && client.core.received.isEmpty)
  }

  /// What a client shows a server that wants a certificate of the first authority, and whether it is let in. It hears that it is not behind
  /// its own handshake.
  @Test(arguments: [(nil, false), (true, true), (false, false)] as [(Bool?, Bool)])
  func `a server lets in whom its authorities know`(isOwn: Bool?, isTaken: Bool) throws {
    let loop = try EventLoop()
    let folder = try Folder()
    let certificate = try folder.write("cert", Self.certificate)
    let key = try folder.write("key", Self.key)
    let other = try folder.write("other", Self.otherCertificate + "\n" + Self.otherKey + "\n")
    let server = LinuxTransport(
      EchoServerCore(), loop: loop,
      tls: try TLSContext.server(certificate: certificate, key: key, clientAuthorities: certificate))
    let at = try server.listen(at: Endpoint(address: LinuxTransportTests.loopback, port: 0))
    let client = LinuxTransport(
      LineClientCore(), loop: loop,
      tls: try TLSContext.client(
        serverName: "chat.example", authorities: certificate, certificate: isOwn.map { $0 ? certificate : other },
        key: isOwn == true ? key : nil))
    defer {
      client.shutDown()
      server.shutDown()
    }
    client.update { core, _ in core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())] }
    if isTaken {
      #expect(try LinuxTransportTests.turn(loop) { client.core.opened.count == 1 && server.core.accepted == 1 })
    } else {
      #expect(try LinuxTransportTests.turn(loop) { client.core.closed == [.secureChannel] })
      #expect(server.core.accepted == 0)
    }
  }

  /// The key of the server's certificate, another one, and the right one as the second of two; with and without a look at its name.
  @Test(arguments: [true, false], ["chat.example", nil])
  func `a client takes the key that it knows`(isRight: Bool, name: String?) throws {
    let loop = try EventLoop()
    let folder = try Folder()
    let certificate = try folder.write("cert", Self.certificate)
    let server = LinuxTransport(
      EchoServerCore(), loop: loop,
      tls: try TLSContext.server(certificate: certificate, key: folder.write("key", Self.key)))
    let at = try server.listen(at: Endpoint(address: LinuxTransportTests.loopback, port: 0))
    let context = try TLSContext.client(serverName: name, authorities: certificate)
    let digits = Array(Self.keyDigest)
    let digest = stride(from: 0, to: 64, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    context.pin([[UInt8](repeating: 0, count: 32)] + (isRight ? [digest] : [Array(digest.reversed())]))
    let client = LinuxTransport(LineClientCore(), loop: loop, tls: context)
    defer {
      client.shutDown()
      server.shutDown()
    }
    client.update { core, _ in core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())] }
    if isRight {
      #expect(try LinuxTransportTests.turn(loop) { client.core.opened.count == 1 })
    } else {
      #expect(try LinuxTransportTests.turn(loop) { client.core.closed == [.secureChannel] })
      #expect(client.core.opened.isEmpty)
    }
  }

  /// What OpenSSL's own command says of it: a server without a choice lets the client in, whatever that offers.
  private static let openssl = "/usr/bin/openssl"

  @Test(
    .enabled(if: access(openssl, X_OK) == 0, "there is no openssl command"),
    arguments: [("tjp/1", "ALPN protocol: tjp/1"), ("h2,tjp/1", "ALPN protocol: tjp/1"), ("h2", "No ALPN negotiated")])
  func `a server chooses what OpenSSL's client offers`(offered: String, answer: String) throws {
    let loop = try EventLoop()
    let (server, client, at) = try ends(loop, Folder(), name: nil)
    defer {
      client.shutDown()
      server.shutDown()
    }
    let output = Program.scratchFile()
    defer { close(output) }
    let program = try Program(
      Self.openssl, ["s_client", "-connect", "127.0.0.1:\(at.port)", "-alpn", offered], output: output)
    #expect(try LinuxTransportTests.turn(loop) { Program.text(of: output).contains(answer) })
    #expect(try LinuxTransportTests.turn(loop) { server.core.closed.count == 1 })
    #expect(program.wait() == .exit(0))
  }

  @Test(.enabled(if: access(openssl, X_OK) == 0, "there is no openssl command"))
  func `a client offers what OpenSSL's server chooses`() throws {
    let loop = try EventLoop()
    let folder = try Folder()
    let (certificate, key) = try (folder.write("cert", Self.certificate), folder.write("key", Self.key))
    let output = Program.scratchFile()
    var input: [Int32] = [0, 0]
    try #require(pipe(&input) == 0)
    for descriptor in input { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    defer { for descriptor in [output] + input { close(descriptor) } }
    let program = try Program(
      Self.openssl,
      ["s_server", "-accept", "127.0.0.1:0", "-naccept", "1", "-cert", certificate, "-key", key, "-alpn", "tjp/1"],
      input: input[0], output: output)
    let line = /ACCEPT 127\.0\.0\.1:(\d+)/
    #expect(try LinuxTransportTests.turn(loop) { Program.text(of: output).contains(line) })
    let port = try #require(Program.text(of: output).firstMatch(of: line).flatMap { UInt16($0.1) })
    let trusting = try TLSContext.client(serverName: nil, authorities: certificate)
    let client = LinuxTransport(LineClientCore(), loop: loop, tls: trusting)
    defer { client.shutDown() }
    let at = Endpoint(address: LinuxTransportTests.loopback, port: port)
    client.update { core, _ in core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())] }
    #expect(try LinuxTransportTests.turn(loop) { client.core.opened.count == 1 })
    client.update { core, _ in core.commands = [.close(LineClientCore.id)] }
    #expect(try LinuxTransportTests.turn(loop) { Program.text(of: output).contains("ALPN protocols selected: tjp/1") })
    _ = kill(program.id, SIGTERM)
    _ = program.wait()
  }

  @Test func `who speaks no TLS is let go, and the server's core never hears of it`() throws {
    let loop = try EventLoop()
    let (server, secured, at) = try ends(loop, Folder(), name: nil)
    let client = LinuxTransport(LineClientCore(), loop: loop)
    defer {
      secured.shutDown()
      client.shutDown()
      server.shutDown()
    }
    for _ in 0..<100 {
      let before = client.core.closed.count
      client.update { core, _ in
        core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions()), .write(LineClientCore.id)]
      }
      #expect(try LinuxTransportTests.turn(loop) { client.core.opened.count == before + 1 })
      client.update { core, _ in
        core.output = Array("hello, this is no handshake".utf8)
        core.commands = [.write(LineClientCore.id)]
      }
      #expect(try LinuxTransportTests.turn(loop) { client.core.closed.count == before + 1 })
    }
    #expect(server.core.accepted == 0)
    // All of their handshakes have ended: a client that does speak it is served.
    secured.update { core, _ in core.commands = [.open(LineClientCore.id, to: at, options: SocketOptions())] }
    #expect(try LinuxTransportTests.turn(loop) { secured.core.opened.count == 1 && server.core.accepted == 1 })
  }
}
