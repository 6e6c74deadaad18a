import Foundation
import IMEndpointCore
import IMTestSupport
import IMWire
import Synchronization
import Testing

@testable import IMEndpoint

/// The client for applications, with a server on the loopback.
@Suite(.enabled(if: loopbackIsUp, "the loopback interface is down"), .timeLimit(.minutes(1))) struct ClientTests {
  /// A server that forwards, on a thread of its own.
  final class TestServer: Sendable {
    let thread: LoopThread<LinuxTransport<ServerCore>>
    let endpoint: Endpoint

    init(at endpoint: Endpoint = Endpoint(address: LinuxTransportTests.loopback, port: 0)) throws {
      var bound = endpoint
      thread = try LoopThread { loop throws(TransportError) in
        var configuration = ServerConfiguration()
        configuration.service = .forward
        let transport = LinuxTransport(ServerCore(configuration), loop: loop)
        bound = try transport.listen(at: endpoint)
        return transport
      }
      self.endpoint = bound
    }

    deinit { thread.stop { $0.shutDown() } }
  }

  /// A folder that goes when its last reference does.
  final class TemporaryFolder {
    let path: String

    init() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "client-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      path = folder.path
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  /// A store that keeps nothing.
  final class FailingStore: ClientStore {
    struct Full: Error {}
    let identity = ClientIdentity.random()
    let secret = DeviceSecret.random()
    let state = ClientState()

    func append(_ operations: [ClientOperation]) throws {
      if !operations.isEmpty { throw Full() }
    }
  }

  /// An address of the loopback at which no other test listens.
  static func unusedEndpoint(_ number: UInt8) -> Endpoint {
    Endpoint(address: IPAddress(v4: 0x7F00_4D00 | UInt32(number)), port: 7_707)
  }

  /// Opens a store that the client before it has not let go of yet.
  static func open(_ folder: String) async throws -> FileStore {
    while true {
      let store = Result { () throws(StoreError) in try FileStore(folder: folder) }
      guard case .failure(let error) = store, error.reason == "another process is using it" else {
        return try store.get()
      }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  /// The texts that come, until one is `last` or the connection has ended.
  static func texts(of client: Client, until last: String? = nil) async -> [String] {
    var texts: [String] = []
    for await event in client.events {
      switch event {
      case .message(let message):
        guard case .text(let text) = message.content else { break }
        texts.append(text)
        if text == last { return texts }
      case .connection(.disconnected, _): return texts
      default: break
      }
    }
    return texts
  }

  @Test func whatWaitsOutlivesItsProcess() async throws {
    let folder = try TemporaryFolder()
    let endpoint = Self.unusedEndpoint(1)
    do {
      let ann = try Client(
        ClientConfiguration(server: endpoint, user: "ann"), store: try FileStore(folder: folder.path + "/ann"))
      for text in ["one", "two"] { _ = try await ann.send(Message(.text(text), to: "bob")) }
      _ = await ann.metrics
    }
    let server = try TestServer(at: endpoint)
    let bob = try Client(
      ClientConfiguration(server: server.endpoint, user: "bob"), store: try FileStore(folder: folder.path + "/bob"))
    await bob.connect()
    let ann = try Client(
      ClientConfiguration(server: endpoint, user: "ann"), store: try await Self.open(folder.path + "/ann"))
    var events = ann.events.makeAsyncIterator()
    var restored: [SentMessage] = []
    for text in ["one", "two"] {
      guard case .restored(let sent, let name, let isGroup, let content)? = await events.next() else {
        Issue.record("no message was restored")
        return
      }
      #expect(name == "bob" && !isGroup && content == .text(text))
      restored.append(sent)
    }
    await ann.connect()
    _ = try await ann.send(Message(.text("three"), to: "bob"))
    #expect(await Self.texts(of: bob, until: "three") == ["one", "two", "three"])
    for sent in restored {
      for await state in sent.states where state == .delivered { break }
    }
    #expect(await ann.disconnect() == 0)
  }

  @Test func whatWasTakenIsNotShownAgain() async throws {
    let folder = try TemporaryFolder()
    let server = try TestServer()
    let ann = try Client(ClientConfiguration(server: server.endpoint, user: "ann"))
    await ann.connect()
    for (first, last) in [("one", "two"), ("three", "four")] {
      let bob = try Client(
        ClientConfiguration(server: server.endpoint, user: "bob"), store: try await Self.open(folder.path))
      await bob.connect()
      let texts = Task { await Self.texts(of: bob) }
      for text in [first, last] {
        let sent = try await ann.send(Message(.text(text), to: "bob"))
        for await state in sent.states where state == .delivered { break }
      }
      await bob.disconnect()
      #expect(await texts.value == [first, last])
    }
  }

  @Test func nothingIsSentThatTheStoreDoesNotKeep() async throws {
    let server = try TestServer()
    let ann = try Client(ClientConfiguration(server: server.endpoint, user: "ann"), store: FailingStore())
    await ann.connect()
    for await event in ann.events {
      if case .connection(.connected, _) = event { break }
    }
    _ = try await ann.send(Message(.text("one"), to: "bob"))
    for await event in ann.events {
      guard case .storeFailed(let error) = event else { continue }
      #expect(error is FailingStore.Full)
      break
    }
    await #expect(throws: SendError.storeFailed) { try await ann.send(Message(.text("two"), to: "bob")) }
    await ann.connect()
    #expect(await ann.state == .disconnected)
    #expect(await server.thread.perform { $0.core.metrics.messagesReceived } == 0)
  }

  /// Where nobody listens at the first address, the next one is tried at once, and the client stays with it.
  @Test func theNextAddressIsTried() async throws {
    let server = try TestServer()
    var configuration = ClientConfiguration(server: Self.unusedEndpoint(2), user: "ann")
    configuration.alternatives = [Self.unusedEndpoint(3), server.endpoint]
    // An attempt that failed is not followed by another one while this test waits.
    configuration.reconnect.base = .seconds(600)
    let entries = Mutex<[LogEntry]>([])
    let ann = try Client(configuration, log: { entry in entries.withLock { $0.append(entry) } })
    await ann.connect()
    for await event in ann.events {
      if case .connection(.connected, _) = event { break }
    }
    #expect(await ann.metrics.connectionAttempts == 3)
    #expect(entries.withLock { $0.contains { $0.level == .info && $0.text == "connection: connected" } })
  }

  /// The addresses of a name are asked for where the connection cannot be made.
  @Test func theNameIsResolvedAnew() async throws {
    let server = try TestServer()
    var configuration = ClientConfiguration(server: Self.unusedEndpoint(4), user: "ann")
    (configuration.reconnect.base, configuration.reconnect.jitter) = (.milliseconds(1), .zero)
    let ann = try Client(configuration, name: ServerName(host: "127.0.0.1", port: server.endpoint.port))
    await ann.connect()
    for await event in ann.events {
      if case .connection(.connected, _) = event { break }
    }
    #expect(await ann.state == .connected)
  }
}
