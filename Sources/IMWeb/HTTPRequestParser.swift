/// Reads the head of an HTTP/1 request (RFC 9112) from bytes as they come, each of them once and in any pieces.
///
///     GET SP /metrics SP HTTP/1.1 CR LF      method, target and version, with one blank between them
///     Host: sensor CR LF                     a name, a colon, a value; as many as there are
///     CR LF
///
/// A head that the RFC lets a server refuse is refused, with the first byte that shows it: obsolete folding, a line that
/// ends in LF or CR alone, a name with a blank behind it or without a colon, control characters, another version, a
/// target that is neither a path nor an absolute one, no `Host` or two of them, and a length that could be read in two
/// ways. So no two readers of the same bytes disagree about them. What follows the head is not looked at.
struct HTTPRequestParser {
  /// What is known after the bytes so far.
  enum Outcome: Equatable {
    /// A sound head, as far as it goes.
    case needMore
    case request(HTTPRequest)
    case refusal(HTTPStatus)
  }

  /// The most bytes of a head, its last line end and empty lines in front of it included.
  static let longestHead = 8 << 10

  /// What the next byte is part of.
  private enum Place {
    /// The first byte, or an empty line in front of it.
    case start, startEnd
    case method, target, version, versionEnd
    /// The first byte of a line behind the first.
    case line, name, value, valueEnd
    case headEnd
  }

  /// A field whose value matters.
  private enum Field: String {
    case host, accept
    case contentLength = "content-length"
    case transferEncoding = "transfer-encoding"
  }

  /// What is known.
  private(set) var outcome = Outcome.needMore
  /// Bytes of the head so far.
  private(set) var count = 0
  /// The method, once it has been read.
  private(set) var method: HTTPRequest.Method?
  private var place = Place.start
  /// The bytes of the word that is being read, of a name in lower case.
  private var word: [UInt8] = []
  private var field: Field?
  private var path: [UInt8] = []
  private var accept: [UInt8] = []
  private var host: [UInt8] = []
  private var isHTTP10 = false
  private var hasHost = false, hasLength = false, hasEncoding = false

  /// A parser that has read nothing.
  init() {}

  /// Reads what has come, up to the end of the head. After that nothing changes what is known.
  mutating func take(_ bytes: Span<UInt8>) -> Outcome {
    for index in bytes.indices {
      guard case .needMore = outcome else { break }
      count += 1
      step(bytes[index])
      if case .needMore = outcome, count >= Self.longestHead { outcome = .refusal(.headTooLarge) }
    }
    return outcome
  }

  private mutating func refuse() { outcome = .refusal(.badRequest) }

  private mutating func step(_ byte: UInt8) {
    switch place {
    case .start where byte == .cr: place = .startEnd
    case .start, .method: stepMethod(byte)
    case .target: stepTarget(byte)
    case .version: stepVersion(byte)
    case .line where byte == .cr: place = .headEnd
    case .line, .name: stepName(byte)
    case .value: stepValue(byte)
    case .startEnd: expectLineEnd(byte, .start)
    case .versionEnd: expectLineEnd(byte, .line)
    case .valueEnd: expectLineEnd(byte, .line)
    case .headEnd: byte == .lf ? end() : refuse()
    }
  }

  private mutating func expectLineEnd(_ byte: UInt8, _ next: Place) {
    guard byte == .lf else { return refuse() }
    if place == .valueEnd { takeField() }
    place = next
  }

  // MARK: The request line

  private mutating func stepMethod(_ byte: UInt8) {
    if byte.isToken {
      place = .method
      word.append(byte)
    } else if byte == .space, place == .method {
      method = word == Self.get ? .get : word == Self.head ? .head : .other
      word.removeAll()
      place = .target
    } else {
      refuse()
    }
  }

  private mutating func stepTarget(_ byte: UInt8) {
    if byte.isVisible {
      word.append(byte)
    } else if byte == .space, !word.isEmpty {
      if method != .other { takeTarget() }
      word.removeAll()
      place = .version
    } else {
      refuse()
    }
  }

  /// The path of `/path?query` or of `http://authority/path?query`. Other forms are for other methods.
  private mutating func takeTarget() {
    var rest = word[...]
    if rest.first != .slash {
      guard rest.count > Self.scheme.count, rest.prefix(Self.scheme.count).map(\.lowercased) == Self.scheme else {
        return refuse()
      }
      rest = rest.dropFirst(Self.scheme.count)
      let authority = rest.prefix { $0 != .slash && $0 != .questionMark }
      guard !authority.isEmpty else { return refuse() }
      rest = rest.dropFirst(authority.count)
    }
    path = Array(rest.prefix { $0 != .questionMark })
  }

  private mutating func stepVersion(_ byte: UInt8) {
    if word.count < Self.version.count {
      guard byte == Self.version[word.count] else { return refuse() }
      word.append(byte)
    } else if word.count == Self.version.count {
      guard byte == .zero || byte == .zero + 1 else { return refuse() }
      isHTTP10 = byte == .zero
      word.append(byte)
    } else {
      guard byte == .cr else { return refuse() }
      word.removeAll()
      place = .versionEnd
    }
  }

  // MARK: Fields

  private mutating func stepName(_ byte: UInt8) {
    if byte.isToken {
      place = .name
      word.append(byte.lowercased)
    } else if byte == .colon, place == .name {
      field = Field(rawValue: String(decoding: word, as: UTF8.self))
      word.removeAll()
      place = .value
    } else {
      refuse()
    }
  }

  private mutating func stepValue(_ byte: UInt8) {
    if byte == .cr {
      place = .valueEnd
    } else if byte.isVisible || byte.isBlank || byte >= 0x80 {
      if field != nil { word.append(byte) }
    } else {
      refuse()
    }
  }

  private mutating func takeField() {
    let value = word.trimmingBlanks
    switch field {
    case nil: return
    case .host:
      if hasHost || !value.allSatisfy(\.isHost) { refuse() }
      hasHost = true
      host = Array(value)
    case .accept:
      if !accept.isEmpty { accept.append(.comma) }
      accept += value
    case .contentLength:
      if hasLength || hasEncoding || value.isEmpty || !value.allSatisfy(\.isDigit) { refuse() }
      hasLength = true
    case .transferEncoding:
      if hasLength || hasEncoding || isHTTP10 || value.map(\.lowercased) != Self.chunked { refuse() }
      hasEncoding = true
    }
    word.removeAll()
  }

  private mutating func end() {
    guard let method, hasHost || isHTTP10 else { return refuse() }
    outcome = .request(HTTPRequest(method: method, path: path, accept: accept, host: host))
  }

  private static let get = [UInt8]("GET".utf8), head = [UInt8]("HEAD".utf8)
  private static let scheme = [UInt8]("http://".utf8), version = [UInt8]("HTTP/1.".utf8)
  private static let chunked = [UInt8]("chunked".utf8)
}
