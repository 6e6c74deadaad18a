/// Finds the values that paths lead to in one XML element, as RFC 6120, section 11, restricts it: no document type, no processing
/// instruction but an XML declaration in front, no comment, no entity but the five. It recurses nowhere and allocates nothing.
///
/// The element that a stream opens at its beginning, and closes at its end, is two contents: its start tag, and its end tag.
struct XMLScanner {
  /// How deep elements nest.
  static var maximumDepth: Int { 64 }
  /// The longest tag in bytes.
  static var longestTag: Int { 8_192 }

  let plan: ContentPlan
  let bytes: UnsafePointer<UInt8>
  let count: Int
  let values: UnsafeMutablePointer<ContentValue>
  private var at = 0
  /// Elements that are open: where the name of each begins, how long it is, and the first node below it.
  private var names = InlineArray<64, UInt32>(repeating: 0)
  private var lengths = InlineArray<64, UInt16>(repeating: 0)
  private var heads = InlineArray<64, UInt8>(repeating: 0)
  private var depth = 0
  /// The node that wants the text which is being read; 0 where none does.
  private var wanted: UInt8 = 0
  /// Where that text begins, and whether it has entities or sections of character data.
  private var textStart = 0
  private var isEscaped = false

  init(
    plan: ContentPlan, bytes: UnsafePointer<UInt8>, count: Int, values: UnsafeMutablePointer<ContentValue>
  ) {
    (self.plan, self.bytes, self.count, self.values) = (plan, bytes, count, values)
  }

  /// Scans one element, or one tag of the stream's own, with blanks and an XML declaration in front.
  consuming func scan() -> ContentResult {
    skipBlanks()
    guard let isDeclared = begins("<?xml") else { return .cut }
    if isDeclared {
      let start = at
      at &+= 5
      while at &+ 1 < count, bytes[at] != 0x3f || bytes[at &+ 1] != 0x3e { at &+= 1 }
      guard at &- start <= Self.longestTag else { return .malformed(start) }
      guard at &+ 1 < count else { return .cut }
      at &+= 2
      skipBlanks()
    }
    guard at < count else { return .cut }
    guard bytes[at] == 0x3c else { return .malformed(at) }
    while true {
      if let result = markup() { return result }
      if let result = text() { return result }
    }
  }

  // MARK: Markup

  /// Reads what begins with `<`: a tag or a section of character data. A result ends the scan.
  private mutating func markup() -> ContentResult? {
    guard at &+ 1 < count else { return .cut }
    switch bytes[at &+ 1] {
    case 0x2f: return endTag()
    case 0x21: return section()
    case 0x3f: return .malformed(at)
    default: return startTag()
    }
  }

  /// `<![CDATA[`, characters, `]]>`.
  private mutating func section() -> ContentResult? {
    let start = at
    let mark: StaticString = "<![CDATA["
    for i in 0..<mark.utf8CodeUnitCount {
      guard at &+ i < count else { return .cut }
      guard depth > 0, bytes[at &+ i] == mark.utf8Start[i] else { return .malformed(start) }
    }
    at &+= mark.utf8CodeUnitCount
    isEscaped = true
    while at &+ 2 < count {
      if bytes[at] == 0x5d, bytes[at &+ 1] == 0x5d, bytes[at &+ 2] == 0x3e {
        at &+= 3
        return nil
      }
      at &+= 1
    }
    return .cut
  }

  private mutating func endTag() -> ContentResult? {
    let start = at
    noteText(upTo: start)
    at &+= 2
    let name = at
    guard let length = self.name() else { return at < count ? .malformed(at) : tooLong(start) }
    skipBlanks()
    guard at < count else { return tooLong(start) }
    guard bytes[at] == 0x3e else { return .malformed(at) }
    at &+= 1
    guard depth > 0 else {
      let local = Self.local(bytes + name, length)
      guard plan.isStream(bytes + name + local, length &- local) else { return .malformed(start) }
      noteElement(at: name &+ local, length &- local, isEnd: true)
      return .whole(at)
    }
    depth &-= 1
    guard Int(lengths[depth]) == length else { return .malformed(name) }
    let first = Int(names[depth])
    for i in 0..<length {
      guard bytes[first &+ i] == bytes[name &+ i] else { return .malformed(name &+ i) }
    }
    return depth == 0 ? .whole(at) : nil
  }

  private mutating func startTag() -> ContentResult? {
    let start = at
    noteText(upTo: start)
    at &+= 1
    let name = at
    guard let length = self.name() else { return at < count ? .malformed(at) : tooLong(start) }
    let local = Self.local(bytes + name, length)
    var node: UInt8 = 0
    var head: UInt8
    if depth == 0 {
      head = plan.root
      noteElement(at: name &+ local, length &- local, isEnd: false)
    } else {
      head = heads[depth &- 1]
      if head != 0 { node = plan.node(head, named: bytes + name + local, length &- local) }
      plan.noteWhich(node, name &+ local, length &- local, values)
      head = node == 0 ? 0 : plan.nodes[Int(node)].child
    }
    // Attributes, up to the end of the tag.
    while true {
      let before = at
      skipBlanks()
      guard at < count else { return tooLong(start) }
      guard at &- start <= Self.longestTag else { return .malformed(start) }
      switch bytes[at] {
      case 0x3e:
        at &+= 1
        if depth == 0, plan.isStream(bytes + name + local, length &- local) { return .whole(at) }
        guard depth < Self.maximumDepth, length <= Int(UInt16.max) else { return .malformed(start) }
        names[depth] = UInt32(truncatingIfNeeded: name)
        lengths[depth] = UInt16(truncatingIfNeeded: length)
        heads[depth] = head
        depth &+= 1
        (wanted, textStart, isEscaped) = (node, at, false)
        return nil
      case 0x2f:
        guard at &+ 1 < count else { return tooLong(start) }
        guard bytes[at &+ 1] == 0x3e else { return .malformed(at &+ 1) }
        at &+= 2
        if node != 0 {
          (wanted, textStart, isEscaped) = (node, at, false)
          noteText(upTo: at)
        }
        return depth == 0 ? .whole(at) : nil
      default:
        guard at > before else { return .malformed(at) }
        if let result = attribute(head, start) { return result }
      }
    }
  }

  /// `name="value"`, which a node below `head` may want.
  private mutating func attribute(_ head: UInt8, _ tag: Int) -> ContentResult? {
    let name = at
    guard let length = self.name() else { return at < count ? .malformed(at) : tooLong(tag) }
    skipBlanks()
    guard at < count else { return tooLong(tag) }
    guard bytes[at] == 0x3d else { return .malformed(at) }
    at &+= 1
    skipBlanks()
    guard at < count else { return tooLong(tag) }
    let quote = bytes[at]
    guard quote == 0x22 || quote == 0x27 else { return .malformed(at) }
    at &+= 1
    let value = at
    var hasEntity = false
    while at < count, bytes[at] != quote {
      guard bytes[at] != 0x3c else { return .malformed(at) }
      if bytes[at] == 0x26 {
        hasEntity = true
        if let result = entity() { return result }
      } else {
        at &+= 1
      }
    }
    guard at < count else { return tooLong(tag) }
    if head != 0 {
      let local = Self.local(bytes + name, length)
      // Declarations of name spaces are no attributes.
      if local != 6 || !Self.isDeclaration(bytes + name) {
        let node = plan.node(head, attribute: bytes + name + local, length &- local)
        if node != 0 {
          var found = ContentPlan.text(bytes, value, at)
          found.isEscaped = hasEntity
          plan.note(found, plan.nodes[Int(node)], values)
        }
      }
    }
    at &+= 1
    return nil
  }

  /// What a tag is that the bytes end in.
  private func tooLong(_ start: Int) -> ContentResult {
    count &- start > Self.longestTag ? .malformed(start) : .cut
  }

  // MARK: Text

  /// Passes over characters up to the next `<`.
  private mutating func text() -> ContentResult? {
    let ones: UInt64 = 0x0101_0101_0101_0101
    while true {
      // Eight bytes at a time, as long as none of them begins markup or an entity.
      while at &+ 8 <= count {
        let word = UnsafeRawPointer(bytes + at).loadUnaligned(as: UInt64.self)
        let less = word ^ (0x3c &* ones)
        let ampersand = word ^ (0x26 &* ones)
        let found = ((less &- ones) & ~less | (ampersand &- ones) & ~ampersand) & (0x80 &* ones)
        if found != 0 {
          at &+= UInt64(littleEndian: found).trailingZeroBitCount &>> 3
          break
        }
        at &+= 8
      }
      guard at < count else { return .cut }
      switch bytes[at] {
      case 0x3c: return nil
      case 0x26:
        isEscaped = true
        if let result = entity() { return result }
      default: at &+= 1
      }
    }
  }

  /// Passes over one of the five entities, or a character by its number.
  private mutating func entity() -> ContentResult? {
    let start = at
    at &+= 1
    var length = 0
    while at &+ length < count, bytes[at &+ length] != 0x3b {
      guard length < 10, Self.isName(bytes[at &+ length]) || bytes[at &+ length] == 0x23 else {
        return .malformed(start)
      }
      length &+= 1
    }
    guard at &+ length < count else { return .cut }
    guard XMLText.character(UnsafeBufferPointer(start: bytes + at, count: length)) != nil else {
      return .malformed(start)
    }
    at &+= length &+ 1
    return nil
  }

  /// Notes the text of the element that was opened last, where a node wants it: up to the first element inside it.
  private mutating func noteText(upTo end: Int) {
    guard wanted != 0 else { return }
    var value = ContentPlan.text(bytes, textStart, end)
    value.isEscaped = isEscaped
    plan.note(value, plan.nodes[Int(wanted)], values)
    wanted = 0
  }

  /// Notes the name of the outermost element.
  private func noteElement(at offset: Int, _ length: Int, isEnd: Bool) {
    let node = plan.elementNode
    guard node != 0 else { return }
    var value = ContentValue()
    (value.kind, value.offset, value.count) = (.text, offset, length)
    value.isEndTag = isEnd
    plan.note(value, plan.nodes[Int(node)], values)
  }

  // MARK: Names

  /// Passes over a name; its length, or `nil` where there is none.
  private mutating func name() -> Int? {
    let start = at
    // Digits, a hyphen and a dot begin none.
    guard at < count, Self.isName(bytes[at]), bytes[at] >= 0x3a else { return nil }
    while at < count, Self.isName(bytes[at]) { at &+= 1 }
    return at < count ? at &- start : nil
  }

  /// Whether a byte may be in a name. Bytes of characters beyond ASCII may.
  @inline(__always)
  private static func isName(_ byte: UInt8) -> Bool {
    byte | 0x20 &- 0x61 < 26 || byte &- 0x30 < 11 || byte >= 0x80 || byte == 0x5f || byte == 0x2d || byte == 0x2e
  }

  /// Where the name after a prefix begins.
  @inline(__always)
  private static func local(_ name: UnsafePointer<UInt8>, _ length: Int) -> Int {
    var i = 0
    while i < length {
      if name[i] == 0x3a { return i &+ 1 }
      i &+= 1
    }
    return 0
  }

  /// Whether a name with the prefix of five bytes declares a name space.
  private static func isDeclaration(_ name: UnsafePointer<UInt8>) -> Bool {
    name[0] == 0x78 && name[1] == 0x6d && name[2] == 0x6c && name[3] == 0x6e && name[4] == 0x73
  }

  @inline(__always)
  private mutating func skipBlanks() {
    while at < count, XMLText.isBlank(bytes[at]) { at &+= 1 }
  }

  /// Whether the bytes go on with `word`; `nil` where they end before that is known.
  private func begins(_ word: StaticString) -> Bool? {
    for i in 0..<word.utf8CodeUnitCount {
      guard at &+ i < count else { return nil }
      if bytes[at &+ i] != word.utf8Start[i] { return false }
    }
    return true
  }
}
