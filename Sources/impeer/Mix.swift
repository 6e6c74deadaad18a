import IMCommandLine
import IMEndpoint

/// What messages a load consists of: kinds with their shares, `text=90,image=5,typing=5`.
struct Mix: Equatable {
  /// Kinds of messages.
  enum Kind: String, CaseIterable {
    case text
    case image
    case audio
    case video
    case file
    case location
    case custom
    case typing
    case status
  }

  var shares: [(kind: Kind, share: Int)] = [(.text, 100)]

  static func == (a: Mix, b: Mix) -> Bool { a.word == b.word }

  /// The kind of message `number`: the same for the same number, and spread in proportion to the shares.
  func kind(of number: UInt64) -> Kind {
    let total = shares.reduce(0) { $0 + $1.share }
    // A multiplier that shares no divisor with any total spreads the kinds evenly.
    var place = Int((number &* 7_919) % UInt64(max(1, total)))
    for entry in shares {
      if place < entry.share { return entry.kind }
      place -= entry.share
    }
    return .text
  }

  /// A message of `kind` with about `size` bytes of content, marked with its sender and its number.
  static func content(_ kind: Kind, mark: String, size: Int, number: UInt64) -> MessageContent {
    func filler(_ count: Int) -> [UInt8] {
      var state = number &* 0x9E37_79B9_7F4A_7C15
      return (0..<max(0, count)).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 56)
      }
    }
    switch kind {
    case .text: return .text(mark + padding(size - mark.utf8.count, number))
    case .image:
      return .image(
        .init(filler(size * 50), name: mark, mediaType: "image/jpeg", dimensions: .init(width: 1_024, height: 768)))
    case .audio: return .audio(.init(filler(size * 20), name: mark, mediaType: "audio/ogg", duration: 4_000))
    case .video: return .video(.init(filler(size * 200), name: mark, mediaType: "video/mp4", duration: 9_000))
    case .file: return .file(.init(filler(size * 100), name: mark))
    case .location:
      return .location(.init(latitude: 521_234_567, longitude: Int32(truncatingIfNeeded: 130_000_000 + number), name: mark))
    case .custom: return .custom(Array(mark.utf8) + filler(size - mark.utf8.count))
    case .typing: return .typing(number % 2 == 0)
    case .status: return .status(number % 2 == 0 ? .online : .away, mark)
    }
  }

  /// Words, so that text compresses as text does.
  private static func padding(_ count: Int, _ number: UInt64) -> String {
    let words = " see you at the station in ten minutes, the train is late again and the lift does not work"
    var text = ""
    while text.utf8.count < count { text += words.dropFirst(Int(number % 7)) }
    return String(text.prefix(max(0, count)))
  }
}

extension Mix: OptionValue {
  init?(word: String) {
    var shares: [(kind: Kind, share: Int)] = []
    for part in word.split(separator: ",") {
      let pair = part.split(separator: "=")
      guard let name = pair.first, let kind = Kind(rawValue: String(name)), pair.count <= 2,
        let share = pair.count == 2 ? Int(pair[1]) : 1, (1...1_000_000).contains(share)
      else { return nil }
      shares.append((kind, share))
    }
    guard !shares.isEmpty else { return nil }
    self.shares = shares
  }

  var word: String? { shares.map { "\($0.kind.rawValue)=\($0.share)" }.joined(separator: ",") }
  static var wanted: String {
    "KIND=SHARE[,...] is wanted, of " + Kind.allCases.map(\.rawValue).joined(separator: ", ")
  }
}
