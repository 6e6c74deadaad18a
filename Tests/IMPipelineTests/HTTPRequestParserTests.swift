import Foundation
import Testing

@testable import IMPipeline
@testable import IMWeb

/// Heads of requests by the words of RFC 9112, whole and in pieces.
@Suite struct HTTPRequestParserTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var head: String
    var method = HTTPRequest.Method.get
    var path = "/metrics"
    var accept = ""
    var testDescription: String { name }

    init(
      _ name: String, _ head: String, _ method: HTTPRequest.Method = .get, path: String = "/metrics",
      accept: String = ""
    ) {
      self.name = name
      self.head = head
      self.method = method
      self.path = path
      self.accept = accept
    }

    var request: HTTPRequest {
      HTTPRequest(
        method: method, path: [UInt8](path.utf8), accept: [UInt8](accept.utf8), host: [UInt8](host.utf8))
    }

    /// The value of the line that begins with `Host:`.
    private var host: String {
      let line = head.components(separatedBy: "\r\n").first { $0.lowercased().hasPrefix("host:") }
      return line.map { $0.dropFirst(5).trimmingCharacters(in: .whitespaces) } ?? ""
    }
  }

  static let good = [
    Case("the least of 1.1", "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case("the least of 1.0", "GET /metrics HTTP/1.0\r\n\r\n"),
    Case("HEAD", "HEAD /metrics HTTP/1.1\r\nHost: x\r\n\r\n", .head),
    Case("another method", "POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n", .other, path: ""),
    Case("methods know capitals", "get /metrics HTTP/1.1\r\nHost: x\r\n\r\n", .other, path: ""),
    Case("a method that nobody knows", "M-SEARCH!~ * HTTP/1.1\r\nHost: x\r\n\r\n", .other, path: ""),
    Case("the form of OPTIONS", "OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", .other, path: ""),
    Case("the form of CONNECT", "CONNECT example.net:443 HTTP/1.1\r\nHost: example.net:443\r\n\r\n", .other, path: ""),
    Case("another path", "GET /a/b%20c HTTP/1.1\r\nHost: x\r\n\r\n", path: "/a/b%20c"),
    Case("a query", "GET /metrics?a=/b?c HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case("two slashes", "GET //metrics HTTP/1.1\r\nHost: x\r\n\r\n", path: "//metrics"),
    Case("the absolute form", "GET http://sensor:9464/metrics HTTP/1.1\r\nHost: sensor:9464\r\n\r\n"),
    Case("the absolute form with a query", "GET HTTP://[::1]:9464/metrics?x HTTP/1.1\r\nHost: [::1]:9464\r\n\r\n"),
    Case("the absolute form without a path", "GET http://sensor HTTP/1.1\r\nHost: sensor\r\n\r\n", path: ""),
    Case("the absolute form with only a query", "GET http://a?/metrics HTTP/1.1\r\nHost: a\r\n\r\n", path: ""),
    Case("empty lines in front", "\r\n\r\nGET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"),
    Case(
      "no blank behind the colon", "GET /metrics HTTP/1.1\r\nhost:x\r\nACCEPT:text/plain\r\n\r\n", accept: "text/plain"),
    Case("blanks around a value", "GET /metrics HTTP/1.1\r\nHost: \t x \t\r\nAccept:  a; b \t\r\n\r\n", accept: "a; b"),
    Case("an empty host", "GET /metrics HTTP/1.1\r\nHost:\r\n\r\n"),
    Case("an empty value", "GET /metrics HTTP/1.1\r\nHost: x\r\nX:\r\nY: \r\n\r\n"),
    Case("fields that come twice", "GET /metrics HTTP/1.0\r\nAccept: a\r\nX: y\r\nAccept: b\r\n\r\n", accept: "a,b"),
    Case("names that begin like others", "GET /metrics HTTP/1.0\r\nAccept-Language: a\r\nHost-X: b c\r\n\r\n"),
    Case("bytes beyond ASCII in a value", "GET /metrics HTTP/1.1\r\nHost: x\r\nX-Name: \u{e4}\u{4f60}\r\n\r\n"),
    Case("a body", "GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n"),
    Case("a body in pieces", "GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n"),
  ]

  /// Each of these is sound up to its last byte, which shows that it is not.
  static let bad: [(String, String)] = [
    ("a TLS hello", "\u{16}"),
    ("NUL at the start", "\u{0}"),
    ("a blank at the start", " "),
    ("LF at the start", "\n"),
    ("CR alone at the start", "\rG"),
    ("a method alone", "GET\r"),
    ("a tab behind the method", "GET\t"),
    ("a bracket in the method", "GE["),
    ("a colon in the method, as a field first", "Host:"),
    ("two blanks in front of the target", "GET  "),
    ("HTTP/0.9", "GET /metrics\r"),
    ("LF alone behind the target", "GET /metrics\n"),
    ("a tab behind the target", "GET /metrics\t"),
    ("NUL in the target", "GET /metr\u{0}"),
    ("a byte beyond ASCII in the target", "GET /metr\u{e4}"),
    ("a target that is no path", "GET metrics "),
    ("the form of OPTIONS with GET", "GET * "),
    ("the form of CONNECT with HEAD", "HEAD sensor:9464 "),
    ("another scheme", "GET https://x/metrics "),
    ("a scheme alone", "GET http:// "),
    ("no authority", "GET http:///metrics "),
    ("no authority in front of a query", "GET http://?/metrics "),
    ("two blanks in front of the version", "GET /metrics  "),
    ("a version in small letters", "GET /metrics h"),
    ("version 2.0", "PRI * HTTP/2"),
    ("version 1.2", "GET /metrics HTTP/1.2"),
    ("version 1.10", "GET /metrics HTTP/1.10"),
    ("a version without a point", "GET /metrics HTTP/11"),
    ("a blank behind the version", "GET /metrics HTTP/1.1 "),
    ("LF alone behind the version", "GET /metrics HTTP/1.1\n"),
    ("CR alone behind the version", "GET /metrics HTTP/1.1\r\r"),
    ("folding of the first line", "GET /metrics HTTP/1.1\r\n "),
    ("folding by a tab", "GET /metrics HTTP/1.1\r\n\t"),
    ("folding of a value", "GET /metrics HTTP/1.1\r\nHost: x\r\n "),
    ("folding of a value by a tab", "GET /metrics HTTP/1.1\r\nHost: x\r\n\t"),
    ("a blank in front of the colon", "GET /metrics HTTP/1.1\r\nHost "),
    ("a tab in front of the colon", "GET /metrics HTTP/1.1\r\nHost\t"),
    ("no name", "GET /metrics HTTP/1.1\r\n:"),
    ("no colon", "GET /metrics HTTP/1.1\r\nHost\r"),
    ("a bracket in a name", "GET /metrics HTTP/1.1\r\nHo("),
    ("a byte beyond ASCII in a name", "GET /metrics HTTP/1.1\r\nHo\u{e4}"),
    ("NUL in a name", "GET /metrics HTTP/1.1\r\nHo\u{0}"),
    ("NUL in a value", "GET /metrics HTTP/1.1\r\nX: a\u{0}"),
    ("a control character in a value", "GET /metrics HTTP/1.1\r\nX: a\u{1b}"),
    ("DEL in a value", "GET /metrics HTTP/1.1\r\nX: a\u{7f}"),
    ("LF alone behind a value", "GET /metrics HTTP/1.1\r\nX: a\n"),
    ("CR alone in a value", "GET /metrics HTTP/1.1\r\nX: a\rb"),
    ("CR CR LF behind a value", "GET /metrics HTTP/1.1\r\nX: a\r\r"),
    ("LF alone at the end", "GET /metrics HTTP/1.1\r\nHost: x\r\n\n"),
    ("CR alone at the end", "GET /metrics HTTP/1.1\r\nHost: x\r\n\rX"),
    ("no host", "GET /metrics HTTP/1.1\r\nAccept: x\r\n\r\n"),
    ("two hosts", "GET /metrics HTTP/1.1\r\nHost: x\r\nHost: x\r\n"),
    ("two hosts in one", "GET /metrics HTTP/1.1\r\nHost: x y\r\n"),
    ("a host with a path", "GET /metrics HTTP/1.1\r\nHost: x/y\r\n"),
    ("a host with a user", "GET /metrics HTTP/1.1\r\nHost: me@x\r\n"),
    ("two lengths", "GET /metrics HTTP/1.0\r\nContent-Length: 1\r\nContent-Length: 2\r\n"),
    ("two lengths in one", "GET /metrics HTTP/1.0\r\nContent-Length: 1, 2\r\n"),
    ("a length with a sign", "GET /metrics HTTP/1.0\r\nContent-Length: +1\r\n"),
    ("a length of nothing", "GET /metrics HTTP/1.0\r\nContent-Length: \r\n"),
    ("a length and an encoding", "GET /metrics HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
    ("an encoding and a length", "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n"),
    ("an encoding twice", "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
    ("an encoding that is not the last", "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked, identity\r\n"),
    ("an encoding in 1.0", "GET /metrics HTTP/1.0\r\nTransfer-Encoding: chunked\r\n"),
  ]

  /// Feeds the pieces of `bytes` that `cuts` make.
  private func outcome(_ bytes: [UInt8], cuts: [Int] = []) -> HTTPRequestParser.Outcome {
    var parser = HTTPRequestParser()
    var start = 0
    for end in cuts + [bytes.count] {
      _ = parser.take(bytes.span.extracting(start..<end))
      start = end
    }
    return parser.outcome
  }

  @Test(arguments: good) func soundHeads(_ good: Case) {
    let bytes = [UInt8](good.head.utf8)
    #expect(outcome(bytes) == .request(good.request))
    // What follows is not looked at, and not counted.
    var parser = HTTPRequestParser()
    let more = bytes + [0, 10, 13]
    #expect(parser.take(more.span) == .request(good.request))
    #expect(parser.count == bytes.count)
  }

  @Test(arguments: good) func everyPrefixNeedsMore(_ good: Case) {
    let bytes = [UInt8](good.head.utf8)
    for count in 0..<bytes.count { #expect(outcome([UInt8](bytes[..<count])) == .needMore, "\(count) bytes") }
  }

  @Test(arguments: good) func everyCutIsTheSame(_ good: Case) {
    let bytes = [UInt8](good.head.utf8)
    for first in 0...bytes.count {
      for second in first...bytes.count {
        #expect(outcome(bytes, cuts: [first, second]) == .request(good.request), "cut at \(first) and \(second)")
      }
    }
    #expect(outcome(bytes, cuts: Array(0...bytes.count)) == .request(good.request), "byte by byte")
  }

  @Test(arguments: bad) func refusedAtOnce(_ name: String, _ head: String) {
    // A byte beyond ASCII is refused with its first byte.
    var bytes = [UInt8](head.utf8)
    while let last = bytes.last, (0x80..<0xc0).contains(last) { bytes.removeLast() }
    #expect(outcome([UInt8](bytes.dropLast())) == .needMore, "\(name): refused too early")
    #expect(outcome(bytes) == .refusal(.badRequest), "\(name)")
    #expect(outcome(bytes, cuts: Array(0...bytes.count)) == .refusal(.badRequest), "\(name), byte by byte")
    let more = bytes + [UInt8]("\r\nHost: x\r\n\r\n".utf8)
    #expect(outcome(more, cuts: [bytes.count]) == .refusal(.badRequest), "\(name): forgotten")
  }

  // MARK: Length

  /// A head of so many bytes.
  private func head(of count: Int) -> [UInt8] {
    let start = [UInt8]("GET /metrics HTTP/1.1\r\nHost: x\r\nX: ".utf8), end = [UInt8]("\r\n\r\n".utf8)
    return start + [UInt8](repeating: 0x79, count: count - start.count - end.count) + end
  }

  @Test func theLongestHeadIsRead() {
    let request = HTTPRequest(method: .get, path: [UInt8]("/metrics".utf8), accept: [], host: [UInt8]("x".utf8))
    let longest = head(of: 8_192), longer = head(of: 8_193)
    #expect(outcome(longest) == .request(request))
    #expect(outcome(longest, cuts: Array(0...8_192)) == .request(request))
    #expect(outcome(longer) == .refusal(.headTooLarge))
    #expect(outcome(longer, cuts: Array(0...8_193)) == .refusal(.headTooLarge))
    // What can no longer become one is refused before its end comes.
    #expect(outcome([UInt8](longer[..<8_191])) == .needMore)
    #expect(outcome([UInt8](longer[..<8_192])) == .refusal(.headTooLarge))
  }

  @Test(arguments: [
    "", "\r\n", "GET /", "GET /metrics HTTP/1.1\r\n", "GET /metrics HTTP/1.1\r\nHost: x\r\n",
  ])
  func nothingIsEndless(_ start: String) {
    for filler in ["\r\n", "x", "X: y\r\n"] {
      let bytes = [UInt8]((start + String(repeating: filler, count: 9_000)).utf8)
      #expect(outcome(bytes) != .needMore, "\(start) \(filler)")
    }
  }

  // MARK: Answers

  @Test(arguments: [
    (HTTPStatus.badRequest, "400 Bad Request"), (.notFound, "404 Not Found"),
    (.methodNotAllowed, "405 Method Not Allowed"),
    (.headTooLarge, "431 Request Header Fields Too Large"), (.serviceUnavailable, "503 Service Unavailable"),
  ])
  func refusalsNameThemselves(_ status: HTTPStatus, _ line: String) {
    let response = HTTPResponse(refusal: status)
    let parts = String(decoding: response.bytes, as: UTF8.self).components(separatedBy: "\r\n\r\n")
    let lines = parts[0].components(separatedBy: "\r\n")
    #expect(parts.count == 2 && parts[1] == line.dropFirst(4) + "\n")
    #expect(response.headCount == parts[0].utf8.count + 4)
    #expect(lines.first == "HTTP/1.1 " + line)
    for field in [
      "Content-Length: \(parts[1].utf8.count)", "Connection: close", "X-Content-Type-Options: nosniff",
      "Content-Type: text/plain; charset=utf-8",
    ] { #expect(lines.contains(field), "\(field)") }
    #expect(lines.contains("Allow: GET, HEAD") == (status == .methodNotAllowed))
  }
}
