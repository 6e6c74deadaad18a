@testable import IMOutput
@testable import IMWeb

/// What answers strangers: the heads of their requests, and what they do with connections.
let servingTargets = [
  Target(name: "http", run: requestHead),
  Target(name: "responder", run: responder),
]

private func outcome(_ parser: inout HTTPRequestParser, _ bytes: ArraySlice<UInt8>) -> HTTPRequestParser.Outcome {
  let bytes = Array(bytes)
  return parser.take(bytes.span)
}

/// A request as bytes, in pieces of which the first byte tells the size. What is known does not depend on the pieces, is
/// known with the byte that shows it, and a head that is sound is so to a second reader too, which splits lines.
@Sendable private func requestHead(_ input: UnsafeRawBufferPointer) {
  let bytes = [UInt8](input.dropFirst())
  var whole = HTTPRequestParser()
  let result = outcome(&whole, bytes[...])
  var pieces = HTTPRequestParser()
  let size = max(1, Int(input.first ?? 1))
  for start in stride(from: 0, to: bytes.count, by: size) {
    _ = outcome(&pieces, bytes[start..<min(start + size, bytes.count)])
  }
  if pieces.outcome != result || pieces.count != whole.count {
    fail("pieces of \(size): \(pieces.outcome), not \(result)")
  }
  let count = whole.count
  if count > min(bytes.count, HTTPRequestParser.longestHead) { fail("\(count) bytes of \(bytes.count)") }
  if result == .needMore {
    if count != bytes.count || count == HTTPRequestParser.longestHead { fail("more is needed after \(count) bytes") }
    return
  }
  var before = HTTPRequestParser()
  if outcome(&before, bytes[..<(count - 1)]) != .needMore { fail("known before byte \(count)") }
  switch result {
  case .refusal(.headTooLarge): if count != HTTPRequestParser.longestHead { fail("\(count) bytes are too many") }
  case .request(let request): check(request, bytes[..<count])
  case .refusal, .needMore: break
  }
}

/// Reads a head line by line.
private func check(_ request: HTTPRequest, _ head: ArraySlice<UInt8>) {
  var lines: [ArraySlice<UInt8>] = []
  var rest = head
  while let end = rest.firstIndex(of: 10) {
    guard end > rest.startIndex, rest[end - 1] == 13 else { fail("LF alone") }
    lines.append(rest[..<(end - 1)])
    rest = rest[(end + 1)...]
  }
  lines = Array(lines.drop(while: \.isEmpty))
  guard rest.isEmpty, lines.count > 1, lines.removeLast().isEmpty else { fail("no end") }
  if lines.contains(where: { line in line.isEmpty || line.contains { $0 < 32 && $0 != 9 || $0 == 127 } }) {
    fail("a control character")
  }
  let words = lines.removeFirst().split(separator: 32, omittingEmptySubsequences: false).map {
    String(decoding: $0, as: UTF8.self)
  }
  guard words.count == 3, words[2] == "HTTP/1.0" || words[2] == "HTTP/1.1" else { fail("no request line: \(words)") }
  let methods: [String: HTTPRequest.Method] = ["GET": .get, "HEAD": .head]
  if request.method != methods[words[0]] ?? .other { fail("method \(words[0])") }
  if request.method != .other, !words[1].utf8.starts(with: request.path), !words[1].contains("://") {
    fail("another path than \(words[1])")
  }
  var hosts = 0
  for line in lines {
    let name = line.prefix { $0 != 58 }
    guard !name.isEmpty, name.count < line.count, !name.contains(where: { $0 <= 32 || $0 >= 127 }) else {
      fail("no field")
    }
    if String(decoding: name, as: UTF8.self).lowercased() == "host" { hosts += 1 }
  }
  if hosts > 1 || hosts == 0 && words[2] == "HTTP/1.1" { fail("\(hosts) hosts") }
}

/// Connections that come, speak, fall silent and go, in the order of a script. Few are there at once and none for long; each
/// gets one answer at most, from its beginning; and the capture is asked for a text once until it has written it.
@Sendable private func responder(_ input: UnsafeRawBufferPointer) {
  var script = Script(input)
  var desk = WebDispatcher(WebOffers(hasPage: true, isLocal: script.byte() & 1 == 0))
  var now = 0.0, number: Int32 = 0, wanted = 0
  var taken: [Int32: Double] = [:], sent: [Int32: [UInt8]] = [:]
  let words = [
    "GET /metrics HTTP/1.", "1\r\nHost: x", "0\r\n", "\r\n\r\n", "HEAD ", "\0", "Accept: application/openmetrics-text",
    "GET / HTTP/1.", "1\r\nHost: 127.0.0.1",
  ]
  .map { [UInt8]($0.utf8) }
  while !script.isEmpty {
    let how = script.byte()
    let index = desk.clients.isEmpty ? 0 : Int(how >> 4) % desk.clients.count
    switch how & 15 {
    case 0, 1:
      number += 1
      taken[number] = now
      desk.take(number, at: now)
    case 2...6 where !desk.clients.isEmpty:
      guard desk.clients[index].connection.wantsInput else { continue }
      let choice = Int(script.byte())
      let bytes = choice < words.count ? words[choice] : script.take(choice)
      desk.received(bytes.span, from: index, at: now)
    case 7 where !desk.clients.isEmpty:
      if desk.clients[index].connection.wantsInput { desk.clients[index].connection.inputEnded() }
    case 8 where !desk.clients.isEmpty: desk.clients[index].connection.failed()
    case 9...12 where !desk.clients.isEmpty:
      let unsent = desk.clients[index].connection.unsent
      guard !unsent.isEmpty else { continue }
      let count = how & 15 < 11 ? unsent.count : min(unsent.count, 1 + Int(script.byte()))
      sent[desk.clients[index].descriptor, default: []] += unsent.prefix(count)
      let isAll = desk.clients[index].connection.sent(count, at: now)
      if isAll != (count == unsent.count) || isAll { check(sent[desk.clients[index].descriptor] ?? [], isAll) }
    case 13:
      let resource = WebResource.allCases[Int(how >> 4) % WebResource.allCases.count]
      wanted &= ~resource.bit
      let body = script.take(5)
      let response =
        resource.dialect.map { dialect in body.withUnsafeBytes { HTTPResponse(.ok, dialect.contentType, $0) } }
        ?? HTTPResponse(page: Array(body))
      desk.publish(response, resource, at: now)
    default: now += Double(script.byte()) / 50
    }
    let asked = desk.takeWanted()
    if asked & wanted != 0 { fail("the capture is asked twice") }
    wanted |= asked
    // What lasts too long is refused first where it waits, and over then.
    desk.expire(at: now)
    desk.expire(at: now)
    _ = desk.takeOver()
    if desk.clients.count > WebDispatcher.maximumClients { fail("\(desk.clients.count) connections") }
    if desk.nextEnd <= now { fail("something has lasted too long") }
    for client in desk.clients
    where now - (taken[client.descriptor] ?? 0) > WebConnection.patience + WebConnection.pagePatience {
      fail("a connection of more than thirty seconds")
    }
  }
}

/// An answer that has been sent as a whole.
private func check(_ answer: [UInt8], _ isAll: Bool) {
  let text = String(decoding: answer, as: UTF8.self)
  guard isAll, text.hasPrefix("HTTP/1.1 "), text.contains("\r\nContent-Length: "),
    text.contains("\r\nConnection: close\r\n"),
    text.contains("\r\nX-Content-Type-Options: nosniff\r\n"), text.contains("\r\n\r\n")
  else { fail("an answer of \(answer.count) bytes") }
}
