import Glibc
import IMEndpoint

/// Reads a text in UTF-8 of at most 64 MiB.
func readText(_ path: String) throws(Complaint) -> String {
  let longest = 64 << 20
  guard let file = fopen(path, "re") else {
    throw Complaint("open \(path): \(String(cString: strerror(errno)))", .noInput)
  }
  defer { fclose(file) }
  var bytes: [UInt8] = []
  var piece = [UInt8](repeating: 0, count: 65_536)
  while bytes.count <= longest {
    let count = fread(&piece, 1, piece.count, file)
    guard count > 0 else { break }
    bytes += piece[..<count]
  }
  guard bytes.count <= longest, let text = String(validating: bytes, as: UTF8.self) else {
    throw Complaint("\(path) is not UTF-8 text of at most 64 MiB", .data)
  }
  return text
}

/// The tokens of a server's users: a user's name and the token on each line.
struct TokenFile: Sendable {
  private var tokens: [String: [UInt8]] = [:]

  init(_ path: String) throws(Complaint) {
    for line in try readText(path).split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
      guard parts.count == 2, !parts[1].isEmpty else {
        throw Complaint("\(path): expected a user name and a token on each line", .data)
      }
      tokens[parts[0]] = Array(parts[1].utf8)
    }
  }

  /// Whether a client may go by the name that it gives.
  func admits(_ credentials: Credentials) -> Bool {
    guard let user = credentials.user, let expected = tokens[user] else { return false }
    return credentials.tokenIs(expected)
  }
}
