import Foundation
import Glibc
import IMMetrics
import IMTestSupport
import Testing

@testable import IMOutput
@testable import IMPipeline
@testable import IMWeb

/// The server of metrics and of the page, asked over real sockets by clients that behave and by clients that do not.
@Suite(.serialized) struct WebServerTests {
  @Test(arguments: [
    ([], MetricText.Dialect.prometheus), (["*/*"], .prometheus), (["text/plain"], .prometheus),
    (["application/openmetrics-text"], .openMetrics), (["application/openmetrics-text;q=0"], .prometheus),
    (
      [
        "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
      ], .openMetrics
    ),
    (["text/plain;version=0.0.4", "application/openmetrics-text; q=0.4"], .prometheus),
    (["Application/OpenMetrics-Text ; Q=0.9 , text/plain ; q=0.5"], .openMetrics),
    (["application/openmetrics-text;q=nan"], .prometheus), ([",;,;;=,"], .prometheus),
    (["application/openmetrics-text;q=0.0004"], .prometheus), (["application/openmetrics-text;q=1.000"], .openMetrics),
    (["text/*;q=0.501, application/openmetrics-text;q=0.5"], .prometheus),
    (["text/*;q=0.5, application/openmetrics-text;q=.9"], .prometheus),
    (["application/openmetrics-text;q=2"], .prometheus),
    (["\u{e4}\u{4f60};q=1,application/openmetrics-text;q=0.1"], .openMetrics),
  ])
  func theClientChoosesTheForm(_ accept: [String], _ dialect: MetricText.Dialect) {
    #expect(MetricText.Dialect(accept: [UInt8](accept.joined(separator: ",").utf8)) == dialect)
  }

  @Test(arguments: [
    ("127.0.0.1:9464", "127.0.0.1", 9464), ("[::1]:0", "::1", 0), ("[::]:65535", "::", 65535),
  ])
  func addresses(_ text: String, _ address: String, _ port: UInt16) throws {
    let found = try #require(ListenAddress(text))
    #expect(found.address == address)
    #expect(found.port == port)
  }

  @Test(arguments: ["", ":", "9464", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1", "::1:1", "[127.0.0.1]:1"])
  func noAddresses(_ text: String) { #expect(ListenAddress(text) == nil) }

  // MARK: Over sockets

  /// A connection to the server; reads give up after some seconds.
  private func connect(_ port: UInt16) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var time = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr)
    let result = withUnsafeBytes(of: &address) {
      Glibc.connect(descriptor, $0.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
    }
    try #require(result == 0)
    return descriptor
  }

  private func send(_ descriptor: Int32, _ text: String) {
    _ = Array(text.utf8).withUnsafeBytes {
      Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
    }
  }

  /// All that comes until the connection ends; nil where it does not.
  private func all(_ descriptor: Int32) -> String? {
    defer { close(descriptor) }
    var text: [UInt8] = []
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(descriptor, &bytes, bytes.count)
      if count == 0 || count < 0 && errno == ECONNRESET { return String(decoding: text, as: UTF8.self) }
      guard count > 0 else { return nil }
      text += bytes[..<count]
    }
  }

  /// Runs `body` while the capture, which is this thread, answers what is asked; gives the texts that it wrote.
  private func serve(
    lines: Int = 0, hasPage: Bool = false, _ body: @escaping @Sendable (UInt16) -> Void
  ) throws -> Int {
    let server = try WebServer(address: "127.0.0.1:0", option: "--listen", hasPage: hasPage, hosts: ["X"])
    try server.begin()
    defer { server.end() }
    let port = ListenAddress.port(of: server.descriptor)
    nonisolated(unsafe) var isOver = false
    let done = DispatchSemaphore(value: 0)
    DispatchQueue(label: "clients").async {
      body(port)
      done.signal()
    }
    var written = 0
    while !isOver {
      isOver = done.wait(timeout: .now() + .milliseconds(2)) == .success
      if !server.takeRequests([.page]).isEmpty {
        written += 1
        server.publish(page: [UInt8]("<!doctype html><p>seven</p>\n".utf8))
      }
      for dialect in server.takeRequests([.prometheus, .openMetrics]).compactMap(\.dialect) {
        written += 1
        var text = MetricText(dialect)
        for family in MetricFamily.all where family.name == "imdump_connections" { text.begin(family) }
        if lines == 0 { text.sample("", .count(7)) }
        for number in 0..<lines { text.sample("n=\"\(number)\"", .count(7)) }
        text.end()
        server.publish(text, dialect)
      }
    }
    return written
  }

  @Test(
    .enabled(if: loopbackIsUp, "the loopback interface is down"),
    arguments: [
      ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK", "imdump_connections_total 7\n"),
      ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", "200 OK", "imdump_connections_total 7\n"),
      ("GET http://x:1/metrics HTTP/1.1\r\nHost: x:1\r\n\r\n", "200 OK", "imdump_connections_total 7\n"),
      (
        "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text\r\n\r\n", "200 OK",
        "imdump_connections_total 7\n# EOF\n"
      ),
      ("HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK", "\r\n\r\n"),
      ("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found", "\r\n\r\n"),
      ("GET / HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found", "Not Found\n"),
      ("GET /metricsx HTTP/1.1\r\nHost: x\r\n\r\n", "404 Not Found", "Not Found\n"),
      (
        "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", "405 Method Not Allowed",
        "Method Not Allowed\n"
      ),
      // Two requests at once: one is answered.
      (
        "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 OK",
        "imdump_connections_total 7\n"
      ),
      ("nonsense\r\n\r\n", "400 Bad Request", "Bad Request\n"),
      ("\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}", "400 Bad Request", "Bad Request\n"),
      (
        "GET /metrics HTTP/1.1\r\nX: " + String(repeating: "y", count: 9_000), "431 Request Header Fields Too Large",
        "Request Header Fields Too Large\n"
      ),
    ])
  func requests(_ request: String, _ status: String, _ end: String) throws {
    _ = try serve { port in
      for endsItsSide in [false, true] {
        guard let socket = try? connect(port) else { return }
        send(socket, request)
        if endsItsSide { shutdown(socket, Int32(SHUT_WR)) }
        let answer = all(socket)
        #expect(
          answer?.hasPrefix("HTTP/1.1 \(status)\r\n") == true && answer?.hasSuffix(end) == true,
          "\(answer ?? "nothing")")
        #expect((answer?.components(separatedBy: "HTTP/1.1 ").count ?? 0) <= 2, "answered twice")
        for field in ["Content-Length: ", "Connection: close\r\n", "X-Content-Type-Options: nosniff\r\n"] {
          #expect(answer?.contains("\r\n" + field) == true, "\(field) \(answer ?? "nothing")")
        }
        #expect(answer?.contains("\r\nAllow: GET, HEAD\r\n") == status.hasPrefix("405"))
      }
    }
  }

  /// The page is there for those who name the server by an address of its own, and so are the metrics.
  @Test(
    .enabled(if: loopbackIsUp, "the loopback interface is down"),
    arguments: [
      ("GET / HTTP/1.1\r\nHost: 127.0.0.1:8080\r\n\r\n", "200 OK", "<p>seven</p>\n"),
      ("GET /?x HTTP/1.1\r\nHost: LocalHost\r\n\r\n", "200 OK", "<p>seven</p>\n"),
      ("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n", "200 OK", "<p>seven</p>\n"),
      ("GET / HTTP/1.0\r\n\r\n", "200 OK", "<p>seven</p>\n"),
      ("HEAD / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n", "200 OK", "\r\n\r\n"),
      ("GET / HTTP/1.1\r\nHost: evil.example:8080\r\n\r\n", "421 Misdirected Request", "Misdirected Request\n"),
      ("GET / HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", "421 Misdirected Request", "Misdirected Request\n"),
      ("GET /index.html HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 Not Found", "Not Found\n"),
      ("GET //metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", "404 Not Found", "Not Found\n"),
      ("DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", "405 Method Not Allowed", "Method Not Allowed\n"),
      ("GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "200 OK", "imdump_connections_total 7\n"),
      ("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n", "421 Misdirected Request", "Misdirected Request\n"),
    ])
  func requestsForThePage(_ request: String, _ status: String, _ end: String) throws {
    _ = try serve(hasPage: true) { port in
      guard let socket = try? connect(port) else { return }
      send(socket, request)
      let answer = all(socket) ?? "nothing"
      #expect(answer.hasPrefix("HTTP/1.1 \(status)\r\n") && answer.hasSuffix(end), "\(answer)")
      let isPage = answer.contains("\r\nContent-Type: text/html; charset=utf-8\r\n")
      #expect(isPage == (status.hasPrefix("200") && !request.contains("/metrics")), "\(answer)")
      for field in [
        "Cache-Control: no-store", "Content-Security-Policy: frame-ancestors 'none'", "Referrer-Policy: no-referrer",
        "Cross-Origin-Resource-Policy: same-origin",
      ] { #expect(answer.contains("\r\n\(field)\r\n") == isPage, "\(field)") }
    }
  }

  /// Clients that ask and do not read, that say a byte at a time, and that reset: the page is there for the others, and is made few
  /// times, however many ask.
  @Test(.enabled(if: loopbackIsUp, "the loopback interface is down")) func aCrowdBeforeThePage() throws {
    let ask = "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    let written = try serve(hasPage: true) { port in
      var held: [Int32] = []
      var answers = 0
      for number in 0..<200 {
        if let other = try? connect(port) {
          send(other, number % 3 == 0 ? "G" : number % 3 == 1 ? ask + ask : "GET / HT\u{0}")
          if number % 2 == 0 { close(other) } else { held.append(other) }
        }
        guard let socket = try? connect(port) else { continue }
        send(socket, ask)
        if all(socket)?.hasSuffix("<p>seven</p>\n") == true { answers += 1 }
        if held.count > 40 { close(held.removeFirst()) }
      }
      #expect(answers == 200)
      for socket in held { close(socket) }
    }
    #expect((1...20).contains(written), "\(written) pages")
  }

  /// Whatever is sent in pieces comes to the same.
  @Test(.enabled(if: loopbackIsUp, "the loopback interface is down")) func byteByByte() throws {
    _ = try serve { port in
      guard let socket = try? connect(port) else { return }
      var yes: Int32 = 1
      setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &yes, socklen_t(MemoryLayout<Int32>.size))
      for byte in "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" { send(socket, String(byte)) }
      #expect(all(socket)?.hasSuffix("imdump_connections_total 7\n") == true)
    }
  }

  /// Who sends more than a request sees its answer nevertheless: nothing resets the connection.
  @Test(
    .enabled(if: loopbackIsUp, "the loopback interface is down"),
    arguments: [
      ("GET /metrics HTTP/1.1\r\nX: ", "431 "), ("POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "405 "),
      ("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n", "200 "), ("\u{16}\u{3}\u{1}", "400 "),
    ])
  func whoSendsMoreSeesItsAnswer(_ start: String, _ status: String) throws {
    _ = try serve { port in
      guard let socket = try? connect(port) else { return }
      send(socket, start)
      for _ in 0..<32 { send(socket, String(repeating: "y", count: 1 << 16)) }
      let answer = all(socket)
      #expect(answer?.hasPrefix("HTTP/1.1 " + status) == true, "\(answer ?? "no end")")
    }
  }

  /// A text that is longer than a socket takes at once.
  @Test(.enabled(if: loopbackIsUp, "the loopback interface is down")) func aLongText() throws {
    _ = try serve(lines: 100_000) { port in
      guard let socket = try? connect(port) else { return }
      send(socket, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
      let answer = all(socket) ?? ""
      let parts = answer.components(separatedBy: "\r\n\r\n")
      #expect(parts.count == 2 && parts[0].contains("\r\nContent-Length: \(parts.last?.utf8.count ?? 0)\r\n"))
      #expect(parts.last?.utf8.count ?? 0 > 3 << 20 && answer.hasSuffix("{n=\"99999\"} 7\n"))
    }
  }

  /// The thread ends at once, whoever is connected.
  @Test(.enabled(if: loopbackIsUp, "the loopback interface is down")) func theEnd() throws {
    let server = try WebServer(address: "127.0.0.1:0", option: "--metrics-listen", hasPage: false, hosts: ["X"])
    let port = ListenAddress.port(of: server.descriptor)
    try server.begin()
    let sockets = try (0..<3).map { _ in try connect(port) }
    send(sockets[1], "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    var wanted: [WebResource] = []
    while wanted.isEmpty { wanted = server.takeRequests(WebResource.allCases) }
    #expect(wanted == [.prometheus])
    server.end()
    for socket in sockets { #expect(all(socket) == "") }
    server.end()
  }

  /// However many say nothing, one that asks is answered; and the capture writes few texts, however many ask.
  @Test(.enabled(if: loopbackIsUp, "the loopback interface is down")) func aCrowd() throws {
    let written = try serve { port in
      let idle = (0..<100).compactMap { _ in try? connect(port) }
      var answers = 0
      for _ in 0..<200 {
        guard let socket = try? connect(port) else { continue }
        send(socket, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
        if all(socket)?.hasSuffix("imdump_connections_total 7\n") == true { answers += 1 }
      }
      #expect(answers == 200)
      for socket in idle { close(socket) }
    }
    #expect((1...20).contains(written), "\(written) texts")
  }
}
