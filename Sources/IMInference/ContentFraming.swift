import IMContent

/// The ways to end frames that contents can prove: the content of a frame closes where the frame ends, so that a wrong framing fails at the first
/// frame that it cuts in half.
package enum ContentFraming: Hashable, Sendable {
  /// The encoding of the length before a content.
  package enum Length: Hashable, Sendable {
    /// A number: with `adds`, it is the size of the whole frame in bytes.
    case number(NumberPlace, adds: Int)
    /// A varint at this offset, directly followed by the content.
    case varint(Int)
    /// Decimal digits at the beginning of the frame, and one byte that ends them.
    case decimal
    /// A BER length after one identifier octet.
    case ber
  }

  /// A WebSocket message.
  case message
  /// Parts of a WebSocket message, each of which ends with this byte.
  case records(UInt8)
  /// Frames between bytes that begin them and bytes that end them.
  case terminated(begins: [UInt8], ends: [UInt8])
  /// A first line, header lines, an empty line, and a body whose length is in a header, or that extends to `ends`.
  case blocks(ends: [UInt8], length: String?, ignoresCase: Bool)
  /// Lines. Those that begin with one of these words have a body, and their last word is its length.
  case lines(counted: [String])
  /// RESP values.
  case resp
  /// XML elements inside one element that spans the whole stream.
  case xml
  /// FIX pairs of tag and value.
  case pairs
  /// A header of this many bytes with a length, followed by a content.
  case counted(Length, header: Int)

  /// The positions of a frame's parts.
  struct Extent: Equatable {
    var frame: Range<Int>
    /// The bytes with the members.
    var content: Range<Int>
    /// Whether it is a byte between frames.
    var isBeat = false
  }

  /// The result of reading at a position.
  enum Step {
    case frame(Extent)
    case cut
    case none
  }

  /// The maximum length of a frame, in bytes.
  private static var longest: Int { 1 << 20 }

  /// Reads the frame at `start` of a run that ends at `end`.
  func step(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Step {
    switch self {
    case .message: return .frame(Extent(frame: start..<end, content: start..<end))
    case .records(let mark):
      guard let last = bytes[start..<end].firstIndex(of: mark) else { return .none }
      return .frame(Extent(frame: start..<last + 1, content: start..<last))
    case .terminated(let begins, let ends): return Self.terminated(bytes, start, end, begins, ends)
    case .blocks(let ends, let length, let ignoresCase):
      return Self.block(bytes, start, end, ends, length, ignoresCase)
    case .lines(let counted): return Self.line(bytes, start, end, counted)
    case .resp: return ContentScans.step(ContentScans.resp, bytes, start, end)
    case .xml: return Self.element(bytes, start, end)
    case .pairs: return Self.pairs(bytes, start, end)
    case .counted(let length, let header): return Self.counted(bytes, start, end, length, header)
    }
  }

  private static func find(_ wanted: [UInt8], _ bytes: [UInt8], _ start: Int, _ end: Int) -> Int? {
    guard let first = wanted.first else { return nil }
    var at = start
    while let found = bytes[at..<end].firstIndex(of: first) {
      guard found + wanted.count <= end else { return nil }
      if bytes[found..<found + wanted.count].elementsEqual(wanted) { return found }
      at = found + 1
    }
    return nil
  }

  private static func terminated(
    _ bytes: [UInt8], _ start: Int, _ end: Int, _ begins: [UInt8], _ ends: [UInt8]
  ) -> Step {
    guard bytes[start..<end].starts(with: begins) else { return .none }
    guard let last = find(ends, bytes, start + begins.count, min(end, start + longest)) else {
      return end - start > longest ? .none : .cut
    }
    return .frame(Extent(frame: start..<last + ends.count, content: start + begins.count..<last))
  }

  private static func block(
    _ bytes: [UInt8], _ start: Int, _ end: Int, _ ends: [UInt8], _ length: String?, _ ignoresCase: Bool
  ) -> Step {
    if !ends.isEmpty, bytes[start] == 0x0a || bytes[start] == 0x0d && start + 1 < end && bytes[start + 1] == 0x0a {
      let stop = start + (bytes[start] == 0x0a ? 1 : 2)
      return .frame(Extent(frame: start..<stop, content: stop..<stop, isBeat: true))
    }
    var at = start
    var wanted: Int?
    var line = 0
    while true {
      guard at - start <= 8_192, line < ContentPlan.maximumLines else { return .none }
      guard let feed = bytes[at..<end].firstIndex(of: 0x0a) else { return end - at > 8_192 ? .none : .cut }
      var last = feed
      if last > at, bytes[last - 1] == 0x0d { last -= 1 }
      let text = bytes[at..<last]
      at = feed + 1
      if line == 0 {
        guard let first = text.first, first > 0x20, first < 0x7f, text.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
          return .none
        }
      } else if text.isEmpty {
        break
      } else {
        guard let colon = text.firstIndex(of: 0x3a), colon > text.startIndex else { return .none }
        let name = String(decoding: text[..<colon], as: UTF8.self)
        if let length, wanted == nil, name == length || ignoresCase && name.lowercased() == length.lowercased() {
          wanted = number(text[(colon + 1)...])
        }
      }
      line += 1
    }
    guard line > 1 || !ends.isEmpty else { return .none }
    let head = at
    if let wanted {
      guard wanted <= longest else { return .none }
      guard end - head >= wanted + ends.count else { return .cut }
      guard bytes[(head + wanted)...].starts(with: ends) else { return .none }
      return .frame(Extent(frame: start..<head + wanted + ends.count, content: start..<head))
    }
    guard !ends.isEmpty else { return .frame(Extent(frame: start..<head, content: start..<head)) }
    guard let last = find(ends, bytes, head, min(end, head + longest)) else { return .cut }
    return .frame(Extent(frame: start..<last + ends.count, content: start..<head))
  }

  private static func number(_ text: ArraySlice<UInt8>) -> Int? {
    let digits = text.filter { $0 != 0x20 }
    guard (1...9).contains(digits.count), digits.allSatisfy({ $0 &- 0x30 < 10 }) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int($1 &- 0x30) }
  }

  /// The line at `start`, without its end; `nil` if it does not end.
  static func plainLine(_ bytes: [UInt8], _ start: Int, _ end: Int) -> (text: Range<Int>, next: Int)? {
    guard let feed = bytes[start..<min(end, start + 65_536)].firstIndex(of: 0x0a) else { return nil }
    let last = feed > start && bytes[feed - 1] == 0x0d ? feed - 1 : feed
    return (start..<last, feed + 1)
  }

  /// The first word of a line, and the number in its last word, if there is one.
  static func words(_ line: ArraySlice<UInt8>) -> (first: String, count: Int?)? {
    let words = line.split(whereSeparator: { $0 == 0x20 || $0 == 0x09 })
    guard let first = words.first, (1...32).contains(first.count), first.allSatisfy({ (0x21...0x7e).contains($0) })
    else {
      return nil
    }
    return (String(decoding: first, as: UTF8.self), words.count > 1 ? words.last.flatMap { number($0) } : nil)
  }

  private static func line(_ bytes: [UInt8], _ start: Int, _ end: Int, _ counted: [String]) -> Step {
    guard let (text, next) = plainLine(bytes, start, end) else { return end - start > 65_536 ? .none : .cut }
    guard let (first, count) = words(bytes[text]) else { return .none }
    guard counted.contains(first), let count, count <= longest else {
      return .frame(Extent(frame: start..<next, content: text))
    }
    guard end - next >= count + 2 else { return .cut }
    guard bytes[next + count] == 0x0d, bytes[next + count + 1] == 0x0a else { return .none }
    return .frame(Extent(frame: start..<next + count + 2, content: text))
  }

  private static func element(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Step {
    var stop = start
    while stop < end, [0x20, 0x0a, 0x0d, 0x09].contains(bytes[stop]) { stop += 1 }
    guard stop == start else { return .frame(Extent(frame: start..<stop, content: stop..<stop, isBeat: true)) }
    return ContentScans.step(ContentScans.xml, bytes, start, end)
  }

  private static func pairs(_ bytes: [UInt8], _ start: Int, _ end: Int) -> Step {
    guard bytes[start..<end].starts(with: "8=".utf8) else { return .none }
    guard let first = bytes[start..<end].firstIndex(of: 1), let second = bytes[(first + 1)..<end].firstIndex(of: 1)
    else { return end - start > 64 ? .none : .cut }
    guard bytes[(first + 1)..<second].starts(with: "9=".utf8), let count = number(bytes[(first + 3)..<second]),
      count <= longest
    else { return .none }
    let sum = second + 1 + count
    guard sum < end, let last = bytes[sum..<end].firstIndex(of: 1) else { return .cut }
    guard bytes[sum..<last].starts(with: "10=".utf8) else { return .none }
    return .frame(Extent(frame: start..<last + 1, content: start..<last + 1))
  }

  private static func counted(_ bytes: [UInt8], _ start: Int, _ end: Int, _ length: Length, _ header: Int) -> Step {
    var content = start + header
    var stop = 0
    switch length {
    case .number(let place, let adds):
      guard end - start >= header else { return .cut }
      let value = bytes.withUnsafeBufferPointer { place.read($0, start, end) }
      guard let value, value <= UInt64(longest), Int(value) + adds >= header else { return .none }
      stop = start + Int(value) + adds
    case .varint(let offset):
      var value = 0
      content = start + offset
      for shift in [0, 7, 14, 21] {
        guard content < end else { return .cut }
        let byte = Int(bytes[content])
        content += 1
        value |= (byte & 0x7f) << shift
        if byte < 0x80 { break }
        guard shift < 21 else { return .none }
      }
      guard value <= longest else { return .none }
      stop = content + value
    case .decimal:
      guard let last = bytes[start..<min(end, start + 10)].firstIndex(where: { $0 &- 0x30 > 9 }) else {
        return end - start < 10 ? .cut : .none
      }
      guard let value = number(bytes[start..<last]), value <= longest else { return .none }
      content = last + 1
      stop = content + value
    case .ber:
      guard end - start >= 2 else { return .cut }
      var value = Int(bytes[start + 1])
      content = start + 2
      if value >= 0x80 {
        let more = value & 0x7f
        guard (1...4).contains(more) else { return .none }
        guard end - content >= more else { return .cut }
        value = bytes[content..<content + more].reduce(0) { $0 << 8 | Int($1) }
        content += more
      }
      guard value <= longest else { return .none }
      stop = content + value
    }
    guard stop >= content else { return .none }
    return stop <= end ? .frame(Extent(frame: start..<stop, content: content..<stop)) : .cut
  }
}

/// Scanners that find the end of values without a length prefix.
enum ContentScans {
  static let resp = ContentPlanBuilder().plan(ContentForm(.resp))
  static let xml: ContentPlan = {
    var form = ContentForm(.xml)
    form.stream = Array("stream".utf8)
    return ContentPlanBuilder().plan(form)
  }()

  /// The value that begins at `start`.
  static func step(_ plan: ContentPlan, _ bytes: [UInt8], _ start: Int, _ end: Int) -> ContentFraming.Step {
    // A scan stops at the longest value that a profile accepts by default.
    let count = min(end - start, 262_144)
    let result = bytes.withUnsafeBufferPointer { buffer -> ContentResult in
      guard let base = buffer.baseAddress else { return .cut }
      return withUnsafeTemporaryAllocation(of: ContentValue.self, capacity: max(1, plan.slotCount)) { values in
        guard let first = values.baseAddress else { return .cut }
        return plan.scan(base + start, count, first)
      }
    }
    switch result {
    case .whole(let count) where count > 0:
      return .frame(
        ContentFraming.Extent(frame: start..<start + count, content: start..<start + count))
    case .whole, .malformed: return .none
    case .cut: return count < end - start ? .none : .cut
    }
  }
}
