import IMWire

/// Reads what stands in frames' bodies: lists of TLVs, in bodies as they are or inflated.
struct BodyReader: ~Copyable {
  /// The TLVs of the last body.
  private(set) var walker: TLVWalker
  /// What a compressed body says.
  private(set) var inflater: Inflater

  init(tlvLimit: Int, inflateLimit: Int, inflateRatio: Int) {
    walker = TLVWalker(maximumCount: min(65_536, max(1, tlvLimit)))
    inflater = Inflater(maximumCount: inflateLimit, maximumRatio: inflateRatio)
  }

  /// The body of the last frame had no list.
  @inline(__always)
  mutating func clear() { walker.clear() }

  /// Walks the lists of a frame's body.
  @inline(__always)
  mutating func open(_ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes, _ frame: UnsafeMutablePointer<Frame>) {
    if plan.isPlain(bytes, frame.pointee.start) {
      walker.walk(plan, bytes, at: frame.pointee.body, count: frame.pointee.bodyCount, frame)
    } else {
      openLabelled(plan, bytes, frame)
    }
  }

  /// A body that its header calls encrypted or compressed. A compressed body is inflated when it is whole zlib; many
  /// senders set the label and compress nothing.
  @inline(never)
  mutating func openLabelled(
    _ plan: UnsafePointer<Plan>, _ bytes: borrowing Bytes, _ frame: UnsafeMutablePointer<Frame>
  ) {
    walker.clear()
    if plan.pointee.encryption.isPresent,
      plan.pointee.encryption.read(bytes, frame.pointee.start) >= plan.pointee.encryptedFrom
    {
      frame.pointee.flags.insert(.encrypted)
      return
    }
    // A zlib header: deflate with a window of 32 KiB, and a check of five bits.
    if frame.pointee.bodyCount >= 2, bytes.u8(frame.pointee.body) == 0x78, bytes.u16(frame.pointee.body) % 31 == 0 {
      switch inflater.inflate(bytes, frame.pointee.body, frame.pointee.bodyCount) {
      case nil:
        frame.pointee.flags.insert(.inflated)
        let start = UnsafeRawPointer(inflater.output.pointer)
        let inflated = Bytes(RawSpan(_unsafeStart: start, byteCount: inflater.count + RawBuffer.slack))
        walker.walk(plan, inflated, at: 0, count: inflater.count, frame)
        return
      case .limit:
        frame.pointee.flags.insert(.inflateLimit)
        return
      case .notZlib:
        break
      }
    }
    frame.pointee.flags.insert(.compressLabelOnly)
    walker.walk(plan, bytes, at: frame.pointee.body, count: frame.pointee.bodyCount, frame)
  }

  /// Inflates a body of `count` bytes at `offset`. Returns the inflated bytes, or the reason of the failure.
  mutating func inflate(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) -> Inflater.Failure? {
    inflater.inflate(bytes, offset, count)
  }

  /// The next number of those that stand in the values of the elements with `tag` in the frame's own list, in their order: big-endian
  /// ones of `size` bytes each, or of each value one of up to eight bytes where `size` is 0. What is left of a value behind its last whole
  /// number is no number. `nil` behind the last one.
  func nextNumber(
    _ place: inout NumberPlace, _ tag: UInt32, size: Int, _ bytes: borrowing Bytes, _ frame: UnsafePointer<Frame>
  ) -> UInt64? {
    while place.element < walker.count {
      let element = walker.references[place.element]
      let count = Int(element.count)
      let width = size > 0 ? size : count
      if element.tag == tag, element.depth == 0, (1...8).contains(width), place.offset &+ width <= count {
        let offset = Int(element.offset) &+ place.offset
        place.offset &+= width
        return frame.pointee.flags.contains(.inflated)
          ? inflated(offset, width) : Self.number(bytes, frame.pointee.body &+ offset, width)
      }
      place.element &+= 1
      place.offset = 0
    }
    return nil
  }

  /// Where the next number of a list of TLVs may stand: in which element, and at which of its value's bytes.
  struct NumberPlace {
    fileprivate var element = 0
    fileprivate var offset = 0
  }

  /// The number of `count` bytes at `offset` of the inflated body.
  private func inflated(_ offset: Int, _ count: Int) -> UInt64 {
    let start = UnsafeRawPointer(inflater.output.pointer)
    let span = RawSpan(_unsafeStart: start, byteCount: inflater.count + RawBuffer.slack)
    return Self.number(Bytes(span), offset, count)
  }

  /// A big-endian number of up to eight bytes.
  private static func number(_ bytes: borrowing Bytes, _ offset: Int, _ count: Int) -> UInt64 {
    var number: UInt64 = 0
    for i in 0..<count { number = number << 8 | UInt64(bytes.u8(offset &+ i)) }
    return number
  }

  /// The first element of the frame's own list of TLVs with a tag.
  func element(_ tag: UInt32) -> TLVRef? {
    for i in 0..<walker.count where walker.references[i].tag == tag && walker.references[i].depth == 0 {
      return walker.references[i]
    }
    return nil
  }
}
