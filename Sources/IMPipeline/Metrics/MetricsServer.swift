import Glibc
import IMCapture
import IMOutput
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Serves the metrics of a run over HTTP/1.1, on a thread of its own.
///
/// The capture never waits for it: a request leaves a mark, the capture writes the text between two batches when it sees
/// the mark, and hands it over. One text a second and dialect is written at most, however many ask; all get the same.
/// Connections are few, short and small (`MetricsDesk`), and the thread has a lower priority than the capture's.
///
/// HTTP is NIO's. It costs 4 MB of the command and, since nothing of it is made before a socket is wanted, no time at its
/// start; in exchange no parser of ours meets strangers in the process that captures.
final class MetricsServer {
  /// The socket; the system call filter leaves it the right to accept.
  let descriptor: Int32
  /// Where the metrics are.
  let url: String
  private let address: String
  private let desk = MetricsDesk()
  private var group: MultiThreadedEventLoopGroup?
  private var isOwned = true

  /// Binds to `address`, such as `127.0.0.1:9464`.
  init(address text: String) throws(UsageError) {
    guard let address = ListenAddress(text) else {
      throw UsageError(
        message: "--metrics-listen \(text): give an address and a port in numbers, such as 127.0.0.1:9464")
    }
    descriptor = address.bind()
    guard descriptor >= 0 else {
      throw UsageError(message: "--metrics-listen \(text): \(systemText(-descriptor))")
    }
    self.address = text
    let host = address.address.contains(":") ? "[\(address.address)]" : address.address
    url = "http://\(host):\(ListenAddress.port(of: descriptor))/metrics"
  }

  deinit { if isOwned { close(descriptor) } }

  /// Starts the thread. It is confined like the one that calls.
  func begin() throws(CaptureError) {
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    self.group = group
    let desk = desk
    let loop = group.any()
    // Of this thread alone: 0 is the one that calls.
    loop.execute { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 10) }
    isOwned = false
    do {
      _ = try ServerBootstrap(group: group)
        .serverChannelOption(.backlog, value: 32)
        .childChannelOption(.maxMessagesPerRead, value: 1)
        .childChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture { try desk.take(channel) }
        }
        .withBoundSocket(descriptor).wait()
    } catch {
      throw CaptureError(.ioError, address, "serve metrics: \(error)")
    }
  }

  /// The dialects that somebody waits for.
  func takeRequests() -> [MetricText.Dialect] { desk.takeRequests() }

  /// Hands a text over to those who wait for it.
  func publish(_ text: borrowing MetricText, _ dialect: MetricText.Dialect) {
    guard let loop = group?.any() else { return }
    let buffer = text.out.withBytes { ByteBuffer(bytes: $0) }
    let desk = desk
    loop.execute { desk.publish(buffer, dialect) }
  }

  /// Ends the thread; who still waits gets no answer.
  func end() {
    try? group?.syncShutdownGracefully()
    group = nil
  }
}
