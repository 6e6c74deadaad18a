import Foundation
import Synchronization

/// A receiver of posts on the loopback interface, one after another: answers each with the next of `answers`, and with 200 when there are no
/// more.
final class HTTPReceiver: Sendable {
  /// The port that it listens on.
  let port: UInt16
  private let socket: Int32
  private let state: Mutex<(bodies: [Data], answers: [String])>

  /// The bodies that came, in order.
  var bodies: [Data] { state.withLock { $0.bodies } }

  /// Listens on `port`, or on one that is free. Answers are status lines' ends, and headers behind them.
  init(port: UInt16 = 0, answers: [String] = []) throws {
    state = Mutex(([], answers))
    socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var on: Int32 = 1
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = socket
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && listen(descriptor, 16) == 0 && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard isBound else { throw POSIXError(.EADDRINUSE) }
    self.port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in serve() }
  }

  /// Listens no more.
  func stop() { shutdown(socket, Int32(SHUT_RDWR)) }

  private func serve() {
    defer { close(socket) }
    while true {
      let connection = accept(socket, nil, nil)
      guard connection >= 0 else { return }
      var bytes = Data(), buffer = [UInt8](repeating: 0, count: 65_536)
      var body: Data?
      while body == nil {
        let count = read(connection, &buffer, buffer.count)
        guard count > 0 else { break }
        bytes.append(contentsOf: buffer[..<count])
        guard let end = bytes.range(of: Data("\r\n\r\n".utf8)) else { continue }
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).lowercased()
        let length =
          head.split(separator: "\r\n").first { $0.hasPrefix("content-length:") }
          .flatMap { Int($0.dropFirst(15).trimmingCharacters(in: .whitespaces)) } ?? 0
        if bytes.count - end.upperBound >= length { body = Data(bytes[end.upperBound...].prefix(length)) }
      }
      if let body {
        let answer = state.withLock { state in
          state.bodies.append(body)
          return state.answers.isEmpty ? "200 OK" : state.answers.removeFirst()
        }
        let text = Array("HTTP/1.1 \(answer)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        _ = write(connection, text, text.count)
      }
      close(connection)
    }
  }
}
