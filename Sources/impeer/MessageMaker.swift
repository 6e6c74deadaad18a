import IMEndpoint

/// Makes the messages of a load: encoded once for each kind and size, and marked anew for each message.
struct MessageMaker {
  private struct Template {
    var body: [UInt8]
    /// Where the mark stands; nil in kinds that have no text.
    var mark: Int?
    var category: SequenceCategory
  }

  private struct Key: Hashable {
    var kind: Mix.Kind
    var size: Int
  }

  private let mix: Mix
  private let sizes: ClosedRange<Int>
  private var templates: [Key: Template] = [:]

  init(_ mix: Mix, sizes: ClosedRange<Int>) {
    self.mix = mix
    self.sizes = sizes
  }

  /// The body of message `number` of a client.
  mutating func body(client: Int, number: UInt64) -> ([UInt8], SequenceCategory) {
    let size = sizes.lowerBound + Int((number &* 2_654_435_761) % UInt64(sizes.count))
    let key = Key(kind: mix.kind(of: number), size: size)
    let template = templates[key] ?? make(key)
    var body = template.body
    if let place = template.mark { Mark(client: client, number: number).write(to: &body, at: place) }
    return (body, template.category)
  }

  /// The body of a message of a backlog: 1,000 bytes that do not compress, so that a link's rate says how long it takes.
  static func backlogBody(client: Int, number: UInt64) -> [UInt8] {
    Message(.custom(Array(Mark(client: client, number: number).text.utf8) + noise(backlogSize - Mark.byteCount)))
      .encoded
  }

  /// Bytes of such a message.
  static var backlogSize: Int { 1_000 }

  private mutating func make(_ key: Key) -> Template {
    let message = Message(Self.content(key.kind, size: key.size))
    let body = message.encoded
    let template = Template(body: body, mark: Mark.place(in: body[...]), category: message.category)
    templates[key] = template
    return template
  }

  private static func content(_ kind: Mix.Kind, size: Int) -> MessageContent {
    let mark = Mark(client: 0, number: 0).text
    switch kind {
    case .text: return .text(mark + words(size - Mark.byteCount))
    case .image:
      return .image(
        .init(noise(size * 50), name: mark, mediaType: "image/jpeg", dimensions: .init(width: 1_024, height: 768)))
    case .audio: return .audio(.init(noise(size * 20), name: mark, mediaType: "audio/ogg", duration: 4_000))
    case .video: return .video(.init(noise(size * 200), name: mark, mediaType: "video/mp4", duration: 9_000))
    case .file: return .file(.init(noise(size * 100), name: mark))
    case .location: return .location(.init(latitude: 525_200_000, longitude: 134_050_000, name: mark))
    case .custom: return .custom(Array(mark.utf8) + noise(size - Mark.byteCount))
    case .typing: return .typing(true)
    case .status: return .status(.away, mark)
    }
  }

  /// Text that compresses as text does.
  private static func words(_ count: Int) -> String {
    let words = "see you at the station in ten minutes, the train is late again and the lift does not work "
    var text = ""
    while text.utf8.count < count { text += words }
    return String(text.prefix(max(0, count)))
  }

  /// Bytes that do not compress, as those of an image.
  private static func noise(_ count: Int) -> [UInt8] {
    var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    return (0..<max(0, count)).map { _ in
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return UInt8(truncatingIfNeeded: state >> 56)
    }
  }
}

/// What a load writes into each message, to know it again: `~client.number~` with fixed widths.
struct Mark: Equatable {
  var client: Int
  var number: UInt64

  /// Bytes of a mark.
  static var byteCount: Int { 22 }
  private static var clientDigits: Int { 7 }
  private static var numberDigits: Int { 12 }

  init(client: Int, number: UInt64) {
    self.client = client
    self.number = number
  }

  /// The mark in a body; nil where there is none.
  init?(in body: ArraySlice<UInt8>) {
    guard let place = Self.place(in: body) else { return nil }
    func value(_ from: Int, _ digits: Int) -> UInt64 {
      body[place + from..<place + from + digits].reduce(0) { $0 &* 10 &+ UInt64($1 &- 48) }
    }
    client = Int(value(1, Self.clientDigits))
    number = value(Self.clientDigits + 2, Self.numberDigits)
  }

  var text: String {
    var bytes = [UInt8](repeating: 0, count: Self.byteCount)
    write(to: &bytes, at: 0)
    return String(decoding: bytes, as: UTF8.self)
  }

  func write(to bytes: inout [UInt8], at place: Int) {
    bytes[place] = UInt8(ascii: "~")
    Self.digits(UInt64(client), Self.clientDigits, &bytes, place + 1)
    bytes[place + Self.clientDigits + 1] = UInt8(ascii: ".")
    Self.digits(number, Self.numberDigits, &bytes, place + Self.clientDigits + 2)
    bytes[place + Self.byteCount - 1] = UInt8(ascii: "~")
  }

  private static func digits(_ value: UInt64, _ count: Int, _ bytes: inout [UInt8], _ place: Int) {
    var rest = value
    for i in stride(from: place + count - 1, through: place, by: -1) {
      bytes[i] = 48 + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
  }

  /// Where a mark begins in a body.
  static func place(in body: ArraySlice<UInt8>) -> Int? {
    guard body.count >= byteCount else { return nil }
    for place in body.startIndex...body.endIndex - byteCount where body[place] == UInt8(ascii: "~") {
      let mark = body[place..<place + byteCount]
      let isDigit = { (offset: Int) in (48...57).contains(mark[place + offset]) }
      if mark[place + clientDigits + 1] == UInt8(ascii: "."), mark[place + byteCount - 1] == UInt8(ascii: "~"),
        (1...clientDigits).allSatisfy(isDigit), (clientDigits + 2..<byteCount - 1).allSatisfy(isDigit)
      {
        return place
      }
    }
    return nil
  }
}
