/// How the inside of a frame is laid out, where its places are named by paths.
package enum ContentKind: UInt8, Sendable, BitwiseCopyable, CaseIterable {
  /// Bytes: places are offsets.
  case bytes
  /// One JSON text (RFC 8259).
  case json
  /// Fields of Protocol Buffers, by their numbers.
  case protobuf
  /// A first line of words, lines of `name: value`, an empty line, a body.
  case headers
  /// Words with blanks between them.
  case words
  /// A value of the Redis serialization protocol.
  case resp
  /// One XML element (RFC 6120, section 11).
  case xml
  /// One MessagePack value.
  case messagepack
  /// Elements of the Basic Encoding Rules (ITU-T X.690) with definite lengths.
  case ber
  /// Pairs of a number and a value, as in FIX.
  case pairs

  /// The name in profiles.
  package var name: String {
    switch self {
    case .bytes: "bytes"
    case .json: "json"
    case .protobuf: "protobuf"
    case .headers: "headers"
    case .words: "words"
    case .resp: "resp"
    case .xml: "xml"
    case .messagepack: "messagepack"
    case .ber: "ber"
    case .pairs: "pairs"
    }
  }
}

/// How a content is laid out, as a profile describes it.
package struct ContentForm: Sendable {
  /// The layout.
  package var kind: ContentKind
  /// Whether the names of headers are compared without regard to case.
  package var ignoresCase = false
  /// Whether anything but an empty line ends a block of headers.
  package var isOpen = false
  /// The name of the XML element that holds a whole stream: its tags are contents of their own. Empty where there is none.
  package var stream: [UInt8] = []
  /// The byte that ends a pair.
  package var separator: UInt8 = 1

  /// Contents of that kind.
  package init(_ kind: ContentKind) { self.kind = kind }
}

/// One value that a path leads to, as offsets into the bytes that were scanned.
package struct ContentValue: BitwiseCopyable, Sendable {
  /// What the value is.
  package enum Kind: UInt8, Sendable, BitwiseCopyable {
    /// The path leads nowhere.
    case absent
    /// Bytes or text, without quotes and with escapes as they came.
    case text
    /// A number; `number` has the integer part of its magnitude.
    case number
    /// `true` or `false`; `number` is 1 or 0.
    case flag
    /// A null, which counts as a value.
    case null
    /// An object, an array or a message; its extent is known only where it was read to its end.
    case group
  }

  /// Offset of the value's first byte.
  package var offset = 0
  /// The value's length in bytes.
  package var count = 0
  /// The integer part of a number, without its sign; it wraps at 64 bits.
  package var number: UInt64 = 0
  /// What the value is.
  package var kind = Kind.absent
  /// Whether a number has a minus sign.
  package var isNegative = false
  /// Whether a text has escapes, so that its bytes are not what it means.
  package var isEscaped = false
  /// Whether a number does not fit 64 bits, or has a fraction or an exponent.
  package var isInexact = false
  /// Whether an element's name is in the tag that ends the stream.
  package var isEndTag = false

  /// No value.
  package init() {}
}

/// How a scan ended.
package enum ContentResult: Equatable, Sendable {
  /// The content ends at this offset.
  case whole(Int)
  /// The bytes end before the content does.
  case cut
  /// The byte at this offset cannot be where it is.
  case malformed(Int)
}

/// One step of a path.
package enum ContentStep: Hashable, Sendable {
  /// A member, a header, or an element by its name.
  case name([UInt8])
  /// An array's element or a field by its number.
  case number(UInt32)
  /// Any member.
  case any
  /// The word with this number, from 1, of the first line.
  case word(UInt32)
  /// An attribute by its name.
  case attribute([UInt8])
  /// The name of the outermost element.
  case element
}

/// One node of the trie that all paths of a plan make.
struct ContentNode: BitwiseCopyable {
  enum Kind: UInt8, BitwiseCopyable { case name, number, any, word, attribute, element }
  var kind = Kind.name
  /// Length of the name in bytes, and where it begins among all names.
  var nameCount: UInt8 = 0
  var nameOffset: UInt16 = 0
  var number: UInt32 = 0
  /// The first node one level below, and the next one of this level; 0 where there is none.
  var child: UInt8 = 0, next: UInt8 = 0
  /// The value that a path ending here fills, and a second one by way of `*`; -1 where there is none.
  var slot: Int8 = -1, otherSlot: Int8 = -1
  /// The value that holds the name of the first of several members that is present; -1 where this is none of them.
  var which: Int8 = -1
}

/// The paths of a profile, compiled: plain numbers at two pointers. Its memory lives as long as the process, so each reading of
/// a profile takes a few KB anew.
package struct ContentPlan: BitwiseCopyable, @unchecked Sendable {
  /// How the content is laid out.
  package var kind: ContentKind
  /// How many values the paths fill.
  package var slotCount: Int
  /// Whether the names of headers are compared without regard to case.
  package var ignoresCase = false
  /// Whether anything but an empty line ends a block of headers.
  var isOpen = false
  /// The byte that ends a pair.
  package var separator: UInt8 = 1
  /// The node that wants the name of the outermost element; 0 where none does.
  fileprivate(set) var elementNode: UInt8 = 0
  /// Where the name of the element that holds a whole stream is among all names, and its length; 0 where there is none.
  fileprivate var streamOffset: UInt16 = 0, streamCount: UInt8 = 0
  let nodes: UnsafePointer<ContentNode>
  let names: UnsafePointer<UInt8>
  /// The first node of the outermost level; 0 where there is none.
  let root: UInt8

  /// The names of members, headers and elements that its paths have.
  package var memberNames: Set<[UInt8]> {
    var found: Set<[UInt8]> = []
    // The trie is as deep as the longest path.
    var levels = [root]
    while let first = levels.popLast() {
      var at = Int(first)
      while at != 0 {
        let node = nodes[at]
        if node.kind == .name {
          let start = Int(node.nameOffset)
          found.insert((start..<start + Int(node.nameCount)).map { names[$0] })
        }
        if node.child != 0 { levels.append(node.child) }
        at = Int(node.next)
      }
    }
    return found
  }

  /// The most paths of a plan.
  package static let maximumSlots = 24
  /// The most steps of a path.
  package static let maximumDepth = 4
}

/// What `ContentPlan` is made of.
package struct ContentPlanBuilder {
  private var nodes = [ContentNode()]
  private var names: [UInt8] = []
  private var root: UInt8 = 0
  private var slots: [[ContentStep]: Int] = [:]
  private(set) package var slotCount = 0

  /// A plan without paths.
  package init() {}

  /// The place of the value that `path` leads to; `nil` where there is no room for another path.
  package mutating func slot(_ path: [ContentStep]) -> Int? {
    if let known = slots[path] { return known }
    guard (1...ContentPlan.maximumDepth).contains(path.count), slotCount < ContentPlan.maximumSlots,
      let node = insert(path)
    else { return nil }
    nodes[node].slot = Int8(slotCount)
    slots[path] = slotCount
    slotCount += 1
    return slotCount - 1
  }

  /// The place of a value that is the name of the first of `members` that is present.
  package mutating func which(_ members: [ContentStep]) -> Int? {
    guard slotCount < ContentPlan.maximumSlots else { return nil }
    for member in members {
      guard let node = insert([member]) else { return nil }
      nodes[node].which = Int8(slotCount)
    }
    slotCount += 1
    return slotCount - 1
  }

  /// Reserves a slot that no path fills: it takes the first present one of several values.
  package mutating func reserve() -> Int? {
    guard slotCount < ContentPlan.maximumSlots else { return nil }
    slotCount += 1
    return slotCount - 1
  }

  private mutating func insert(_ path: [ContentStep]) -> Int? {
    var parent = 0
    for step in path {
      let first = parent == 0 ? root : nodes[parent].child
      var at = Int(first)
      var last = 0
      while at != 0, self.step(at) != step {
        last = at
        at = Int(nodes[at].next)
      }
      if at == 0 {
        guard nodes.count < 250, names.count < 16_384 else { return nil }
        at = nodes.count
        var node = ContentNode()
        switch step {
        case .name(let name):
          guard name.count <= 255 else { return nil }
          (node.nameOffset, node.nameCount) = (UInt16(names.count), UInt8(name.count))
          names += name
        case .number(let number): (node.kind, node.number) = (.number, number)
        case .any: node.kind = .any
        case .word(let number): (node.kind, node.number) = (.word, number)
        case .attribute(let name):
          guard name.count <= 255 else { return nil }
          node.kind = .attribute
          (node.nameOffset, node.nameCount) = (UInt16(names.count), UInt8(name.count))
          names += name
        case .element: node.kind = .element
        }
        nodes.append(node)
        if last != 0 {
          nodes[last].next = UInt8(at)
        } else if parent == 0 {
          root = UInt8(at)
        } else {
          nodes[parent].child = UInt8(at)
        }
      }
      parent = at
    }
    return parent
  }

  private func step(_ index: Int) -> ContentStep {
    let node = nodes[index]
    switch node.kind {
    case .name, .attribute:
      let start = Int(node.nameOffset)
      let name = Array(names[start..<start + Int(node.nameCount)])
      return node.kind == .name ? .name(name) : .attribute(name)
    case .number: return .number(node.number)
    case .any: return .any
    case .word: return .word(node.number)
    case .element: return .element
    }
  }

  /// Lets a member that has a node of its own fill what `*` wants of it, too.
  private mutating func spreadAny() {
    // By their slots: the order of a dictionary differs from run to run.
    for (path, slot) in slots.sorted(by: { $0.value < $1.value }) {
      guard let place = path.firstIndex(of: .any) else { continue }
      for (other, _) in slots.sorted(by: { $0.value < $1.value })
      where other.count > place && other[..<place] == path[..<place] && other[place] != .any {
        var concrete = path
        concrete[place] = other[place]
        guard let node = insert(concrete) else { continue }
        nodes[node].otherSlot = Int8(slot)
      }
    }
  }

  /// The plan; its memory lives as long as the process.
  package func plan(_ form: ContentForm) -> ContentPlan {
    var full = self
    full.spreadAny()
    let streamOffset = full.names.count
    full.names += form.stream.prefix(255)
    let nodes = UnsafeMutablePointer<ContentNode>.allocate(capacity: full.nodes.count)
    let names = UnsafeMutablePointer<UInt8>.allocate(capacity: max(1, full.names.count))
    for (i, node) in full.nodes.enumerated() { (nodes + i).initialize(to: node) }
    for (i, byte) in full.names.enumerated() { (names + i).initialize(to: byte) }
    return ContentPlan(
      kind: form.kind, slotCount: slotCount, ignoresCase: form.ignoresCase, isOpen: form.isOpen,
      separator: form.separator,
      elementNode: UInt8(full.nodes.firstIndex { $0.kind == .element } ?? 0), streamOffset: UInt16(streamOffset),
      streamCount: UInt8(min(255, form.stream.count)), nodes: UnsafePointer(nodes), names: UnsafePointer(names),
      root: full.root)
  }
}

extension ContentPlan {
  /// Scans `count` bytes from `start` on, fills `values`, of which there are `slotCount`, and tells how the content ended.
  package func scan(
    _ start: UnsafePointer<UInt8>, _ count: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> ContentResult {
    for i in 0..<slotCount { values[i] = ContentValue() }
    switch kind {
    case .bytes: return .whole(count)
    case .json: return JSONScanner(plan: self, bytes: start, count: count, values: values).scan()
    case .protobuf: return scanProtobuf(start, count, values)
    case .headers: return scanHeaders(start, count, values)
    case .words:
      scanWords(start, 0, count, values)
      return .whole(count)
    case .resp: return scanRESP(start, count, values)
    case .xml: return XMLScanner(plan: self, bytes: start, count: count, values: values).scan()
    case .messagepack: return scanMessagePack(start, count, values)
    case .ber: return scanBER(start, count, values)
    case .pairs: return scanPairs(start, count, values)
    }
  }

  /// Whether a name is that of the element that holds a whole stream.
  @inline(__always)
  func isStream(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> Bool {
    guard count == Int(streamCount), count > 0 else { return false }
    for i in 0..<count where names[Int(streamOffset) &+ i] != bytes[i] { return false }
    return true
  }

  /// The node of a level that begins at `first` for the attribute with that name; 0 where there is none.
  @inline(__always)
  func node(_ first: UInt8, attribute bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt8 {
    var at = first
    while at != 0 {
      let node = nodes[Int(at)]
      if node.kind == .attribute, Int(node.nameCount) == count {
        let name = names + Int(node.nameOffset)
        var i = 0
        while i < count, name[i] == bytes[i] { i &+= 1 }
        if i == count { return at }
      }
      at = node.next
    }
    return 0
  }

  /// The node of a level that begins at `first` with that name; 0 where there is none.
  @inline(__always)
  func node(
    _ first: UInt8, named bytes: UnsafePointer<UInt8>, _ count: Int, ignoresCase: Bool = false
  ) -> UInt8 {
    var at = first
    var any: UInt8 = 0
    while at != 0 {
      let node = nodes[Int(at)]
      switch node.kind {
      case .name where Int(node.nameCount) == count:
        let name = names + Int(node.nameOffset)
        var i = 0
        if ignoresCase {
          while i < count, Self.lower(name[i]) == Self.lower(bytes[i]) { i &+= 1 }
        } else {
          while i < count, name[i] == bytes[i] { i &+= 1 }
        }
        if i == count { return at }
      case .any: any = at
      default: break
      }
      at = node.next
    }
    return any
  }

  /// The node of a level with that number; 0 where there is none.
  @inline(__always)
  func node(_ first: UInt8, number: UInt32, _ kind: ContentNode.Kind = .number) -> UInt8 {
    var at = first
    var any: UInt8 = 0
    while at != 0 {
      let node = nodes[Int(at)]
      if node.kind == kind, node.number == number { return at }
      if node.kind == .any { any = at }
      at = node.next
    }
    return any
  }

  /// Notes the name of a member, `count` bytes at `offset`, where `place` is the node of one of several of which the first is wanted.
  @inline(__always)
  func noteWhich(_ place: UInt8, _ offset: Int, _ count: Int, _ values: UnsafeMutablePointer<ContentValue>) {
    guard place != 0, nodes[Int(place)].which >= 0 else { return }
    let slot = Int(nodes[Int(place)].which)
    guard values[slot].kind == .absent else { return }
    values[slot].kind = .text
    (values[slot].offset, values[slot].count) = (offset, count)
  }

  @inline(__always)
  static func lower(_ byte: UInt8) -> UInt8 { (0x41...0x5a).contains(byte) ? byte | 0x20 : byte }

  /// Notes a value that a node wants, unless it has one.
  @inline(__always)
  func note(_ value: ContentValue, _ node: ContentNode, _ values: UnsafeMutablePointer<ContentValue>) {
    if node.slot >= 0, values[Int(node.slot)].kind == .absent { values[Int(node.slot)] = value }
    if node.otherSlot >= 0, values[Int(node.otherSlot)].kind == .absent { values[Int(node.otherSlot)] = value }
  }
}

/// The number that decimal digits write; `nil` unless they are 1 to 19 digits, and nothing else.
package func decimalNumber(_ bytes: UnsafePointer<UInt8>, _ count: Int) -> UInt64? {
  guard (1...19).contains(count) else { return nil }
  var number: UInt64 = 0
  for i in 0..<count {
    let digit = bytes[i] &- 0x30
    guard digit < 10 else { return nil }
    number = number &* 10 &+ UInt64(digit)
  }
  return number
}
