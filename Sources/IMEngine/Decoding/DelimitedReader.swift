#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// What stands between two delimiters, as places in the bytes that were searched.
struct DelimitedChunk {
  /// The first byte: a delimiter in front of the content, or the content itself.
  var start: Int
  /// The content, escapes and all, without the carriage return of a line.
  var content: Range<Int>
  /// Behind the delimiter that ends it.
  var end: Int
}

/// One reused buffer in which frames stand without their escapes.
///
/// The header lies so far in front of the body that the frame is as long here as it is on the wire: header, zeros for the
/// delimiters and escapes that were taken out, parts of the header, body, trailer. So offsets and lengths mean the same
/// everywhere.
struct FrameScratch: ~Copyable {
  private var buffer = RawBuffer()
  /// Where the header begins with its first byte as it came, and how many bytes follow from there.
  fileprivate var origin = 0, count = 0

  /// Everything that may be read; it is valid until the next frame.
  var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get { buffer.bytes }
  }

  /// The memory that `bytes` spans.
  var memory: (start: UnsafeRawPointer, count: Int) {
    (UnsafeRawPointer(buffer.pointer), buffer.capacity + RawBuffer.slack)
  }

  /// Takes the content of a chunk, without escapes; false if an escape precedes a byte that it may not precede.
  fileprivate mutating func take(
    _ bytes: borrowing Bytes, _ chunk: DelimitedChunk, _ framing: PlanFraming
  ) -> Bool {
    origin = chunk.end - chunk.start
    buffer.reserve(origin + chunk.content.count)
    let target = (buffer.pointer + origin).assumingMemoryBound(to: UInt8.self)
    var i = chunk.content.lowerBound
    let end = chunk.content.upperBound
    count = 0
    guard framing.escapes else {
      bytes.span.withUnsafeBytes { raw in
        if let base = raw.baseAddress { (buffer.pointer + origin).copyMemory(from: base + i, byteCount: end - i) }
      }
      count = end - i
      return true
    }
    while i < end {
      var byte = bytes.u8(i)
      i &+= 1
      if byte == framing.escape {
        guard i < end, let meant = framing.meaning(bytes.u8(i)) else { return false }
        byte = meant
        i &+= 1
      }
      target[count] = byte
      count &+= 1
    }
    return true
  }

  /// Moves the first `count` bytes of the header, less those of `parts`, to `start`, and writes zeros from there to the body
  /// at `body`, in front of which the parts stand. `start` is in front of where the header came.
  fileprivate mutating func place(_ headerCount: Int, at start: Int, body: Int, without parts: [Range<Int>]) {
    let kept = parts.flatMap { part in
      (0..<part.count).map { buffer.pointer.load(fromByteOffset: origin + part.lowerBound + $0, as: UInt8.self) }
    }
    var from = 0
    var to = start
    for part in parts + [headerCount..<headerCount] where part.lowerBound >= from {
      let length = part.lowerBound - from
      memmove(buffer.pointer + to, buffer.pointer + origin + from, length)
      to += length
      from = part.upperBound
    }
    if body > to { memset(buffer.pointer + to, 0, body - to) }
    guard body - to >= kept.count else { return }
    for (i, byte) in kept.enumerated() {
      buffer.pointer.storeBytes(of: byte, toByteOffset: body - kept.count + i, as: UInt8.self)
    }
  }
}

extension PlanFraming {
  /// The byte that `written` stands for behind an escape; `nil` where it may not stand there.
  @inline(__always)
  func meaning(_ written: UInt8) -> UInt8? {
    if replacementCount == 0 { return written == delimiter ? nil : written ^ escapeMask }
    for i in 0..<UInt32(replacementCount) where UInt8(truncatingIfNeeded: self.written &>> (i &* 8)) == written {
      return UInt8(truncatingIfNeeded: meant &>> (i &* 8))
    }
    return nil
  }
}

extension UnsafePointer<Plan> {
  /// The most bytes that a frame may have on the wire: every byte escaped, and some delimiters.
  var longestOnWire: Int {
    let framing = pointee.framing
    var count = Int(pointee.headerCount) + Int(pointee.maximumBody) + Int(framing.trailerCount)
    for i in 0..<Int(framing.partCount) { count += Int(framing.parts[i].count) }
    if let general = pointee.general {
      for i in 0..<Int(general.pointee.headerPartCount) { count += Int(general.pointee.headerParts[i].count) }
      if general.pointee.prefaceCount > 0 { count = max(count, Preface.longest) }
    }
    return count * (framing.escapes ? 2 : 1) + 64
  }

  /// The next delimiter at or behind `position`; `nil` where there is none before `end`.
  func nextDelimiter(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Int? {
    guard position < end else { return nil }
    let delimiter = Int32(pointee.framing.delimiter)
    return bytes.span.withUnsafeBytes { raw -> Int? in
      guard let base = raw.baseAddress, let found = memchr(base + position, delimiter, end - position) else {
        return nil
      }
      return UnsafeRawPointer(found) - base
    }
  }

  /// The chunk that begins at `position`, which follows a delimiter or is one; `nil` where it does not end before `end`.
  /// None of the bytes before `known` is the delimiter that ends it.
  func chunk(_ bytes: borrowing Bytes, _ position: Int, _ end: Int, known: Int = 0) -> DelimitedChunk? {
    let isLine = pointee.framing.kind == .line
    let delimiter = pointee.framing.delimiter
    var from = position
    while from < end, bytes.u8(from) == delimiter || isLine && bytes.u8(from) == 0x0d { from &+= 1 }
    guard let close = nextDelimiter(bytes, max(from, known), end) else { return nil }
    var last = close
    while isLine, last > from, bytes.u8(last &- 1) == 0x0d { last &-= 1 }
    return DelimitedChunk(start: position, content: from..<last, end: close + 1)
  }

  /// Where a frame may begin in bytes of which nothing is known: at a flag that no other one follows, or behind a line feed;
  /// or at their first one, where they begin with a line's type: a gap may end with a line. `nil` where there is no
  /// delimiter.
  func nextBeginning(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Int? {
    if pointee.framing.kind == .line, pointee.framing.words.type == 1, beginsWithType(bytes, position, end) {
      return position
    }
    guard var place = nextDelimiter(bytes, position, end) else { return nil }
    if pointee.framing.kind == .line { return place + 1 }
    while place &+ 1 < end, bytes.u8(place &+ 1) == pointee.framing.delimiter { place &+= 1 }
    return place
  }

  /// Whether the word at `position` is a type's that is known, and is over before `end`.
  private func beginsWithType(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Bool {
    var last = position
    while last < min(end, position + 33), bytes.u8(last) > 0x20 { last += 1 }
    guard last < end, last > position else { return false }
    let type = bytes.span.withUnsafeBytes { raw in LineWords.value(raw[position..<last]) }
    return kind(type) != pointee.unknownKind
  }

  /// Reads the frame of a chunk into `scratch` and describes it; false when it is none: too short, too long, badly escaped,
  /// of another length than it says, or without the magic number.
  ///
  /// `frame` then describes the bytes of `scratch`, and is as long as the chunk.
  func readChunk(
    _ bytes: borrowing Bytes, _ chunk: DelimitedChunk, _ scratch: inout FrameScratch,
    _ frame: UnsafeMutablePointer<Frame>
  ) -> Bool {
    guard chunk.end - chunk.start <= longestOnWire, scratch.take(bytes, chunk, pointee.framing) else {
      return false
    }
    return pointee.framing.kind == .line
      ? readLine(&scratch, chunk, frame) : readContent(&scratch, chunk, frame)
  }

  private func readContent(
    _ scratch: inout FrameScratch, _ chunk: DelimitedChunk, _ frame: UnsafeMutablePointer<Frame>
  ) -> Bool {
    let framing = pointee.framing
    let least = Int(pointee.headerCount)
    let trailer = Int(framing.trailerCount)
    let origin = scratch.origin
    let count = scratch.count
    guard count >= least + trailer else { return false }
    var header = least
    var session = pointee.session
    var isRaw = false
    var parts: [Range<Int>] = []
    do {
      let bytes = Bytes(scratch.bytes)
      for i in 0..<Int(framing.partCount) where framing.parts[i].when.read(bytes, origin) != 0 {
        let part = framing.parts[i]
        if part.isRaw { isRaw = true }
        if part.session.isPresent { session = part.session }
        guard part.count > 0 else { continue }
        let at = Int(part.at) + header - least
        parts.append(at..<at + Int(part.count))
        header += Int(part.count)
      }
    }
    let body = count - header - trailer
    guard body >= 0, body <= Int(pointee.maximumBody) else { return false }
    let start = origin + header - (chunk.end - chunk.start - body - trailer)
    var isOfOtherLength = false
    do {
      let bytes = Bytes(scratch.bytes)
      if pointee.length.isPresent {
        var said = pointee.length.read(bytes, origin) &+ UInt64(bitPattern: Int64(pointee.lengthAdd))
        if framing.lengthCountsHeader { said &-= UInt64(header - least) }
        isOfOtherLength = said != UInt64(body + trailer)
      }
      frame.pointee.session = session.read(bytes, origin)
      verify(bytes, at: origin, header: header, count: count, frame)
    }
    // Where the sum is right, the delimiters are, too, and a length that says something else is its sender's mistake.
    if isOfOtherLength, frame.pointee.checksumStatus != .be, frame.pointee.checksumStatus != .le { return false }
    scratch.place(header, at: start, body: origin + header, without: parts)
    let bytes = Bytes(scratch.bytes)
    let head = bytes.u64(start)
    guard head & pointee.magicMask == pointee.magic else { return false }
    frame.pointee.start = start
    frame.pointee.headerCount = origin + header - start
    frame.pointee.count = chunk.end - chunk.start
    frame.pointee.type = pointee.type.read(bytes, start)
    frame.pointee.kind = kind(frame.pointee.type)
    if isRaw, frame.pointee.kind != pointee.unknownKind { frame.pointee.kind += Int(pointee.kindCount) }
    guard head & frame.pointee.kind.pointee.headMask == frame.pointee.kind.pointee.headValue else { return false }
    frame.pointee.flags = isOfOtherLength ? [.opened, .malformed] : .opened
    if pointee.sequence.isPresent {
      frame.pointee.sequence = pointee.sequence.read(bytes, start)
      frame.pointee.flags.insert(.sequence)
    }
    recode(frame)
    forgetSteps(frame)
    // The delimiters prove the frame, so what does not fit in it is damage.
    let kind = frame.pointee.kind.pointee
    if body + trailer < Int(kind.minimumBody) || body + trailer > Int(kind.maximumBody)
      || kind.stepCount > 0 && !runSteps(bytes, frame)
    {
      frame.pointee.flags.insert(.malformed)
    }
    return true
  }

  /// A line: words with blanks between them; the body is what stands behind the type.
  private func readLine(
    _ scratch: inout FrameScratch, _ chunk: DelimitedChunk, _ frame: UnsafeMutablePointer<Frame>
  ) -> Bool {
    let origin = scratch.origin
    let count = scratch.count
    guard count <= Int(pointee.maximumBody) else { return false }
    let words = pointee.framing.words
    var flags: Frame.Flags = .opened
    var body = origin + count
    do {
      let bytes = Bytes(scratch.bytes)
      frame.pointee.type = 0
      frame.pointee.session = 0
      frame.pointee.status = 0
      for index in [words.type, words.sequence, words.session, words.status] where index > 0 {
        let word = Self.word(bytes, origin, origin + count, Int(index))
        if index == words.type {
          frame.pointee.type = bytes.span.withUnsafeBytes { raw in LineWords.value(raw[word]) }
          body = word.upperBound
          if body < origin + count { body += 1 }
          continue
        }
        guard let number = Self.decimal(bytes, word) else { continue }
        if index == words.sequence {
          frame.pointee.sequence = number
          flags.insert(.sequence)
        } else if index == words.session {
          frame.pointee.session = number
        } else {
          frame.pointee.status = number
          flags.insert(.status)
        }
      }
    }
    let bodyCount = origin + count - body
    let start = body - (chunk.end - chunk.start - bodyCount)
    scratch.place(body - origin, at: start, body: body, without: [])
    let bytes = Bytes(scratch.bytes)
    frame.pointee.start = start
    frame.pointee.headerCount = body - start
    frame.pointee.count = chunk.end - chunk.start
    frame.pointee.kind = kind(frame.pointee.type)
    frame.pointee.flags = flags
    frame.pointee.checksumStatus = .unchecked
    recode(frame)
    let status = frame.pointee.status
    forgetSteps(frame)
    frame.pointee.status = status
    let kind = frame.pointee.kind.pointee
    if kind.stepCount > 0 {
      let known = frame.pointee.sequence
      if !runSteps(bytes, frame) { frame.pointee.flags.insert(.malformed) }
      // Steps take away a number that the header does not have: a line has it in a word.
      if flags.contains(.sequence), !frame.pointee.flags.contains(.sequence) {
        frame.pointee.sequence = known
        frame.pointee.flags.insert(.sequence)
      }
    }
    return true
  }

  /// The word of that number, from 1, among bytes with blanks between words; empty where there are not so many.
  private static func word(_ bytes: borrowing Bytes, _ start: Int, _ end: Int, _ number: Int) -> Range<Int> {
    var at = start
    for i in 1...max(1, number) {
      while at < end, bytes.u8(at) == 0x20 || bytes.u8(at) == 0x09 { at += 1 }
      let from = at
      while at < end, bytes.u8(at) != 0x20, bytes.u8(at) != 0x09 { at += 1 }
      if i == number { return from..<at }
    }
    return end..<end
  }

  /// A number in decimal digits; `nil` where the word is none of at most 19 digits.
  private static func decimal(_ bytes: borrowing Bytes, _ word: Range<Int>) -> UInt64? {
    guard (1...19).contains(word.count) else { return nil }
    var number: UInt64 = 0
    for i in word {
      let digit = bytes.u8(i) &- 0x30
      guard digit < 10 else { return nil }
      number = number &* 10 &+ UInt64(digit)
    }
    return number
  }

  /// Bits of proof that a frame which a chunk gave is one; `nil` when it is none, or damaged.
  func evidence(ofChunk frame: UnsafePointer<Frame>, _ scratch: borrowing FrameScratch) -> Int? {
    let kind = frame.pointee.kind.pointee
    guard kind.index != FrameKind.unknownIndex, frame.pointee.checksumStatus != .bad,
      !frame.pointee.flags.contains(.malformed)
    else { return nil }
    // The delimiter where it has to be, twice.
    var bits = 16 + Int(pointee.magicEvidence) + Int(kind.evidence) + Int(pointee.checksumEvidence)
    if pointee.framing.kind == .line {
      var letters = 0
      var value = kind.value
      while value > 0 {
        letters += 1
        value >>= 8
      }
      guard !holdsControl(Bytes(scratch.bytes), frame.pointee.body, frame.pointee.bodyCount) else { return nil }
      return bits - 8 + letters * 5
    }
    let choice = Int.bitWidth - pointee.kindTotal.leadingZeroBitCount
    bits += max(0, min(16, pointee.type.mask.nonzeroBitCount) - choice)
    if pointee.length.isPresent { bits += min(10, pointee.length.mask.nonzeroBitCount) }
    return bits
  }
}
