import IMFields

/// Rewrites the HTTP by which a connection becomes one of WebSocket frames.
enum HTTPRedaction {
  /// Fields whose values tell how the connection goes on, or are made of random bytes for it alone.
  private static let kept: Set<String> = [
    "upgrade", "connection", "sec-websocket-key", "sec-websocket-accept", "sec-websocket-version",
    "sec-websocket-protocol", "sec-websocket-extensions",
  ]

  /// What stands for `bytes`: the method, the version, the status and the fields' names stay, with the values of fields that
  /// WebSocket is told by; all other values are stand-ins.
  static func rewritten(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    for (number, line) in bytes.split(separator: 0x0a, omittingEmptySubsequences: false).enumerated() {
      if number > 0 { result.append(0x0a) }
      result += number == 0 ? first(Array(line)) : field(Array(line))
    }
    return result
  }

  /// A request's path goes, and what an answer says after its status, unless it is what the standard says.
  private static func first(_ line: [UInt8]) -> [UInt8] {
    if line.starts(with: "HTTP/".utf8) {
      let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
      guard words.count == 3 else { return line }
      let phrase = Array(words[2])
      let isUsual = phrase.prefix { $0 != 0x0d }.elementsEqual("Switching Protocols".utf8)
      return isUsual ? line : line[..<words[2].startIndex] + CharacterShape.text(phrase, .utf8)
    }
    guard let from = line.firstIndex(of: 0x20), let to = line.lastIndex(of: 0x20),
      from < to
    else { return line }
    return line[...from] + CharacterShape.text(Array(line[(from + 1)..<to]), .utf8) + line[to...]
  }

  private static func field(_ line: [UInt8]) -> [UInt8] {
    guard let colon = line.firstIndex(of: 0x3a) else { return CharacterShape.text(line, .utf8) }
    let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
    return kept.contains(name) ? line : line[...colon] + CharacterShape.text(Array(line[(colon + 1)...]), .utf8)
  }
}
