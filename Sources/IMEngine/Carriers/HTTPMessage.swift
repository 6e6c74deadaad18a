/// The head of an HTTP/1.1 message (RFC 9112), as far as it says where the message ends.
struct HTTPMessage: Equatable {
  /// What is at a place.
  enum Outcome: Equatable {
    /// No head of a message.
    case none
    /// As far as it goes, one.
    case needMore
    /// A head of so many bytes.
    case message(HTTPMessage, count: Int)
  }

  /// The most bytes of a head.
  static let longest = 16 << 10

  /// An answer's status; `nil` for a request.
  var status: Int?
  /// What a request is.
  var request = HTTPExchanges.Request.other
  /// The length that a field gives; `nil` where none does.
  var length: UInt64?
  /// Whether the body comes in chunks.
  var isChunked = false

  /// Reads the bytes between `start` and `end`.
  static func read(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Outcome {
    guard start < end else { return .needMore }
    let limit = min(end, start + longest)
    // The first line: METHOD TARGET HTTP/1.x, or HTTP/1.x STATUS REASON.
    var lineEnd = start
    while lineEnd < limit, bytes.u8(lineEnd) != 0x0a {
      let byte = bytes.u8(lineEnd)
      // It is nothing but text; a brace begins an argument of other protocols whose commands have the same names.
      guard byte >= 0x20 && byte != 0x7b || byte == 0x0d else { return .none }
      lineEnd += 1
    }
    let isAnswer = bytes.u8(start) == 0x48 && (end - start < 2 || bytes.u8(start + 1) == 0x54)
    guard beginsRight(bytes, start, lineEnd, isAnswer: isAnswer) else { return .none }
    guard lineEnd < limit else { return end - start < longest ? .needMore : .none }
    var message = HTTPMessage()
    if isAnswer {
      guard let status = status(bytes, start, lineEnd) else { return .none }
      message.status = status
    } else {
      // ... SP HTTP/1.1 CR
      let version = lineEnd - 9
      guard lineEnd - start >= 14, bytes.u8(lineEnd - 1) == 0x0d, bytes.u8(version - 1) == 0x20,
        bytes.u32(version) == 0x4854_5450, bytes.u8(version + 4) == 0x2f, bytes.u8(version + 5) == 0x31
      else { return .none }
      message.request =
        bytes.u32(start) == 0x4845_4144 ? .head : bytes.u32(start) == 0x434f_4e4e ? .connect : .other
    }
    var at = lineEnd + 1
    while true {
      var next = at
      while next < limit, bytes.u8(next) != 0x0a { next += 1 }
      guard next < limit else { return end - start < longest ? .needMore : .none }
      if next == at || (next == at + 1 && bytes.u8(at) == 0x0d) { return .message(message, count: next + 1 - start) }
      guard message.take(bytes, at, next) else { return .none }
      at = next + 1
    }
  }

  /// What an answer begins with, and the methods of RFC 9110 and RFC 5789, each with the blank after it.
  private static let answer: StaticString = "HTTP/1."
  private static let methods: [StaticString] = [
    "GET ", "HEAD ", "POST ", "PUT ", "DELETE ", "CONNECT ", "OPTIONS ", "TRACE ", "PATCH ",
  ]

  private static func beginsRight(_ bytes: borrowing Bytes, _ start: Int, _ end: Int, isAnswer: Bool) -> Bool {
    if isAnswer { return begins(bytes, start, end, answer) }
    for method in methods where begins(bytes, start, end, method) { return true }
    return false
  }

  /// Whether the text between `start` and `end` begins with `words`, or is a beginning of them.
  private static func begins(_ bytes: borrowing Bytes, _ start: Int, _ end: Int, _ words: StaticString) -> Bool {
    for i in 0..<min(words.utf8CodeUnitCount, end - start) where bytes.u8(start + i) != words.utf8Start[i] {
      return false
    }
    return true
  }

  private static func status(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Int? {
    guard end - start >= 12, bytes.u8(start + 8) == 0x20 else { return nil }
    let digits = (9...11).map { Int(bytes.u8(start + $0)) - 0x30 }
    guard digits.allSatisfy({ (0...9).contains($0) }), digits[0] > 0 else { return nil }
    return digits[0] * 100 + digits[1] * 10 + digits[2]
  }

  /// Takes a field's line between `start` and `end`; false where it is none.
  private mutating func take(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Bool {
    var colon = start
    while colon < end, bytes.u8(colon) != 0x3a {
      guard bytes.u8(colon) > 0x20, bytes.u8(colon) < 0x7f else { return false }
      colon += 1
    }
    guard colon < end, colon > start else { return false }
    if Self.isName("content-length", bytes, start, colon) {
      var value: UInt64 = 0
      for i in colon + 1..<end {
        let byte = bytes.u8(i)
        if byte == 0x20 || byte == 0x09 || byte == 0x0d { continue }
        guard (0x30...0x39).contains(byte), value < 1 << 48 else { return false }
        value = value * 10 + UInt64(byte - 0x30)
      }
      length = value
    } else if Self.isName("transfer-encoding", bytes, start, colon) {
      isChunked = true
    }
    return true
  }

  private static func isName(_ name: StaticString, _ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> Bool {
    guard end - start == name.utf8CodeUnitCount else { return false }
    for i in 0..<name.utf8CodeUnitCount where bytes.u8(start + i) | 0x20 != name.utf8Start[i] | 0x20 { return false }
    return true
  }

  /// The length of a chunk's size line, or of the last chunk with its trailer, at `start`, and that of what follows the line; `nil` where
  /// none is there, a count of 0 where more bytes are needed.
  static func chunk(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> (count: Int, body: UInt64, isLast: Bool)? {
    var size: UInt64 = 0, at = start
    while at < end {
      let byte = bytes.u8(at), letter = byte | 0x20
      let digit = (0x30...0x39).contains(byte) ? byte - 0x30 : (0x61...0x66).contains(letter) ? letter - 0x57 : 16
      guard digit < 16 else { break }
      size = size << 4 | UInt64(digit)
      at += 1
      guard at - start <= 12 else { return nil }
    }
    guard at > start || at == end else { return nil }
    let limit = min(end, start + longest)
    while at < limit, bytes.u8(at) != 0x0a {
      guard bytes.u8(at) >= 0x20 || bytes.u8(at) == 0x0d else { return nil }
      at += 1
    }
    guard at < limit else { return end - start < longest ? (0, 0, false) : nil }
    // The line, the chunk and its end of line.
    guard size == 0 else { return (at + 1 - start, size + 2, false) }
    // An empty line ends the trailer.
    var line = at + 1
    while line < limit {
      var next = line
      while next < limit, bytes.u8(next) != 0x0a { next += 1 }
      guard next < limit else { break }
      if next - line <= 1 { return (next + 1 - start, 0, true) }
      line = next + 1
    }
    return end - start < longest ? (0, 0, false) : nil
  }
}
