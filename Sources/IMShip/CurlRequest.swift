/// A request that the `curl` command makes, as the configuration that curl reads from its standard input: neither addresses
/// nor secrets are in the list of processes.
package struct CurlRequest: Sendable {
  /// The descriptor from which curl reads the request's body.
  package static let bodyDescriptor: Int32 = 3

  /// What a connection needs beside its address.
  package struct Access: Equatable, Sendable {
    /// The value of `Authorization: ApiKey`; `nil` for none.
    package var apiKey: String?
    /// `NAME:PASSWORD`; `nil` for none.
    package var user: String?
    /// A file of certificates that servers' are verified with, instead of the system's.
    package var authorities: String?
    /// The files of the certificate, and of its key, that a server asks for.
    package var certificate: String?, key: String?
    /// Whether servers' certificates are not verified.
    package var isInsecure = false
    /// Further headers of each request, `Name: value`, whose values are secrets.
    package var headers: [String] = []

    /// Nothing.
    package init() {}

    /// `text` without any of the secrets.
    package func redacted(_ text: String) -> String {
      var text = text
      let password = user.flatMap { user in user.firstIndex(of: ":").map { String(user[user.index(after: $0)...]) } }
      let values = headers.compactMap { header in
        header.firstIndex(of: ":").map { String(header[header.index(after: $0)...].drop { $0 == " " }) }
      }
      for secret in [apiKey, user, password].compactMap(\.self) + values where !secret.isEmpty {
        text = Self.replacing(secret, in: text)
      }
      return text
    }

    private static func replacing(_ secret: String, in text: String) -> String {
      let (secret, bytes) = (Array(secret.utf8), Array(text.utf8))
      var result: [UInt8] = [], at = 0
      while at < bytes.count {
        if bytes[at...].starts(with: secret) {
          result += Array("***".utf8)
          at += secret.count
        } else {
          result.append(bytes[at])
          at += 1
        }
      }
      return String(decoding: result, as: UTF8.self)
    }
  }

  /// GET, PUT or POST.
  package var method: String
  /// The whole address.
  package var address: String
  /// The type of the body; `nil` where there is none.
  package var contentType: String?
  /// Whether the body is compressed by gzip.
  package var isCompressed = false
  /// Further headers, `Name: value`.
  package var headers: [String] = []
  /// The name of a file that is sent as a form's part `file`, as saved objects are imported; the body is its content.
  package var formFile: String?
  /// Seconds that all of it may take.
  package var seconds = 120

  /// A request without a body.
  package init(_ method: String, _ address: String) {
    self.method = method
    self.address = address
  }

  /// The configuration, for a program that calls itself `agent`.
  package func configuration(_ access: Access, agent: String) -> String {
    var lines = [
      "url = \(Self.quoted(address))", "request = \(Self.quoted(method))", "user-agent = \(Self.quoted(agent))",
      "proto = \"=http,https\"", "connect-timeout = 10", "max-time = \(seconds)", "silent", "globoff",
      "header = \"Expect:\"", "write-out = \"\\n%{http_code} %header{retry-after}\\n%{errormsg}\"",
    ]
    if let contentType { lines.append("header = \(Self.quoted("Content-Type: \(contentType)"))") }
    if isCompressed { lines.append("header = \"Content-Encoding: gzip\"") }
    lines += headers.map { "header = \(Self.quoted($0))" }
    if let formFile {
      lines.append("form = \(Self.quoted("file=@/dev/fd/\(Self.bodyDescriptor);filename=\(formFile)"))")
    } else if contentType != nil {
      lines.append("data-binary = \"@/dev/fd/\(Self.bodyDescriptor)\"")
    }
    lines += access.headers.map { "header = \(Self.quoted($0))" }
    if let key = access.apiKey { lines.append("header = \(Self.quoted("Authorization: ApiKey \(key)"))") }
    if let user = access.user { lines += ["basic", "user = \(Self.quoted(user))"] }
    if let file = access.authorities { lines.append("cacert = \(Self.quoted(file))") }
    if let file = access.certificate { lines.append("cert = \(Self.quoted(file))") }
    if let file = access.key { lines.append("key = \(Self.quoted(file))") }
    if access.isInsecure { lines.append("insecure") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// A value as curl's configuration has it.
  package static func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}

/// What came of a request: an answer of the server, or why there is none.
package struct CurlResponse: Equatable, Sendable {
  /// The status of HTTP; 0 where no server answered.
  package var status: Int
  /// The answer's body.
  package var body: [UInt8]
  /// Seconds to wait before the next request, as the server wishes; `nil` where it does not say.
  package var retryAfter: Double?
  /// The exit status of curl; 0 where a server answered.
  package var exitStatus: Int32
  /// The text of an error that curl reported.
  package var message: String

  /// Reads what curl wrote: the body, and the line that `CurlRequest` has it write behind.
  package init(output: [UInt8], exitStatus: Int32, now: Int64) {
    self.exitStatus = exitStatus
    (status, body, message) = (0, [], "")
    // The message is the last line, and the status the one before.
    guard let last = output.lastIndex(of: 10), let before = output[..<last].lastIndex(of: 10) else { return }
    message = String(decoding: output[(last + 1)...].prefix(500), as: UTF8.self)
    let words = output[(before + 1)..<last].split(separator: 32, maxSplits: 1)
    status = words.first.flatMap { Int(String(decoding: $0, as: UTF8.self)) } ?? 0
    retryAfter = words.count > 1 ? Self.seconds(String(decoding: words[1], as: UTF8.self), now: now) : nil
    body = Array(output[..<before])
  }

  /// The value of `Retry-After`: seconds, or a date as HTTP has it; at most an hour, and `nil` for anything else.
  package static func seconds(_ text: String, now: Int64) -> Double? {
    if let seconds = UInt64(text) { return Double(min(seconds, 3_600)) }
    let words = text.split(separator: " ")
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard words.count == 6, words[5] == "GMT", let day = Int64(words[1]),
      let month = months.firstIndex(of: String(words[2])),
      let year = Int64(words[3]), (1...31).contains(day), (1970...9999).contains(year)
    else { return nil }
    let clock = words[4].split(separator: ":").compactMap { Int64($0) }
    guard clock.count == 3, (0...23).contains(clock[0]), (0...59).contains(clock[1]), (0...60).contains(clock[2]) else {
      return nil
    }
    // Days since 1970 of the proleptic Gregorian calendar, years beginning in March.
    let shifted = year - (month < 2 ? 1 : 0)
    let monthOfYear = Int64((month + 10) % 12)
    let days =
      shifted * 365 + shifted / 4 - shifted / 100 + shifted / 400 + (monthOfYear * 306 + 5) / 10 + day - 1 - 719_468
    let time = days * 86_400 + clock[0] * 3_600 + clock[1] * 60 + clock[2]
    return Double(min(max(0, time - now), 3_600))
  }

  /// What to do about it.
  package enum Verdict: Equatable, Sendable {
    /// The server has done it.
    case done
    /// It can be tried again later.
    case later(String)
    /// The request has too many bytes.
    case tooLarge
    /// The server calls the request wrong.
    case wrong(type: String, reason: String)
    /// The server does not let this user in, or does not prove who it is.
    case denied(String)
  }

  /// What to do about it.
  package var verdict: Verdict {
    switch status {
    case 200..<300 where exitStatus == 0: return .done
    case 200..<300: return .later("the answer broke off (curl: \(exitStatus))")
    case 401:
      return .denied("401: the engine requires a valid API key or user: --api-key-file, or --user and --password-file")
    case 403: return isBlocked ? .later("403: \(reason)") : .denied("403: this key or user may not do that: \(reason)")
    case 407: return .denied("407: the proxy requires a user")
    case 413: return .tooLarge
    case 400:
      guard let error = BulkAnswer.error(body) else { return .later("400: this is not an engine") }
      return .wrong(type: error.type, reason: error.reason)
    case 300..<400: return .later("\(status): redirected; give the address of the engine itself")
    case 1...: return .later("\(status)" + (reason.isEmpty ? "" : ": \(reason)"))
    default: break
    }
    let text = message.isEmpty ? "curl: \(exitStatus)" : message
    switch exitStatus {
    case 51, 60, 83, 90, 91:
      return .denied("cannot verify the certificate of the engine: \(text); give its authority with --ca")
    case 58, 59, 66, 77, 82: return .denied("a certificate or key cannot be used: \(text)")
    case _ where ["certificate required", "bad certificate", "unknown ca"].contains { Self.contains(message, $0) }:
      return .denied("the engine does not accept the certificate of --client-cert: \(text)")
    default: return .later(text)
    }
  }

  /// The same where the server is a receiver of OTLP: an answer about records is final, unless its status asks for another try.
  package var telemetryVerdict: Verdict {
    switch status {
    case 200..<300: return exitStatus == 0 ? .done : .later("the answer broke off (curl: \(exitStatus))")
    case 401, 403:
      return .denied(
        "\(status): the receiver requires a valid key or user: --headers, --api-key-file, or --user: \(start)")
    case 404, 405:
      return .denied("\(status): no OpenTelemetry receiver there; --to is the address without /v1/logs")
    case 407, 413, 300..<400: return verdict
    case 429, 502, 503, 504: return .later("\(status)" + (start.isEmpty ? "" : ": \(start)"))
    case 1...: return .wrong(type: "\(status)", reason: start)
    default: return verdict
    }
  }

  /// The first 200 bytes of the body, as text.
  private var start: String {
    let text = String(decoding: body.prefix(200), as: UTF8.self)
    return String(String.UnicodeScalarView(text.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : $0 }))
  }

  private var reason: String {
    guard let error = BulkAnswer.error(body) else { return "" }
    return error.reason.isEmpty ? error.type : error.reason
  }

  /// Whether an index takes no writes at this time, which some versions answer with 403.
  private var isBlocked: Bool { BulkAnswer.error(body)?.type == "cluster_block_exception" }

  private static func contains(_ text: String, _ part: String) -> Bool {
    let (text, part) = (Array(text.lowercased().utf8), Array(part.utf8))
    guard text.count >= part.count else { return false }
    return (0...text.count - part.count).contains { text[$0...].starts(with: part) }
  }
}
