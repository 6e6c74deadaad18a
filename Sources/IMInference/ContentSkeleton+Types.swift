import IMContent

/// Types: their names, the types that they answer, and RESP commands.
extension ContentSkeleton {
  /// A unique name for each type.
  func uniqueNames() -> [String] {
    var taken: Set<String> = ["other", "all", "unreadable"]
    return guess.kinds.map { kind in
      let words = kind.type.split(separator: " ").enumerated().filter { index, word in
        word != "-" && !(guess.parts.first == .side && index == 0 && guess.found.shape.kind != .resp)
      }.map(\.element)
      var letters = words.joined(separator: "_").lowercased().utf8.map { byte -> String in
        switch byte {
        case 0x61...0x7a, 0x30...0x39: String(UnicodeScalar(byte))
        default: "_"
        }
      }.joined()
      while letters.hasPrefix("_") { letters.removeFirst() }
      while letters.hasSuffix("_") { letters.removeLast() }
      if letters.isEmpty { letters = "frame" }
      if letters.utf8.first.map({ $0 < 0x61 }) == true { letters = "type_" + letters }
      letters = String(letters.prefix(24))
      var name = letters
      // The same type from the other side, or in other letter case.
      if taken.contains(name), guess.parts.first == .side {
        name = letters + (kind.type.hasPrefix("server") ? "_server" : "_client")
      }
      var number = 2
      while !taken.insert(name).inserted {
        name = "\(letters)_\(number)"
        number += 1
      }
      return name
    }
  }

  mutating func types() {
    line("types:", guess.kindsLeftOut > 0 ? "\(Self.number(guess.kindsLeftOut)) further values are left out" : nil)
    if guess.found.shape.kind == .resp {
      commands()
      return
    }
    for index in guess.kinds.indices { type(index) }
  }

  static func isHeartbeat(_ name: String) -> Bool {
    ["heartbeat", "keepalive", "keep_alive", "ping"].contains { name.contains($0) } || ["hb", "beat"].contains(name)
  }

  mutating func type(_ index: Int) {
    let kind = guess.kinds[index]
    let answers = kind.answers.keys.sorted().filter { guess.kinds[$0].answers.isEmpty }
    let isAnswer = !answers.isEmpty && !isPlainLines
    let isBeat = kind.type == "beat" || Self.isHeartbeat(names[index])
    var text = "  \(Self.quoted(kind.type)): { name: \(names[index]), role: "
    text += isAnswer ? "acknowledgment" : isBeat ? "heartbeat" : "other"
    if isAnswer { text += ", answers: [\(answers.map { names[$0] }.joined(separator: ", "))]" }
    if kind.answered > 0, !isAnswer, !isPlainLines { text += ", answered: true" }
    if kind.isInOrder, !isPlainLines { text += ", in-order: true" }
    if let number = kind.number, numberPaths.count > 1, commonPath == nil, !isPlainLines {
      text += ", number: \(Self.quoted(number))"
    }
    if isAnswer, refuses(index) {
      text += ", refuses: always"
    } else if isAnswer, let status = guess.status, status.kinds.contains(index) {
      text += ", refuses: true"
    }
    if guess.parts.contains(.side) {
      text += ", from: \(kind.type.hasPrefix("server") ? "server" : "client")"
    }
    if isPlainLines { text += ", body: raw" }
    text += " }"
    let span =
      kind.shortest == kind.longest
      ? Self.number(kind.longest) : "\(Self.number(kind.shortest)) to \(Self.number(kind.longest))"
    var comment = "\(Self.number(kind.counts[0])) c2s, \(Self.number(kind.counts[1])) s2c, of \(span) bytes"
    if isAnswer {
      comment += "; answers in \(Self.share(kind.answering, kind.total))\(kind.isInOrder ? ", by turns" : "")"
    }
    if kind.answered > 0, !isAnswer { comment += "; \(Self.number(kind.answered)) answered" }
    if isPlainLines, let number = kind.number { comment += "; word \(number) is repeated by the other side" }
    line(text, comment)
  }

  /// Whether an answer's type itself means an error, since the same frames have another answer that does not.
  func refuses(_ index: Int) -> Bool {
    let name = names[index]
    guard ["error", "nack", "fail", "reject", "_err"].contains(where: { name.contains($0) }) || name == "err" else {
      return false
    }
    return guess.kinds.indices.contains { other in
      other != index && guess.kinds[other].answers.keys.contains { guess.kinds[index].answers[$0] != nil }
    }
  }

  /// RESP commands and their replies, which come in order.
  mutating func commands() {
    var client = 0
    var server = 0
    for kind in guess.kinds {
      let words = kind.type.split(separator: " ")
      guard words.count == 2 else { continue }
      let comment = "\(Self.number(kind.counts[0])) c2s, \(Self.number(kind.counts[1])) s2c"
      if words[0] == "client", words[1].lowercased() == "ping" {
        guard client == 0 else { continue }
        line(
          "  \"client PING\": { name: ping, role: heartbeat, answered: true, in-order: true, from: client }", comment)
        client = 1
      } else if words[0] == "server", ["message", "pmessage", "smessage"].contains(words[1]) {
        line("  \"server \(words[1])\": { name: \(words[1]), role: message, from: server }", comment)
      } else if words[0] == "server", words[1] == "error" {
        server = 1
        line(
          "  \"server error\": { name: error, role: acknowledgment, answers: [command\(hasPing ? ", ping" : "")], in-order: true, refuses: always, from: server }",
          comment)
      }
    }
    _ = server
    let commands = guess.kinds.filter { $0.type.hasPrefix("client") }
    line(
      "  \"client *\": { name: command, role: message, answered: true, in-order: true, from: client }",
      "\(Self.number(commands.count)) commands: \(commands.prefix(12).compactMap { $0.type.split(separator: " ").last.map(String.init) }.joined(separator: ", "))"
    )
    line(
      "  \"server *\": { name: reply, role: acknowledgment, answers: [command\(hasPing ? ", ping" : "")], in-order: true, from: server }",
      "replies come in the order of commands")
  }

  var hasPing: Bool { guess.kinds.contains { $0.type.lowercased() == "client ping" } }
}
