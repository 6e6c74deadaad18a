import IMEngine

/// What a capture tells of a protocol that nobody has described: each finding with the frames that agree.
package struct GuessedProtocol: Sendable {
  /// A share of frames.
  package struct Share: Equatable, Sendable {
    /// Frames that agree, and all that were asked.
    package var agree: Int, of: Int
  }

  /// A constant at the beginning of frames.
  package struct Constant: Equatable, Sendable {
    /// Its first byte, from the frame's first.
    package var offset: Int
    /// Its bytes.
    package var bytes: [UInt8]
    /// Frames that have it.
    package var share: Share
  }

  /// A length inside of delimited frames.
  package struct InnerLength: Equatable, Sendable {
    /// Where it stands; what is added to it gives the length of the content.
    package var place: NumberPlace
    /// What is added.
    package var adds: Int
    /// Frames for which that holds.
    package var share: Share
  }

  /// A type of frames.
  package struct Kind: Equatable, Sendable {
    /// Its value; of lines, the place of their word.
    package var value: UInt64
    /// The word that begins its lines; `nil` where frames have no words.
    package var word: String?
    /// Frames of clients and of servers.
    package var counts: [Int] = [0, 0]
    /// The shortest and the longest frame.
    package var shortest = Int.max, longest = 0
    /// Bits of the first byte that all its frames have, which are not part of the type.
    package var flags: UInt8 = 0
    /// Whether `flags` was the same in all frames.
    package var hasFlags = true
    /// The types whose numbers it repeats, by value, with the frames that repeat one.
    package var answers: [UInt64: Int] = [:]
    /// Where a number stands that names the message, from the body's first byte; `nil` where the header's does.
    package var body: NumberPlace?
    /// Frames that answer, of all its frames.
    package var answering = Share(agree: 0, of: 0)
    /// Frames of clients and of servers that answer.
    package var answeringBySide = [0, 0]
    /// Frames of it that are answered.
    package var answered = 0

    /// All its frames.
    package var total: Int { counts[0] + counts[1] }
  }

  /// How frames end.
  package var framing: FoundFraming
  /// The frames.
  package var table: FrameTable
  /// The header's length: the end of the last field that was found, where nothing else tells.
  package var headerCount = 0
  /// Whether the length, the body's checksum, or nothing but the fields tell the header's length.
  package var headerIsCertain = false
  /// The magic number, and the version.
  package var magic: Constant?, version: Constant?
  /// A length in delimited frames.
  package var innerLength: InnerLength?
  /// The field that tells types; without one, `kinds` has one entry.
  package var type: FoundType?
  /// The types, at most 63, by value.
  package var kinds: [Kind] = []
  /// Types beyond those in `kinds`.
  package var kindsLeftOut = 0
  /// The number of messages.
  package var number: FoundNumber?
  /// Other fields that behave like one.
  package var otherNumbers: [FoundNumber] = []
  /// Bits of the number that count, where those above are a category.
  package var numberBits: Int?
  /// The checksum.
  package var checksum: FoundChecksum?
  /// The sender's clock, in seconds, or in milliseconds.
  package var time: (place: NumberPlace, isMilliseconds: Bool, share: Share)?
  /// What is the same in all frames of a connection and differs between connections.
  package var session: (place: NumberPlace, values: Int, connections: Int, share: Share)?
  /// The content after the header, if its ends prove the framing.
  package var content: FoundContent?
  /// The result of a test on the bytes that were held out of a first guess.
  package var heldOut: HeldOut?

  /// The result of a test on connections, or on the last quarter of the only one, that were held out of the guess.
  package struct HeldOut: Equatable, Sendable {
    /// The number of connections held out; 0 if the last quarter of the only one was.
    package var connections = 0
    /// The number of bytes held out, and of those in frames.
    package var bytes = 0, explained = 0
    /// The number of frames, and of those with a type seen before.
    package var frames = 0, known = 0
    /// Whether the guess ends frames in the same way as the guess from all bytes.
    package var isSameFraming = false

    /// Nothing was held out.
    package init() {}
  }
}

extension GuessedProtocol {
  /// Guesses the protocol of `samples`; `nil` where no framing is proved. `seconds` is when the capture was made, in seconds
  /// since 1970.
  ///
  /// `content` is the content found after headers whose length is a number: then only the header is analyzed.
  package init?(_ samples: [StreamSample], seconds: ClosedRange<Int64>, content: FoundContent? = nil) {
    self.init(all: samples, seconds: seconds, content: content)
    heldOut = holdOut(samples, seconds)
  }

  /// Tests a guess from some of the samples on the others.
  private func holdOut(_ samples: [StreamSample], _ seconds: ClosedRange<Int64>) -> HeldOut? {
    let chosen = HeldOutConnections(samples.map(\.connection))
    let learning: [StreamSample]
    let last: [StreamSample]
    if chosen.connections.isEmpty {
      let parts = samples.map { $0.split() }
      (learning, last) = (parts.map(\.first), parts.compactMap(\.last))
    } else {
      learning = samples.filter { !chosen.contains($0.connection) }
      last = samples.filter { chosen.contains($0.connection) }
    }
    guard !last.isEmpty, let learned = GuessedProtocol(all: learning, seconds: seconds, content: content) else {
      return nil
    }
    var held = HeldOut()
    held.connections = chosen.connections.count
    let walk = FrameWalk(last.views(), learned.framing.hypothesis, limit: .max)
    (held.bytes, held.explained) = (walk.byteCount, walk.explainedCount)
    held.isSameFraming = FramingFinder.isSame(learned.framing, framing)
    let table = FrameTable(last, learned.framing.hypothesis)
    held.frames = table.entries.count
    let words = Set(learned.kinds.compactMap(\.word))
    let values = Set(learned.kinds.map(\.value))
    table.bytes.withUnsafeBufferPointer { bytes in
      for entry in table.entries {
        if words.isEmpty {
          if let value = learned.kindValue(entry, bytes), values.contains(value) { held.known += 1 }
        } else if let word = Self.word(bytes, entry), words.contains(word) {
          held.known += 1
        }
      }
    }
    return held.frames > 0 ? held : nil
  }

  private init?(all samples: [StreamSample], seconds: ClosedRange<Int64>, content: FoundContent?) {
    self.content = content
    if let content {
      guard let framing = FoundFraming(content) else { return nil }
      self.framing = framing
    } else {
      guard let framing = FramingFinder.find(samples) else { return nil }
      self.framing = framing
    }
    table = FrameTable(samples, framing.hypothesis)
    guard table.entries.count >= 4 else { return nil }
    if case .line = framing.hypothesis {
      findWords()
      return
    }
    var claimed: Set<Int> = []
    var width = min(40, table.leastCount)
    var littleEndian = false
    switch framing.hypothesis {
    case .length(let place, let adds):
      claimed.formUnion(place.offset..<place.end)
      littleEndian = place.isLittleEndian
      if adds > place.end { width = min(width, adds) }
    case .varint(let offset):
      claimed.insert(offset)
      width = min(width, offset)
    case .delimited:
      innerLength = findInnerLength(width)
      if let inner = innerLength { claimed.formUnion(inner.place.offset..<inner.place.end) }
    case .line: break
    }
    if let content, case .counted(_, let header) = content.framing { width = min(width, header) }
    checksum = ChecksumFinder(table, claimed: claimed, width: width).find()
    if let sum = checksum {
      switch sum.place {
      case .header(let at): claimed.formUnion(at..<at + sum.algorithm.byteCount)
      case .trailer: width = min(width, table.leastCount - sum.algorithm.byteCount)
      }
    }
    time = findTime(claimed, width, seconds)
    if let time { claimed.formUnion(time.place.offset..<time.place.end) }
    let numbers = NumberFinder(table, claimed: claimed, width: width, prefersLittle: littleEndian).find()
    number = numbers.first
    if let number { claimed.formUnion(number.place.offset..<number.place.end) }
    type = TypeFinder(table, claimed: claimed, width: min(width, 24), prefersLittle: littleEndian).find()
    if let type { claimed.formUnion(type.place.offset..<type.place.end) }
    otherNumbers = numbers.dropFirst().filter { number in
      !(number.place.offset..<number.place.end).contains(where: claimed.contains)
    }
    for other in otherNumbers { claimed.formUnion(other.place.offset..<other.place.end) }
    findConstants(claimed, width)
    for constant in [magic, version].compactMap({ $0 }) {
      claimed.formUnion(constant.offset..<constant.offset + constant.bytes.count)
    }
    session = findSession(claimed, width)
    if let session { claimed.formUnion(session.place.offset..<session.place.end) }
    numberBits = findNumberBits()
    settleHeader(claimed)
    if let content, case .counted(_, let header) = content.framing { (headerCount, headerIsCertain) = (header, true) }
    findKinds()
    findAnswers()
  }
}
