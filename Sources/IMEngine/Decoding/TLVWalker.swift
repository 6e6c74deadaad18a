/// Walks TLV lists into one reused buffer of references, without recursion.
struct TLVWalker: ~Copyable {
  /// Lists below this depth are kept raw.
  static var maximumDepth: Int { 16 }
  /// TLVs that are walked in one frame.
  private let maximumCount: Int

  var references: UnsafeMutablePointer<TLVRef>
  private(set) var capacity: Int
  /// References of the last walk.
  var count = 0

  init(maximumCount: Int) {
    self.maximumCount = maximumCount
    capacity = min(256, maximumCount)
    references = .allocate(capacity: capacity)
  }

  deinit { references.deallocate() }

  /// Forgets the last walk.
  mutating func clear() { count = 0 }

  /// Walks the `length` bytes at `offset`; the references' offsets count from `offset`.
  @inline(__always)
  mutating func walk(
    _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes, at offset: Int, count length: Int,
    _ frame: UnsafeMutablePointer<Frame>
  ) {
    let end = offset &+ length
    // A list, and lists in it that hold no further ones, are nearly every body. Anything else takes the long way round, from
    // the element of the body's own list at which it stands.
    #if HARDWIRED
      let (isPlain, nested): (Bool, UInt32) = (true, 0xffff)
    #else
      let (isPlain, nested) = (plan.pointee.tlv.shape == .tag2Length4, plan.pointee.tlv.nestedTag)
    #endif
    var walk = Walk(start: offset, end: end, nested: nested)
    if isPlain {
      walkList(bytes, &walk)
      if end &- walk.position >= Self.plainHeader { walk = walkLists(plan, bytes, from: walk, frame) }
    }
    let (position, found, repeated) = (walk.position, walk.found, walk.repeated)
    count = found
    if position < end {
      walkNested(plan, bytes, body: offset, from: position, end: end, frame)
      if count > 1, !plan.pointee.tlv.mayRepeat { noteDuplicates(frame) }
    } else if repeated != 0 {
      noteDuplicates(frame)
    }
    frame.pointee.tlvCount = Int32(truncatingIfNeeded: count)
  }

  /// A body, and how far the quick walks have come in it.
  private struct Walk {
    /// Where the body begins and ends.
    let start: Int, end: Int
    /// The tag whose value is a list again.
    let nested: UInt32
    /// The element that comes next.
    var position: Int
    /// Elements in front of it.
    var found = 0
    /// One bit for each tag of the list in hand, by a hash of it: a tag whose bit is set already may stand there twice, and then
    /// it is set in `repeated`.
    var seen: UInt64 = 0, repeated: UInt64 = 0

    /// At the beginning of the body from `start` to `end`.
    init(start: Int, end: Int, nested: UInt32) {
      (self.start, self.end, self.nested, position) = (start, end, nested, start)
    }

    /// Takes note of the element in hand.
    @inline(__always)
    mutating func note(_ tag: UInt32) {
      let bit: UInt64 = 1 &<< UInt64((tag &* GoldenRatio.of32Bits) &>> 26)
      repeated |= seen & bit
      seen |= bit
      found &+= 1
    }
  }

  /// Bytes of tag and length in lists of the shape `tag2Length4`.
  private static var plainHeader: Int { 6 }

  /// Walks a body's own list, of the shape `tag2Length4`, up to the first element that holds a list or does not fit.
  @inline(__always)
  private mutating func walkList(_ bytes: borrowing Bytes, _ walk: inout Walk) {
    let (references, start, end, nested) = (references, walk.start, walk.end, walk.nested)
    // So short a body has room for all its elements.
    guard end &- start <= Self.plainHeader &* capacity else { return }
    while end &- walk.position >= Self.plainHeader {
      let head = bytes.u64(walk.position)
      let tag = UInt32(truncatingIfNeeded: head >> 48)
      let size = UInt32(truncatingIfNeeded: head >> 16)
      let value = walk.position &+ Self.plainHeader
      guard Int(size) <= end &- value, tag != nested else { return }
      (references + walk.found).initialize(
        to: TLVRef(tag: tag, offset: UInt32(truncatingIfNeeded: value &- start), count: size, depth: 0, isList: false))
      walk.note(tag)
      walk.position = value &+ Int(size)
    }
  }

  /// Goes on with a body's own list, of the shape `tag2Length4`, and with the lists in it that hold no further ones.
  @inline(never)
  private mutating func walkLists(
    _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes, from begun: Walk, _ frame: UnsafeMutablePointer<Frame>
  ) -> Walk {
    var walk = begun
    // The list in hand, and of an inner one, where its element began and what the outer list held in front of it.
    var (listEnd, depth) = (walk.end, UInt16(0))
    var outer = walk
    elements: while true {
      while listEnd &- walk.position >= Self.plainHeader {
        let head = bytes.u64(walk.position)
        let tag = UInt32(truncatingIfNeeded: head >> 48)
        let size = UInt32(truncatingIfNeeded: head >> 16)
        let value = walk.position &+ Self.plainHeader
        if Int(size) > listEnd &- value || walk.found == capacity { break elements }
        let isList = tag == walk.nested
        if isList, depth != 0 || plan.pointee.tlv.maximumDepth < 1 { break elements }
        (references + walk.found).initialize(
          to: TLVRef(
            tag: tag, offset: UInt32(truncatingIfNeeded: value &- walk.start), count: size, depth: depth,
            isList: isList))
        if isList {
          outer = walk
          walk.note(tag)
          outer.seen = walk.seen
          walk.seen = 0
          (walk.position, listEnd, depth) = (value, value &+ Int(size), 1)
          frame.pointee.tlvDepth = 1
        } else {
          walk.note(tag)
          walk.position = value &+ Int(size)
        }
      }
      if depth == 0 || walk.position < listEnd { break }
      (listEnd, depth, walk.seen) = (walk.end, 0, outer.seen)
    }
    if depth != 0 { (walk.position, walk.found) = (outer.position, outer.found) }
    return walk
  }

  /// The long way round: any shape and depth of list, from the element at `from` on. The body goes from `offset` to `end`.
  @inline(never)
  private mutating func walkNested(
    _ pointer: UnsafePointer<Plan>, _ bytes: borrowing Bytes, body offset: Int, from: Int, end: Int,
    _ frame: UnsafeMutablePointer<Frame>
  ) {
    let plan = pointer.pointee.tlv
    if plan.shape == .formed { return walkFormed(pointer, bytes, body: offset, end: end, frame) }
    let hasEnd = frame.pointee.kind.pointee.stepCount > 0 && frame.pointee.listEnd > 0
    var ends = InlineArray<17, Int>(repeating: hasEnd ? min(end, offset + frame.pointee.listEnd) : end)
    var depth = 0
    // A list may stand behind other fields, which the type's steps have read.
    var position = frame.pointee.kind.pointee.stepCount == 0 ? from : from + frame.pointee.listOffset
    let least = Int(plan.headerCount)
    let tagEnd = least == 0 ? 0 : Int(plan.length.offset)
    let isPlain = !plan.optional.isPresent
    // Bytes of padding behind each list.
    var pads = InlineArray<17, Int>(repeating: 0)
    while true {
      while position >= ends[depth] {
        if depth == 0 {
          frame.pointee.tlvCount = Int32(truncatingIfNeeded: count)
          readTags(pointer, bytes, offset, frame)
          return
        }
        position = min(ends[depth] + pads[depth], ends[depth - 1])
        depth -= 1
      }
      let left = ends[depth] - position
      let header = isPlain || plan.optional.read(bytes, position) == 0 ? least : least + Int(plan.optionalCount)
      guard left >= header else {
        frame.pointee.flags.insert(left < max(1, tagEnd) ? .incompleteTag : .incompleteLength)
        position = ends[depth]
        continue
      }
      let tag = UInt32(truncatingIfNeeded: plan.tag.read(bytes, position))
      var size = plan.length.read(bytes, position)
      if plan.lengthCountsHeader { size = size >= UInt64(header) ? size - UInt64(header) : .max }
      position += header
      guard size <= UInt64(ends[depth] - position) else {
        frame.pointee.flags.insert(.incompleteValue)
        position = ends[depth]
        continue
      }
      if count == capacity, !grow() {
        frame.pointee.flags.insert(.tlvLimit)
        frame.pointee.tlvCount = Int32(truncatingIfNeeded: count)
        return
      }
      // Where many tags hold lists, some are used for other things by others: a value that is no list is left alone.
      let isNested =
        pointer.pointee.nestedCount == 0
        ? tag == plan.nestedTag
        : pointer.isNested(tag) && pointer.weighList(bytes, position, position + Int(size), position + Int(size)) > 0
      let isList = isNested && depth < Self.maximumDepth
      references[count] = TLVRef(
        tag: tag, offset: UInt32(truncatingIfNeeded: position - offset), count: UInt32(truncatingIfNeeded: size),
        depth: UInt16(truncatingIfNeeded: depth), isList: isList)
      count += 1
      if isNested, depth >= Int(plan.maximumDepth) { frame.pointee.flags.insert(.nestedTooDeep) }
      let pad = -(header + Int(size)) & Int(plan.paddingMask)
      if isList {
        depth += 1
        ends[depth] = position + Int(size)
        pads[depth] = pad
        frame.pointee.tlvDepth = max(frame.pointee.tlvDepth, Int32(truncatingIfNeeded: depth))
      } else {
        position = min(position + Int(size) + pad, ends[depth])
      }
    }
  }

  /// Takes from the elements what the plan wants to know of them: a status, the client's name.
  func readTags(
    _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes, _ offset: Int, _ frame: UnsafeMutablePointer<Frame>
  ) {
    let wanted = plan.pointee.statusTags
    let naming: FrameKind.Flags = [.opensSession, .assignsIdentity]
    let name = frame.pointee.kind.pointee.flags.isDisjoint(with: naming) ? .max : plan.pointee.identityTag
    let keepAlive = plan.pointee.keepAliveTag
    guard wanted.0 != .max || name != .max || keepAlive != .max else { return }
    for i in 0..<count {
      let element = references[i]
      let size = Int(element.count)
      if element.tag == wanted.0 || element.tag == wanted.1, (1...8).contains(size), !element.isList,
        !frame.pointee.flags.contains(.status)
      {
        frame.pointee.status = bytes.u64(offset + Int(element.offset)) >> UInt64(64 - size * 8)
        frame.pointee.flags.insert(element.tag == wanted.0 ? .status : [.status, .otherStatus])
      } else if element.tag == name, element.depth == 0, size > 0, frame.pointee.identityCount == 0 {
        frame.pointee.identityOffset = offset + Int(element.offset) - frame.pointee.start
        frame.pointee.identityCount = size
      } else if element.tag == keepAlive, element.depth == 0, (1...8).contains(size) {
        frame.pointee.keepAlive = bytes.u64(offset + Int(element.offset)) >> UInt64(64 - size * 8)
      }
    }
  }

  /// Notes a tag that stands twice in one list. Lists of more than 64 TLVs are not compared.
  @inline(never)
  private func noteDuplicates(_ frame: UnsafeMutablePointer<Frame>) {
    guard count <= 64 else { return }
    for i in 1..<count {
      var j = i &- 1
      while j >= 0 {
        let depth = references[j].depth
        if depth < references[i].depth { break }
        if depth == references[i].depth, references[j].tag == references[i].tag {
          frame.pointee.flags.insert(.duplicateTag)
          return
        }
        j &-= 1
      }
    }
  }

  mutating func grow() -> Bool {
    guard capacity < maximumCount else { return false }
    let wanted = min(maximumCount, capacity * 4)
    let bigger = UnsafeMutablePointer<TLVRef>.allocate(capacity: wanted)
    bigger.initialize(from: references, count: count)
    references.deallocate()
    references = bigger
    capacity = wanted
    return true
  }
}
