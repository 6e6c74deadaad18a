/// What stands behind a tag, in lists whose tags tell the form of their value.
package struct TLVForm: Sendable, BitwiseCopyable, Equatable {
  /// The forms that there are.
  package enum Kind: UInt8, Sendable, BitwiseCopyable {
    /// A number of `count` bytes, big endian.
    case integer
    /// A variable-length integer: seven bits a byte, least significant first, at most four bytes.
    case varint
    /// A length, then so many bytes of text, or of anything.
    case text, bytes
    /// Two texts, each with its length in front; the value is all of it.
    case pair
  }
  /// How outputs show such a value.
  package var type: ValueType.Kind {
    switch kind {
    case .integer: .unsigned
    case .varint: .varint
    case .text: .text
    case .bytes: .bytes
    case .pair: .pair
    }
  }
  /// The tag.
  package var tag: UInt32
  /// The form.
  package var kind: Kind
  /// Bytes of an `integer`; else 0.
  package var count: UInt8

  /// A form of its parts.
  package init(tag: UInt32, kind: Kind, count: UInt8 = 0) {
    self.tag = tag
    self.kind = kind
    self.count = count
  }
}

/// An element whose tag told its form: its value, without a length in front of it, and where the next element begins.
struct FormedElement {
  var tag: UInt32
  var offset: Int, count: Int, next: Int
}

extension UnsafePointer<Plan> {
  /// The form of the values of `tag`; `nil` where the profile knows none.
  func form(_ tag: UInt32) -> TLVForm? {
    var low = 0
    var high = pointee.formCount
    while low < high {
      let middle = (low &+ high) &>> 1
      if pointee.forms[middle].tag < tag { low = middle &+ 1 } else { high = middle }
    }
    guard low < pointee.formCount, pointee.forms[low].tag == tag else { return nil }
    return pointee.forms[low]
  }

  /// A variable-length integer at `position`, and where it ends; `nil` where it does not end before `end`, or in four bytes.
  func varint(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> (value: Int, next: Int)? {
    var value = 0
    for i in 0..<min(4, max(0, end - position)) {
      let byte = bytes.u8(position + i)
      value |= Int(byte & 0x7f) << (7 * i)
      if byte & 0x80 == 0 { return (value, position + i + 1) }
    }
    return nil
  }

  /// The element at `position`; `nil` where its tag is not known, or `end` cuts it.
  func formed(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> FormedElement? {
    let start = position + Int(pointee.tlv.headerCount)
    guard start <= end else { return nil }
    let tag = UInt32(truncatingIfNeeded: pointee.tlv.tag.read(bytes, position))
    guard let form = form(tag) else { return nil }
    switch form.kind {
    case .integer:
      let count = Int(form.count)
      return end - start >= count ? FormedElement(tag: tag, offset: start, count: count, next: start + count) : nil
    case .varint:
      return varint(bytes, start, end).map {
        FormedElement(tag: tag, offset: start, count: $0.next - start, next: $0.next)
      }
    case .text, .bytes:
      return text(bytes, start, end).map { FormedElement(tag: tag, offset: $0, count: $1 - $0, next: $1) }
    case .pair:
      guard let first = text(bytes, start, end), let second = text(bytes, first.end, end) else { return nil }
      return FormedElement(tag: tag, offset: start, count: second.end - start, next: second.end)
    }
  }

  /// What stands behind a length at `position`.
  private func text(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> (start: Int, end: Int)? {
    let start = position + (pointee.tlv.length.mask.nonzeroBitCount + 7) / 8
    guard start <= end else { return nil }
    let count = pointee.tlv.length.read(bytes, position)
    return count <= UInt64(end - start) ? (start, start + Int(count)) : nil
  }

  // MARK: Lists with a length in front

  /// The list behind a length of `width` bytes (0: a varint) at `position`; `nil` where `end` cuts it.
  func list(_ bytes: borrowing Bytes, _ position: Int, _ end: Int, width: Int) -> (start: Int, end: Int)? {
    if width == 0 {
      guard let length = varint(bytes, position, end), length.value <= end - length.next else { return nil }
      return (length.next, length.next + length.value)
    }
    guard width <= 4, end - position >= width else { return nil }
    let count = Int(truncatingIfNeeded: bytes.u64(position) >> UInt64(64 - width * 8))
    return count <= end - position - width ? (position + width, position + width + count) : nil
  }

  /// How many elements stand between `position` and `end`; `nil` where they do not fill that place. Lists whose tags tell no
  /// form are not looked into: their walk notes what is wrong.
  func fits(_ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Int? {
    guard pointee.tlv.shape == .formed else { return 0 }
    var position = position
    var count = 0
    while position < end {
      guard let element = formed(bytes, position, end) else { return nil }
      position = element.next
      count += 1
    }
    return count
  }

  /// Takes note of a list in the body that begins at `body`.
  func note(list: (start: Int, end: Int), _ body: Int, _ frame: UnsafeMutablePointer<Frame>) {
    if frame.pointee.listEnd == 0 {
      frame.pointee.listOffset = list.start - body
      frame.pointee.listEnd = list.end - body
    } else {
      frame.pointee.secondListOffset = list.start - body
      frame.pointee.secondListEnd = list.end - body
    }
  }

  // MARK: Other steps

  /// Whether the bytes of `step` stand at `position`.
  func stands(_ step: PlanStep, _ bytes: borrowing Bytes, _ position: Int, _ end: Int) -> Bool {
    let count = Int(step.count)
    return (1...8).contains(count) && end - position >= count
      && bytes.u64(position) >> UInt64(64 - count * 8) & step.b == step.a
  }

  /// Reads statuses of `width` bytes up to `end`: the first that refuses counts, else the first.
  func readStatuses(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, width: Int, _ frame: UnsafeMutablePointer<Frame>
  ) -> Bool {
    guard (1...8).contains(width), end > position, (end - position) % width == 0 else { return false }
    for at in stride(from: position, to: end, by: width) {
      let status = bytes.u64(at) >> UInt64(64 - width * 8)
      let refuses = refuses(status, frame.pointee.kind)
      if at == position || refuses { put(status, .status, frame) }
      if refuses { return true }
    }
    return true
  }

  /// Bits of proof that what `step` reads at `position` gives, in a body that ends at `last` and of which nothing is known
  /// from `end` on; `nil` where it cannot stand there.
  func weigh(
    _ step: PlanStep, _ bytes: borrowing Bytes, at position: inout Int, last: Int, end: Int
  ) -> Int? {
    switch step.operation {
    case .refuse:
      return stands(step, bytes, position, min(last, end)) ? nil : 0
    case .close:
      return position == last ? 8 : nil
    case .each:
      guard position < last, (last - position) % max(1, Int(step.count)) == 0 else { return nil }
      position = last
      return 0
    case .list:
      let isCut = end < last && end - position < max(4, Int(step.count))
      guard let found = list(bytes, position, last, width: Int(step.count)), !isCut || found.start <= end else {
        // More bytes may tell.
        position = last
        return isCut ? 0 : nil
      }
      position = found.end
      guard found.end <= end else { return 0 }
      // An empty one is a zero, and zeros are common.
      return fits(bytes, found.start, found.end).map { found.start == found.end ? 4 : min(24, 8 + 4 * $0) }
    default:
      return 0
    }
  }
}

extension TLVWalker {
  /// Walks the lists of a body whose tags tell the form of their values: those that its steps have found, or all of it. The
  /// body goes from `offset` to `end`.
  mutating func walkFormed(
    _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes, body offset: Int, end: Int,
    _ frame: UnsafeMutablePointer<Frame>
  ) {
    if frame.pointee.kind.pointee.stepCount == 0 {
      walkFormed(plan, bytes, offset, from: offset, to: end, frame)
    } else {
      let from = min(end, offset + frame.pointee.listOffset)
      let to = frame.pointee.listEnd > 0 ? min(end, offset + frame.pointee.listEnd) : end
      walkFormed(plan, bytes, offset, from: from, to: to, frame)
      if frame.pointee.secondListEnd > 0 {
        walkFormed(
          plan, bytes, offset, from: min(end, offset + frame.pointee.secondListOffset),
          to: min(end, offset + frame.pointee.secondListEnd), frame)
      }
    }
    frame.pointee.tlvCount = Int32(truncatingIfNeeded: count)
    readTags(plan, bytes, offset, frame)
  }

  private mutating func walkFormed(
    _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes, _ offset: Int, from: Int, to end: Int,
    _ frame: UnsafeMutablePointer<Frame>
  ) {
    var position = from
    while position < end {
      guard let element = plan.formed(bytes, position, end) else {
        // Behind a tag whose form nobody knows, nobody knows where the next one stands.
        frame.pointee.flags.insert(.incompleteValue)
        return
      }
      if count == capacity, !grow() {
        frame.pointee.flags.insert(.tlvLimit)
        return
      }
      references[count] = TLVRef(
        tag: element.tag, offset: UInt32(truncatingIfNeeded: element.offset - offset),
        count: UInt32(truncatingIfNeeded: element.count), depth: 0, isList: false)
      count += 1
      position = element.next
    }
  }
}
