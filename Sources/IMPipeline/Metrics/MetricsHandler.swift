import IMOutput
import NIOCore
import NIOHTTP1

/// One connection: one request, one answer, and its end.
final class MetricsHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let desk: MetricsDesk
  private var context: ChannelHandlerContext?
  private var head: HTTPRequestHead?
  private var isAnswered = false
  private var timer: Scheduled<Void>?
  private var waiting: Scheduled<Void>?
  /// Whether its request has come.
  var hasAsked: Bool { isAnswered || waiting != nil }

  /// A connection of `desk`.
  init(_ desk: MetricsDesk) { self.desk = desk }

  func handlerAdded(context: ChannelHandlerContext) {
    self.context = context
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: MetricsDesk.patience) { [weak self] in
      self?.context?.close(promise: nil)
    }
  }

  func channelInactive(context: ChannelHandlerContext) {
    over()
    desk.left(self)
    context.fireChannelInactive()
  }

  func handlerRemoved(context: ChannelHandlerContext) { over() }

  private func over() {
    timer?.cancel()
    waiting?.cancel()
    context = nil
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    // What follows the first request is not looked at.
    guard !isAnswered, waiting == nil else { return }
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    case .body: break
    case .end: if let head { take(head, context) }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func take(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
    guard head.method == .GET || head.method == .HEAD else { return refuse(.methodNotAllowed, ("Allow", "GET, HEAD")) }
    guard head.uri.prefix(while: { $0 != "?" }) == "/metrics" else { return refuse(.notFound) }
    // A capture that does not come round to it hangs, and whoever asks shall know.
    waiting = context.eventLoop.assumeIsolated().scheduleTask(in: MetricsDesk.waiting) { [weak self] in
      self?.refuse(.serviceUnavailable)
    }
    desk.want(Self.dialect(head.headers["Accept"]), self)
  }

  /// Sends the metrics.
  func answer(_ body: ByteBuffer, _ dialect: MetricText.Dialect) { send(.ok, dialect.contentType, body) }

  private func refuse(_ status: HTTPResponseStatus, _ header: (String, String)? = nil) {
    send(status, "text/plain; charset=utf-8", ByteBuffer(string: status.reasonPhrase + "\n"), header)
  }

  private func send(
    _ status: HTTPResponseStatus, _ type: String, _ body: ByteBuffer, _ header: (String, String)? = nil
  ) {
    guard let context, !isAnswered else { return }
    isAnswered = true
    waiting?.cancel()
    var headers = HTTPHeaders([
      ("Content-Type", type), ("Content-Length", "\(body.readableBytes)"), ("Connection", "close"),
      ("X-Content-Type-Options", "nosniff"),
    ])
    if let (name, value) = header { headers.add(name: name, value: value) }
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))), promise: nil)
    if head?.method != .HEAD { context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
    let channel = context.channel
    context.writeAndFlush(wrapOutboundOut(.end(nil))).whenComplete { _ in channel.close(promise: nil) }
  }

  /// The dialect that a client likes best: OpenMetrics only where it says so, and likes nothing better.
  static func dialect(_ accept: [String]) -> MetricText.Dialect {
    var openMetrics = 0.0, text = 0.0
    for range in accept.joined(separator: ",").split(separator: ",").prefix(64) {
      let parts = range.split(separator: ";").map { $0.filter { !$0.isWhitespace }.lowercased() }
      let weight = parts.dropFirst().first { $0.hasPrefix("q=") }.flatMap { Double($0.dropFirst(2)) } ?? 1
      switch parts.first {
      case "application/openmetrics-text": openMetrics = max(openMetrics, weight)
      case "text/plain", "text/*": text = max(text, weight)
      default: break
      }
    }
    return openMetrics > 0 && openMetrics >= text ? .openMetrics : .prometheus
  }
}
