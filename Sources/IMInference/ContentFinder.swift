import IMContent

/// A framing that the contents of its frames prove.
package struct FoundContent: Sendable {
  /// The rule by which frames end.
  package let framing: ContentFraming
  /// The content of frames.
  package let shape: ContentShape
  /// The number of frames, and of those whose content closes.
  package let frameCount: Int, closedCount: Int
  /// The number of bytes examined, and of those in frames whose content closes.
  package let byteCount: Int, explainedCount: Int
  /// The number of counted segment starts at which a frame begins, and of all counted segment starts.
  package let hits: Int, chances: Int
  /// The number of positions at which an expected frame did not begin.
  package let errors: Int
  /// The length of the longest frame, in bytes.
  package let longest: Int

  init(_ framing: ContentFraming, _ shape: ContentShape, _ walk: ContentWalk) {
    (self.framing, self.shape) = (framing, shape)
    frameCount = walk.frames.count
    closedCount = walk.frames.count - walk.misfits
    (byteCount, explainedCount) = (walk.byteCount, walk.explainedCount)
    (hits, chances, errors) = (walk.hits, walk.chances, walk.errors)
    longest = walk.frames.map(\.extent.frame.count).max() ?? 0
  }
}

/// Finds framings by the content of frames: text, JSON, XML, RESP, pairs, Protocol Buffers, MessagePack, BER.
///
/// A wrong framing cuts frames in half, and half a JSON text does not close. So a framing is accepted if nearly all bytes are in frames whose content
/// closes exactly; no number in a header has to be trusted for that.
struct ContentFinder {
  private let views: [SampleView]
  /// The number of text bytes, and of all bytes examined.
  private var textCount = 0, byteCount = 0
  /// The first bytes of the segments that count.
  private var heads: [(view: Int, at: Int)] = []

  init(_ samples: [StreamSample]) {
    views = samples.views()
    for (index, view) in views.enumerated() {
      for byte in view.bytes.prefix(64 << 10) {
        byteCount += 1
        if byte >= 0x20 && byte != 0x7f || [0x09, 0x0a, 0x0d].contains(byte) { textCount += 1 }
      }
      // A limit for each sample, so that both sides count.
      for start in view.telling.prefix(200) where heads.count < 4_096 { heads.append((index, start)) }
    }
  }

  /// Whether nearly all bytes are text.
  var isText: Bool {
    guard byteCount > 0 else { return false }
    // A binary header has a byte below 0x20 in every frame. Non-ASCII bytes are letters only among ASCII ones.
    return byteCount - textCount <= byteCount / 1_000 && asciiShare >= 0.7
  }

  /// Whether most segments begin with a complete JSON text.
  var isJSON: Bool {
    let count = heads.count { head in
      let view = views[head.view]
      let run = view.runs.first { $0.contains(head.at) } ?? head.at..<view.bytes.count
      return MemberReader.endOfJSON(view.bytes[head.at..<run.upperBound]) != nil
    }
    return !heads.isEmpty && count * 2 > heads.count
  }

  private var asciiShare: Double {
    var ascii = 0
    var all = 0
    for view in views {
      for byte in view.bytes.prefix(16 << 10) {
        all += 1
        if byte < 0x80 { ascii += 1 }
      }
    }
    return all > 0 ? Double(ascii) / Double(all) : 0
  }

  private func share(_ isOne: (UInt8) -> Bool) -> Double {
    guard !heads.isEmpty else { return 0 }
    return Double(heads.count { isOne(views[$0.view].bytes[$0.at]) }) / Double(heads.count)
  }

  private func believed(_ framing: ContentFraming, _ shape: ContentShape) -> FoundContent? {
    let walk = ContentWalk(views, framing, shape)
    return walk.isBelieved ? FoundContent(framing, shape, walk) : nil
  }

  // MARK: Messages

  /// The framing of samples whose runs are WebSocket messages.
  func findInMessages() -> FoundContent? {
    var lasts: [UInt8: Int] = [:]
    var digits = 0
    var values: Set<[UInt8]> = []
    var count = 0
    for view in views {
      for run in view.runs {
        count += 1
        lasts[view.bytes[run.upperBound - 1], default: 0] += 1
        let lead = view.bytes[run].prefix { $0 &- 0x30 < 10 }
        if !lead.isEmpty { digits += 1 }
        if lead.count > 1 { values.insert(Array(lead.prefix(2))) }
      }
    }
    guard count >= 4 else { return nil }
    if lasts[0x1e, default: 0] * 10 >= count * 9,
      let found = believed(.records(0x1e), ContentShape(.json))
    {
      return found
    }
    if let found = believed(.message, ContentShape(.json)) { return found }
    if digits * 10 >= count * 8 {
      let most = !values.isEmpty && values.count <= 16 ? 2 : 1
      if let found = believed(.message, ContentShape(.json, lead: most)) { return found }
    }
    for kind in [ContentKind.messagepack, .protobuf] where !isText {
      if let found = believed(.message, ContentShape(kind)), isTold(found) { return found }
    }
    return nil
  }

  // MARK: Streams

  /// The framing of TCP streams.
  func find() -> FoundContent? {
    if share({ Array("*$+-:_#,(=%~>!".utf8).contains($0) }) >= 0.8,
      let found = believed(.resp, ContentShape(.resp))
    {
      return found
    }
    if share({ $0 == 0x3c || $0 == 0x20 }) >= 0.6, let found = believed(.xml, ContentShape(.xml)) { return found }
    if share({ $0 == 0x38 }) >= 0.6, let found = believed(.pairs, ContentShape(.pairs)) { return found }
    if let found = findJSON() { return found }
    if share({ $0 == 0x30 }) >= 0.8, let found = believed(.counted(.ber, header: 2), ContentShape(.ber)),
      isTold(found)
    {
      return found
    }
    if share({ (0x21...0x7e).contains($0) || $0 == 0x0a }) >= 0.9 {
      let length = "content-length"
      if let found = believed(
        .blocks(ends: [0], length: length, ignoresCase: false), ContentShape(.headers)), found.frameCount > 4
      {
        return found
      }
      if let found = believed(.blocks(ends: [], length: length, ignoresCase: true), ContentShape(.headers)) {
        return found
      }
      // Damaged JSON, and JSON without a terminator, are not lines of words.
      if share({ $0 == 0x7b || $0 == 0x5b }) < 0.5, let found = findLines() { return found }
    }
    return nil
  }

  /// Contents in binary frames: MessagePack or Protocol Buffers after a length and nothing else.
  func findBinary() -> FoundContent? {
    guard !isText else { return nil }
    for kind in [ContentKind.messagepack, .protobuf] {
      for size in [4, 2] {
        for adds in [size, 0] {
          let length = ContentFraming.Length.number(NumberPlace(offset: 0, size: size), adds: adds)
          if let found = believed(.counted(length, header: size), ContentShape(kind)), isTold(found) { return found }
        }
      }
    }
    for kind in [ContentKind.messagepack, .protobuf] {
      if let found = believed(.counted(.varint(0), header: 1), ContentShape(kind)), isTold(found) {
        return found
      }
    }
    return nil
  }

  /// Whether a binary content has enough evidence to rule out chance: nearly all frames close, and segments begin with frames.
  private func isTold(_ found: FoundContent) -> Bool {
    found.frameCount >= 12 && found.closedCount * 100 >= found.frameCount * 99
      && found.explainedCount * 100 >= found.byteCount * 97 && found.explainedCount >= 6 * found.frameCount
      && found.hits * 10 >= found.chances * 9 && found.errors == 0
  }

  /// JSON texts that follow a length, decimal digits or a header, or that certain bytes end.
  private func findJSON() -> FoundContent? {
    var headers: [Int: Int] = [:]
    var places: [(view: Int, at: Int, header: Int, end: Int)] = []
    var ends: [[UInt8]: Int] = [:]
    for (index, start) in heads.prefix(2_048) {
      let bytes = views[index].bytes
      let run = views[index].runs.first { $0.contains(start) } ?? start..<bytes.count
      guard
        let open = bytes[start..<min(run.upperBound, start + 40)].firstIndex(where: { $0 == 0x7b || $0 == 0x5b }),
        let end = MemberReader.endOfJSON(bytes[open..<run.upperBound])
      else { continue }
      headers[open - start, default: 0] += 1
      places.append((index, start, open - start, end))
      let rest = bytes[end..<min(run.upperBound, end + 2)]
      if rest.starts(with: [0x0d, 0x0a]) {
        ends[[0x0d, 0x0a], default: 0] += 1
      } else if let byte = rest.first, ![0x7b, 0x5b, 0x2c].contains(byte) {
        ends[[byte], default: 0] += 1
      }
    }
    guard places.count >= 4, places.count * 2 >= min(2_048, heads.count) else { return nil }
    let shape = ContentShape(.json)
    if headers[0, default: 0] * 10 >= places.count * 9 {
      for (end, _) in ends.sorted(by: { (-$0.value, $0.key.count) < (-$1.value, $1.key.count) }).prefix(3) {
        if let found = believed(.terminated(begins: [], ends: end), shape) { return found }
      }
      return nil
    }
    if let found = believed(.counted(.decimal, header: 1), shape) { return found }
    let header = headers.max { ($0.value, -$0.key) < ($1.value, -$1.key) }?.key ?? 0
    let alike = places.filter { $0.header == header }
    for candidate in lengths(header, alike) {
      if let found = believed(.counted(candidate, header: header), shape) { return found }
    }
    for offset in 0...4 {
      if let found = believed(.counted(.varint(offset), header: offset + 1), shape) { return found }
    }
    // The same bytes before each text, and other bytes after it.
    if let first = alike.first, header <= 4 {
      let begins = Array(views[first.view].bytes[first.at..<first.at + header])
      for (end, _) in ends.sorted(by: { (-$0.value, $0.key.count) < (-$1.value, $1.key.count) }).prefix(2) {
        for width in 1...2 {
          let bytes = views[first.view].bytes
          let full = Array(bytes[first.end..<min(bytes.count, first.end + width)])
          guard full.starts(with: end) else { continue }
          if let found = believed(.terminated(begins: begins, ends: full), shape) { return found }
        }
      }
    }
    return nil
  }

  /// Numbers in headers of `header` bytes that give the length of the texts after them, the widest first.
  private func lengths(
    _ header: Int, _ places: [(view: Int, at: Int, header: Int, end: Int)]
  ) -> [ContentFraming.Length] {
    var found: [ContentFraming.Length] = []
    for size in [4, 2, 3, 1] {
      for offset in 0..<max(0, header) where offset + size <= header {
        for little in size > 1 ? [false, true] : [false] {
          let place = NumberPlace(offset: offset, size: size, isLittleEndian: little)
          var votes: [Int: Int] = [:]
          for one in places {
            let value = views[one.view].bytes.withUnsafeBufferPointer { place.read($0, one.at, one.end) }
            guard let value, value <= 1 << 24 else { continue }
            votes[one.end - one.at - Int(value), default: 0] += 1
          }
          // The number may also count a trailer after the text.
          guard let best = votes.max(by: { ($0.value, $0.key) < ($1.value, $1.key) }),
            best.value * 10 >= places.count * 8,
            (0...header).contains(best.key)
          else { continue }
          found.append(.number(place, adds: best.key))
        }
      }
    }
    return found
  }

  // MARK: Lines

  /// Lines, some of which give the length of a body after them.
  private func findLines() -> FoundContent? {
    guard isText else { return nil }
    var tally: [String: (fits: Int, all: Int)] = [:]
    for view in views {
      for run in view.runs {
        var position = run.lowerBound
        while position < run.upperBound,
          let (text, next) = ContentFraming.plainLine(view.bytes, position, run.upperBound)
        {
          position = next
          guard let (first, count) = ContentFraming.words(view.bytes[text]) else { continue }
          guard tally[first] != nil || tally.count < 4_096 else { continue }
          var known = tally[first] ?? (0, 0)
          known.all += 1
          if let count, count <= run.upperBound - next - 2, view.bytes[next + count] == 0x0d,
            view.bytes[next + count + 1] == 0x0a
          {
            known.fits += 1
            position = next + count + 2
          }
          tally[first] = known
        }
      }
    }
    let counted = tally.filter { $0.value.fits >= 2 && $0.value.fits * 10 >= $0.value.all * 9 }.map(\.key).sorted()
    // Text written by people begins with any word.
    let all = tally.values.reduce(0) { $0 + $1.all }
    guard tally.count <= 63, tally.count * 2 <= all else { return nil }
    if !counted.isEmpty, counted.count <= 8, let found = believed(.lines(counted: counted), ContentShape(.words)) {
      return found
    }
    return believed(.lines(counted: []), ContentShape(.words))
  }
}
