/// Finds the values that paths lead to in one JSON text, without recursion and without memory.
///
/// Objects and arrays that no path leads into are passed over by counting brackets; what is inside them is not looked at beyond
/// that. In those that paths lead into, the grammar of RFC 8259 holds.
struct JSONScanner {
  let plan: ContentPlan
  let bytes: UnsafePointer<UInt8>
  let count: Int
  let values: UnsafeMutablePointer<ContentValue>
  private var at = 0
  /// The containers that are read: the first node of each, whether it is an array, and its next element.
  private var heads = InlineArray<8, UInt8>(repeating: 0)
  private var arrays: UInt8 = 0
  private var elements = InlineArray<8, UInt32>(repeating: 0)
  private var owners = InlineArray<8, UInt8>(repeating: 0)
  private var starts = InlineArray<8, Int>(repeating: 0)
  private var depth = 0

  init(
    plan: ContentPlan, bytes: UnsafePointer<UInt8>, count: Int, values: UnsafeMutablePointer<ContentValue>
  ) {
    (self.plan, self.bytes, self.count, self.values) = (plan, bytes, count, values)
  }

  @inline(__always)
  private mutating func skipBlanks() {
    while at < count, bytes[at] == 0x20 || bytes[at] == 0x0a || bytes[at] == 0x0d || bytes[at] == 0x09 {
      at &+= 1
    }
  }

  /// Scans one text from the first byte on.
  consuming func scan() -> ContentResult {
    skipBlanks()
    guard at < count else { return .cut }
    // The outermost value has the outermost nodes below it.
    if let result = value(node: 0, head: plan.root) { return result }
    while depth > 0 {
      if let result = member() { return result }
    }
    return .whole(at)
  }

  /// Reads the next member or element of the innermost container, or its end.
  private mutating func member() -> ContentResult? {
    let level = depth &- 1
    let isArray = arrays &>> UInt8(level) & 1 == 1
    skipBlanks()
    guard at < count else { return .cut }
    let close: UInt8 = isArray ? 0x5d : 0x7d
    var isFirst = elements[level] == 0
    if bytes[at] == close {
      at &+= 1
      leave()
      return nil
    }
    if !isFirst {
      guard bytes[at] == 0x2c else { return .malformed(at) }
      at &+= 1
      skipBlanks()
      guard at < count else { return .cut }
    }
    isFirst = false
    let index = elements[level]
    elements[level] = index == .max ? index : index &+ 1
    var node: UInt8
    if isArray {
      node = plan.node(heads[level], number: index)
    } else {
      guard bytes[at] == 0x22 else { return .malformed(at) }
      let start = at &+ 1
      guard let isEscaped = string() else { return .cut }
      node = isEscaped ? 0 : plan.node(heads[level], named: bytes + start, at &- 1 &- start)
      plan.noteWhich(node, start, at &- 1 &- start, values)
      skipBlanks()
      guard at < count else { return .cut }
      guard bytes[at] == 0x3a else { return .malformed(at) }
      at &+= 1
      skipBlanks()
      guard at < count else { return .cut }
    }
    return value(node: node, head: node == 0 ? 0 : plan.nodes[Int(node)].child)
  }

  private mutating func leave() {
    depth &-= 1
    let owner = owners[depth]
    guard owner != 0 else { return }
    // What was read to its end has an extent.
    let node = plan.nodes[Int(owner)]
    for slot in [node.slot, node.otherSlot] where slot >= 0 {
      if values[Int(slot)].kind == .group, values[Int(slot)].offset == starts[depth] {
        values[Int(slot)].count = at &- starts[depth]
      }
    }
  }

  /// Reads a value that `node` wants, and enters it where there are nodes below it.
  private mutating func value(node: UInt8, head: UInt8) -> ContentResult? {
    let start = at
    var value = ContentValue()
    value.offset = start
    switch bytes[at] {
    case 0x22:
      guard let isEscaped = string() else { return .cut }
      value.kind = .text
      value.offset = start &+ 1
      value.count = at &- start &- 2
      value.isEscaped = isEscaped
    case 0x7b, 0x5b:
      value.kind = .group
      if head != 0, depth < 8 {
        if node != 0 { plan.note(value, plan.nodes[Int(node)], values) }
        if bytes[at] == 0x5b {
          arrays |= 1 &<< UInt8(depth)
        } else {
          arrays &= ~(1 &<< UInt8(depth))
        }
        heads[depth] = head
        elements[depth] = 0
        owners[depth] = node
        starts[depth] = start
        depth &+= 1
        at &+= 1
        return nil
      }
      guard skipContainer() else { return .cut }
      value.count = at &- start
    case 0x74: return word("true", &value, .flag, 1) ?? noted(value, node)
    case 0x66: return word("false", &value, .flag, 0) ?? noted(value, node)
    case 0x6e: return word("null", &value, .null, 0) ?? noted(value, node)
    default:
      if let result = number(&value) { return result }
    }
    return noted(value, node)
  }

  @inline(__always)
  private mutating func noted(_ value: ContentValue, _ node: UInt8) -> ContentResult? {
    if node != 0 { plan.note(value, plan.nodes[Int(node)], values) }
    return nil
  }

  private mutating func word(
    _ word: StaticString, _ value: inout ContentValue, _ kind: ContentValue.Kind, _ number: UInt64
  ) -> ContentResult? {
    let length = word.utf8CodeUnitCount
    for i in 0..<length {
      guard at &+ i < count else { return .cut }
      guard bytes[at &+ i] == word.utf8Start[i] else { return .malformed(at &+ i) }
    }
    at &+= length
    (value.kind, value.number, value.count) = (kind, number, length)
    return nil
  }

  /// -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
  private mutating func number(_ value: inout ContentValue) -> ContentResult? {
    let start = at
    if bytes[at] == 0x2d {
      value.isNegative = true
      at &+= 1
      guard at < count else { return .cut }
    }
    let first = at
    while at < count, bytes[at] &- 0x30 < 10 {
      let (product, isOver) = value.number.multipliedReportingOverflow(by: 10)
      let (sum, isOverToo) = product.addingReportingOverflow(UInt64(bytes[at] &- 0x30))
      if isOver || isOverToo { value.isInexact = true }
      value.number = sum
      at &+= 1
    }
    guard at > first else { return .malformed(at) }
    if bytes[first] == 0x30, at &- first > 1 { return .malformed(first &+ 1) }
    if at < count, bytes[at] == 0x2e {
      at &+= 1
      guard let result = digits() else { return at < count ? .malformed(at) : .cut }
      value.isInexact = result
    }
    if at < count, bytes[at] | 0x20 == 0x65 {
      at &+= 1
      if at < count, bytes[at] == 0x2b || bytes[at] == 0x2d { at &+= 1 }
      guard let result = digits() else { return at < count ? .malformed(at) : .cut }
      value.isInexact = result
    }
    (value.kind, value.count) = (.number, at &- start)
    return nil
  }

  /// Passes over one digit or more; `nil` where there is none.
  private mutating func digits() -> Bool? {
    let first = at
    while at < count, bytes[at] &- 0x30 < 10 { at &+= 1 }
    return at > first ? true : nil
  }

  /// Passes over a string, from its quote to after the one that ends it; whether it has escapes. `nil` where it does not end.
  private mutating func string() -> Bool? {
    var i = at &+ 1
    var isEscaped = false
    let ones: UInt64 = 0x0101_0101_0101_0101
    while true {
      // Eight bytes at a time, as long as none of them is a quote or a backslash.
      while i &+ 8 <= count {
        let word = UnsafeRawPointer(bytes + i).loadUnaligned(as: UInt64.self)
        let quote = word ^ (0x22 &* ones)
        let slash = word ^ (0x5c &* ones)
        let found = ((quote &- ones) & ~quote | (slash &- ones) & ~slash) & (0x80 &* ones)
        if found != 0 {
          i &+= UInt64(littleEndian: found).trailingZeroBitCount &>> 3
          break
        }
        i &+= 8
      }
      guard i < count else { return nil }
      if bytes[i] == 0x22 {
        at = i &+ 1
        return isEscaped
      }
      if bytes[i] == 0x5c {
        isEscaped = true
        i &+= 1
      }
      i &+= 1
    }
  }

  /// Passes over an object or an array by counting brackets; false where it does not end.
  private mutating func skipContainer() -> Bool {
    var open: UInt32 = 0
    while at < count {
      switch bytes[at] {
      case 0x22:
        guard string() != nil else { return false }
        continue
      case 0x7b, 0x5b: open &+= 1
      case 0x7d, 0x5d:
        open &-= 1
        if open == 0 {
          at &+= 1
          return true
        }
      default: break
      }
      at &+= 1
    }
    return false
  }
}
