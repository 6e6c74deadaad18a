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

  /// A request's path goes; an answer has none.
  private static func first(_ line: [UInt8]) -> [UInt8] {
    guard !line.starts(with: "HTTP/".utf8), let from = line.firstIndex(of: 0x20), let to = line.lastIndex(of: 0x20),
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
