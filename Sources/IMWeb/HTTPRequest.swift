/// The head of an HTTP request, as far as an answer depends on it.
struct HTTPRequest: Equatable {
  /// What is asked for.
  enum Method: Equatable {
    case get, head
    /// Any other one, known or not.
    case other
  }

  /// What is asked for.
  var method: Method
  /// The path, without a query; empty for a method that has no answer anyway.
  var path: [UInt8]
  /// The values of all `Accept` fields, with commas between them.
  var accept: [UInt8]
  /// The value of `Host`; empty where HTTP/1.0 leaves it out.
  var host: [UInt8] = []
}

/// A status that is answered with.
enum HTTPStatus: Int {
  case ok = 200
  case badRequest = 400
  case notFound = 404
  case methodNotAllowed = 405
  case misdirected = 421
  case headTooLarge = 431
  case serviceUnavailable = 503

  /// What RFC 9110 and RFC 6585 call it.
  var reason: String {
    switch self {
    case .ok: "OK"
    case .badRequest: "Bad Request"
    case .notFound: "Not Found"
    case .methodNotAllowed: "Method Not Allowed"
    case .misdirected: "Misdirected Request"
    case .headTooLarge: "Request Header Fields Too Large"
    case .serviceUnavailable: "Service Unavailable"
    }
  }
}

/// A whole answer as bytes. All who ask for the same share one.
struct HTTPResponse: Equatable, Sendable {
  /// The head, and the body behind it.
  let bytes: [UInt8]
  /// The bytes of the head, which are all that HEAD is answered with.
  let headCount: Int

  /// An answer with this body; `fields` are further lines of the head, each with its end.
  init(_ status: HTTPStatus, _ type: String, _ body: UnsafeRawBufferPointer, fields: String = "") {
    var head =
      "HTTP/1.1 \(status.rawValue) \(status.reason)\r\nContent-Type: \(type)\r\nContent-Length: \(body.count)\r\n"
    if status == .methodNotAllowed { head += "Allow: GET, HEAD\r\n" }
    head += fields + "Connection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n"
    var bytes: [UInt8] = []
    bytes.reserveCapacity(head.utf8.count + body.count)
    bytes.append(contentsOf: head.utf8)
    headCount = bytes.count
    bytes.append(contentsOf: body)
    self.bytes = bytes
  }

  /// A page, for nobody's cache, no other page's frame and no other site.
  init(page: [UInt8]) {
    self = page.withUnsafeBytes {
      HTTPResponse(
        .ok, "text/html; charset=utf-8", $0,
        fields: "Cache-Control: no-store\r\nContent-Security-Policy: frame-ancestors 'none'\r\n"
          + "Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n")
    }
  }

  /// A refusal, which names itself in its body.
  init(refusal status: HTTPStatus) {
    self = [UInt8]((status.reason + "\n").utf8).withUnsafeBytes {
      HTTPResponse(status, "text/plain; charset=utf-8", $0)
    }
  }
}
