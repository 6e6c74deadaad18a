import IMOutput
import NIOCore
import NIOHTTP1
import Synchronization

/// The connections of a `MetricsServer`, and who of them waits for which text.
///
/// Bounded whatever clients do: at most 16 connections, of which the oldest that has not asked yet goes when another one
/// comes, or the oldest; 10 s and 8 KiB for a request; one request each. Everything but `takeRequests` happens on the server's one thread.
final class MetricsDesk: @unchecked Sendable {
  /// Connections at once.
  static let maximumClients = 16
  /// Bytes of a request, its head and what may follow.
  static let maximumRequest = 8 << 10
  /// How long a connection may last, all in all; how long a text is new; how long the capture may take to write one.
  static let patience = TimeAmount.seconds(10), freshness = TimeAmount.seconds(1), waiting = TimeAmount.seconds(5)

  private var clients: [(channel: any Channel, handler: MetricsHandler)] = []
  private var texts: [(buffer: ByteBuffer, at: NIODeadline)?] = MetricText.Dialect.allCases.map { _ in nil }
  private var waiters: [[MetricsHandler]] = MetricText.Dialect.allCases.map { _ in [] }
  /// Bits of the dialects that are wanted.
  private let wanted = Atomic<Int>(0)

  /// A desk at which nobody stands.
  init() {}

  /// Sets a new connection up.
  func take(_ channel: any Channel) throws {
    if clients.count >= Self.maximumClients {
      let place = clients.firstIndex { !$0.handler.hasAsked } ?? clients.startIndex
      clients.remove(at: place).channel.close(promise: nil)
    }
    let handler = MetricsHandler(self)
    clients.append((channel, handler))
    try channel.pipeline.syncOperations.addHandler(RequestLimit(Self.maximumRequest))
    try channel.pipeline.syncOperations.configureHTTPServerPipeline(withPipeliningAssistance: false)
    try channel.pipeline.syncOperations.addHandler(handler)
  }

  /// Forgets a connection that is closed.
  func left(_ handler: MetricsHandler) {
    clients.removeAll { $0.handler === handler }
    for index in waiters.indices { waiters[index].removeAll { $0 === handler } }
  }

  /// Answers at once where a text is new; else when the capture has written one.
  func want(_ dialect: MetricText.Dialect, _ handler: MetricsHandler) {
    if let text = texts[dialect.rawValue], NIODeadline.now() - text.at < Self.freshness {
      handler.answer(text.buffer, dialect)
      return
    }
    waiters[dialect.rawValue].append(handler)
    wanted.bitwiseOr(1 << dialect.rawValue, ordering: .relaxed)
  }

  /// The dialects that are wanted, since the last call; for the capture's thread.
  func takeRequests() -> [MetricText.Dialect] {
    guard wanted.load(ordering: .relaxed) != 0 else { return [] }
    let bits = wanted.exchange(0, ordering: .relaxed)
    return MetricText.Dialect.allCases.filter { bits & 1 << $0.rawValue != 0 }
  }

  /// Gives a text to all who wait for it.
  func publish(_ buffer: ByteBuffer, _ dialect: MetricText.Dialect) {
    texts[dialect.rawValue] = (buffer, .now())
    let handlers = waiters[dialect.rawValue]
    waiters[dialect.rawValue].removeAll()
    for handler in handlers { handler.answer(buffer, dialect) }
  }
}

/// Closes a connection that sends more than a request may have.
private final class RequestLimit: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer
  private var left: Int

  init(_ limit: Int) { left = limit }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    left -= unwrapInboundIn(data).readableBytes
    if left < 0 { context.close(promise: nil) } else { context.fireChannelRead(data) }
  }
}
