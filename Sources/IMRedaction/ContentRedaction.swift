import IMFields

/// Says what becomes of contents that are text: their signs stay, and so do the names that structure them.
enum ContentRedaction {
  private static let feed = UInt8(ascii: "\n"), back = UInt8(ascii: "\r")
  private static let blank = UInt8(ascii: " "), tab = UInt8(ascii: "\t")

  // MARK: Header lines

  /// A first line, and lines of `name: value`. Of the first one, numbers stay; `known` names stay, without regard to case. A JSON object at the end of
  /// the first line is one.
  static func treat(_ text: inout FrameText, headers range: Range<Int>, known: Set<[UInt8]>) {
    let range = range.clamped(to: 0..<text.old.count)
    let names = Set(known.map { $0.map(lowercase) })
    text.set(range, .keep)
    var at = range.lowerBound
    var isFirst = true
    while at < range.upperBound {
      let next = text.old[at..<range.upperBound].firstIndex(of: feed).map { $0 + 1 } ?? range.upperBound
      var end = next
      while end > at, text.old[end - 1] == feed || text.old[end - 1] == back { end -= 1 }
      if isFirst, end > at {
        treat(&text, firstLine: at..<end, known: known)
        isFirst = false
      } else if let colon = text.old[at..<end].firstIndex(of: UInt8(ascii: ":")) {
        if !names.contains(text.old[at..<colon].map(lowercase)) { text.set(at..<colon, .text(.utf8)) }
        text.set(colon + 1..<end, .text(.utf8))
      } else {
        text.set(at..<end, .text(.utf8))
      }
      at = next
    }
  }

  private static func treat(_ text: inout FrameText, firstLine range: Range<Int>, known: Set<[UInt8]>) {
    var at = range.lowerBound
    while at < range.upperBound {
      if text.old[at] == blank || text.old[at] == tab {
        at += 1
        continue
      }
      if text.old[at] == UInt8(ascii: "{") { return JSONRedaction.treat(&text, at..<range.upperBound, known: known) }
      let end = text.old[at..<range.upperBound].firstIndex { $0 == blank || $0 == tab } ?? range.upperBound
      if !text.old[at..<end].allSatisfy({ $0 &- 0x30 < 10 }) { text.set(at..<end, .text(.utf8)) }
      at = end
    }
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 { byte &- 0x41 < 26 ? byte | 0x20 : byte }

  // MARK: RESP

  /// Values of RESP: types and lengths stay, strings and numbers get stand-ins.
  static func treat(_ text: inout FrameText, resp range: Range<Int>) {
    let range = range.clamped(to: 0..<text.old.count)
    text.set(range, .keep)
    var at = range.lowerBound
    while at < range.upperBound {
      let next = text.old[at..<range.upperBound].firstIndex(of: feed).map { $0 + 1 } ?? range.upperBound
      var end = next
      while end > at, text.old[end - 1] == feed || text.old[end - 1] == back { end -= 1 }
      guard end > at else {
        at = next
        continue
      }
      switch text.old[at] {
      case UInt8(ascii: "$"), UInt8(ascii: "="), UInt8(ascii: "!"):
        guard let count = Int(String(decoding: text.old[at + 1..<end], as: UTF8.self)), count >= 0 else { break }
        let stop = min(range.upperBound, next + min(count, range.upperBound - next))
        text.set(next..<stop, .anything)
        at = stop
        // The end of its line stays.
        while at < range.upperBound, at < stop + 2, text.old[at] == back || text.old[at] == feed { at += 1 }
        continue
      case UInt8(ascii: "*"), UInt8(ascii: "%"), UInt8(ascii: "~"), UInt8(ascii: ">"), UInt8(ascii: "|"),
        UInt8(ascii: "#"), UInt8(ascii: "_"):
        keepNumber(&text, at + 1..<end)
      case UInt8(ascii: ":"), UInt8(ascii: "("), UInt8(ascii: ","): text.set(at + 1..<end, .decimal)
      case UInt8(ascii: "+"), UInt8(ascii: "-"): text.set(at + 1..<end, .text(.utf8))
      // A command in words.
      default: text.set(at..<end, .text(.utf8))
      }
      at = next
    }
  }

  /// A number, `t` or `f` stays; anything else gets a stand-in.
  private static func keepNumber(_ text: inout FrameText, _ range: Range<Int>) {
    let isNumber = text.old[range].allSatisfy { $0 &- 0x30 < 10 || $0 == UInt8(ascii: "-") }
    let isFlag = range.count == 1 && [UInt8(ascii: "t"), UInt8(ascii: "f")].contains(text.old[range.lowerBound])
    if !isNumber && !isFlag { text.set(range, .text(.utf8)) }
  }

  // MARK: XML

  /// Elements: tags and the names of attributes stay, and so do namespaces; texts and the values of other attributes get stand-ins.
  static func treat(_ text: inout FrameText, xml range: Range<Int>) {
    let range = range.clamped(to: 0..<text.old.count)
    text.set(range, .keep)
    var at = range.lowerBound
    while at < range.upperBound {
      let rest = text.old[at..<range.upperBound]
      if rest.starts(with: "<![CDATA[".utf8) {
        let end = find("]]>", text.old, at + 9, range.upperBound)
        text.set(at + 9..<end, .text(.utf8))
        at = min(range.upperBound, end + 3)
      } else if rest.starts(with: "<?".utf8) {
        // The declaration: other instructions, and comments, are in no frame that is read.
        at = min(range.upperBound, find("?>", text.old, at, range.upperBound) + 2)
      } else if text.old[at] == UInt8(ascii: "<") {
        at = treat(&text, tag: at, range.upperBound)
      } else {
        let end = rest.firstIndex(of: UInt8(ascii: "<")) ?? range.upperBound
        text.set(at..<end, .xmlText)
        at = end
      }
    }
  }

  /// The tag at `start`; gives the place after it.
  private static func treat(_ text: inout FrameText, tag start: Int, _ end: Int) -> Int {
    var at = start + 1
    var name = at..<at
    while at < end, text.old[at] != UInt8(ascii: ">") {
      let byte = text.old[at]
      if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
        let close = text.old[(at + 1)..<end].firstIndex(of: byte) ?? end
        let isNamespace = text.old[name].starts(with: "xmlns".utf8)
        if !isNamespace { text.set(at + 1..<close, .xmlText) }
        at = min(end, close + 1)
        name = at..<at
      } else {
        at += 1
        if byte == blank || byte == tab || byte == feed || byte == back {
          name = at..<at
        } else if byte != UInt8(ascii: "=") {
          name = name.lowerBound..<at
        }
      }
    }
    return min(end, at + 1)
  }

  private static func find(_ pattern: StaticString, _ bytes: [UInt8], _ start: Int, _ end: Int) -> Int {
    let pattern = Array("\(pattern)".utf8)
    var at = start
    while at + pattern.count <= end {
      if bytes[at..<at + pattern.count].elementsEqual(pattern) { return at }
      at += 1
    }
    return end
  }

  /// The most bytes of a reference to a character, such as `&quot;` or `&#x1f600;`.
  private static let longestReference = 12

  /// A stand-in for a text of XML, in which references to characters stay what they are.
  static func standIn(xml bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var at = 0
    while at < bytes.count {
      if bytes[at] == UInt8(ascii: "&"),
        let end = bytes[at..<min(at + longestReference, bytes.count)].firstIndex(of: UInt8(ascii: ";"))
      {
        result += bytes[at...end]
        at = end + 1
        continue
      }
      let next = bytes[(at + 1)...].firstIndex(of: UInt8(ascii: "&")) ?? bytes.count
      result += CharacterShape.text(Array(bytes[at..<next]), .utf8)
      at = next
    }
    return result
  }
}
