import IMContent

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Where a frame of the general reader is, as places in the bytes that were searched.
struct GeneralExtent {
  /// The first byte, the body's first byte, the byte after the body, and the one after the frame.
  var start: Int, body: Int, bodyEnd: Int, end: Int
  /// Whether it is a beat between frames.
  var isBeat = false
  /// Whether the content was scanned already, and ended where it had to.
  var isScanned = false
  /// Which of the plan's prefaces it is; negative where it is none.
  var preface: Int8 = -1
  /// The header's first byte, the byte after its length, and the byte after its parts.
  var header: Int, lengthEnd: Int, partsEnd: Int
  /// The parts of the plan's header that it has, one bit each.
  var parts: UInt8 = 0
  /// The bytes of a length of variable size beyond its least size, in headers with such parts: they move what follows.
  var stretch = 0
  /// Whether its header differs from the plan's.
  var isForeign = false
  /// The byte after the captured ones, if the snaplen truncated the body; otherwise negative.
  var cut = -1

  /// A frame and its body, by offsets.
  init(start: Int, body: Int, bodyEnd: Int, end: Int, isBeat: Bool = false, isScanned: Bool = false, preface: Int8 = -1)
  {
    (self.start, self.body, self.bodyEnd, self.end) = (start, body, bodyEnd, end)
    (self.isBeat, self.isScanned, self.preface) = (isBeat, isScanned, preface)
    (header, lengthEnd, partsEnd) = (start, body, body)
  }
}

/// What the bytes at a place are, for the general reader.
enum GeneralResult {
  /// A frame that is there to its end.
  case frame(GeneralExtent)
  /// The beginning of one; so many bytes are needed to go on, as far as that is known, else 0.
  case needMore(Int)
  /// So many bytes that belong to no frame, after which one may begin.
  case stray(Int)
  /// Not a frame.
  case notAFrame
}

extension UnsafePointer<Plan> {
  /// The message or record that `position` is in, for `message` framings: `boundary` is the WebSocket message.
  ///
  /// `values` receives what the content's paths lead to where finding the frame's end needs a scan.
  func nextGeneral(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, message boundary: Range<Int>?,
    _ values: UnsafeMutablePointer<ContentValue>
  ) -> GeneralResult {
    guard let general = pointee.general else { return .notAFrame }
    switch pointee.framing.kind {
    case .counted: return nextCounted(bytes, position, end, general)
    case .message: return opened(nextRecord(bytes, position, end, boundary, general), bytes, general)
    case .terminated: return opened(nextTerminated(bytes, position, end, general), bytes, general)
    case .headers: return nextBlock(bytes, position, end, general, values)
    case .resp: return nextValue(bytes, position, end, general, values)
    case .xml: return nextElement(bytes, position, end, general, values)
    case .pairs: return nextPairs(bytes, position, end, general)
    case .length, .delimited, .line: return .notAFrame
    }
  }

  private func nextCounted(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ general: UnsafePointer<GeneralPlan>
  ) -> GeneralResult {
    let available = end - position
    let header = Int(pointee.headerCount)
    guard available >= (general.pointee.coding == .field && !general.pointee.hasAbsentLength ? header : 1) else {
      return .needMore(header)
    }
    let head = bytes.u64(position)
    if available < 8, pointee.magicMask != 0 {
      let seen = pointee.magicMask & ~(UInt64.max >> UInt64(available * 8))
      guard head & seen == pointee.magic & seen else { return .notAFrame }
    } else {
      guard head & pointee.magicMask == pointee.magic else { return .notAFrame }
    }
    if general.pointee.hasAbsentLength, case .field(let field) = general.pointee.parts[0] {
      let place = field.place
      guard available >= place.offset + place.count else { return .needMore(place.offset + place.count) }
      let kind = kind(field.read(bytes, position))
      if kind.pointee.flags.contains(.lengthAbsent), head & kind.pointee.headMask == kind.pointee.headValue {
        let count = general.pointee.coding == .field ? Int(pointee.length.offset) : Int(pointee.lengthOffset)
        guard available >= count else { return .needMore(count) }
        let stop = position + count
        return .frame(GeneralExtent(start: position, body: stop, bodyEnd: stop, end: stop))
      }
    }
    guard available >= header else { return .needMore(header) }
    var extent = GeneralExtent(start: position, body: position, bodyEnd: position, end: position)
    var extra = 0
    if general.pointee.headerPartCount > 0 {
      let result = findParts(bytes, position, end, general, &extent, &extra)
      guard result != .notAFrame else { return .notAFrame }
      let whole = header + extra + extent.stretch
      guard result == .frame, available >= whole else { return .needMore(max(available + 1, whole)) }
    }
    guard let (value, width) = readLength(bytes, position, end, general, &extent) else { return .notAFrame }
    guard width > 0 else { return .needMore(available + 1) }
    stretch(width, general, &extent)
    // The header ends after the length, or after the bytes that follow it in the header.
    let isField = general.pointee.coding == .field
    let before =
      general.pointee.lengthFollowsParts
      ? extra : base(of: isField ? Int(pointee.length.offset) : Int(pointee.lengthOffset), extent, general) - position
    extent.body = extent.lengthEnd + headerAfterLength(general) + extra - before
    var body = value &+ UInt64(bitPattern: Int64(pointee.lengthAdd))
    if general.pointee.coding == .coap {
      // A code and a token follow the length, which does not count them.
      body &+= 1 &+ UInt64(bytes.u8(extent.lengthEnd - width) & 15) &- UInt64(headerAfterLength(general))
    }
    if general.pointee.countsLength { body &-= UInt64(width - leastLength(general)) }
    if pointee.framing.lengthCountsHeader { body &-= UInt64(extra) }
    guard body <= UInt64(pointee.maximumBody) + UInt64(pointee.framing.trailerCount) else { return .notAFrame }
    let count = extent.body - position + Int(body)
    let trailer = min(Int(body), Int(pointee.framing.trailerCount))
    guard available >= count else { return .needMore(count) }
    extent.end = position + count
    extent.bodyEnd = extent.end - trailer
    return .frame(extent)
  }

  /// Finds the parts of the header at `position` that depend on its numbers; `extra` is their size in bytes.
  ///
  /// A number after a length of variable size is where that length ends, so the length is read before it. `needMore` if the bytes end
  /// before a number that decides; `notAFrame` if there is no length.
  private func findParts(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ general: UnsafePointer<GeneralPlan>,
    _ extent: inout GeneralExtent, _ extra: inout Int
  ) -> ReadResult {
    let varies = general.pointee.coding != .field && !general.pointee.lengthFollowsParts
    let offset = Int(pointee.lengthOffset)
    var length: UInt64?
    for i in 0..<Int(general.pointee.headerPartCount) {
      let part = general.pointee.headerParts[i]
      if varies, length == nil, Int(part.at) > offset || Int(part.when.offset) > offset || part.isOfLength {
        guard let (value, width) = readLength(bytes, position, end, general, &extent) else { return .notAFrame }
        guard width > 0 else { return .needMore }
        stretch(width, general, &extent)
        length = value
      }
      // Its condition is in the header without parts, or after some of them.
      var number = length ?? 0
      if !part.isOfLength {
        let base = self.base(of: Int(part.when.offset), extent, general)
        let place = part.when.place
        guard base + place.offset + place.count <= end else { return .needMore }
        number = part.when.read(bytes, base)
      }
      if part.isPresent(number) {
        extent.parts |= 1 &<< UInt8(i)
        extra += Int(part.count)
      }
      extent.partsEnd = position + Int(part.at) + extra + (Int(part.at) > offset ? extent.stretch : 0)
    }
    return .frame
  }

  /// Notes the size of a length that was read, where parts of the header may follow it.
  private func stretch(_ width: Int, _ general: UnsafePointer<GeneralPlan>, _ extent: inout GeneralExtent) {
    guard general.pointee.headerPartCount > 0, general.pointee.coding != .field,
      !general.pointee.lengthFollowsParts
    else { return }
    extent.stretch = width - leastLength(general)
  }

  /// The minimum size of a length, in bytes.
  private func leastLength(_ general: UnsafePointer<GeneralPlan>) -> Int {
    switch general.pointee.coding {
    case .field:
      let place = pointee.length.place
      return place.count
    case .decimal: return max(1, Int(general.pointee.digitCount))
    case .varint, .coap, .ber: return 1
    }
  }

  /// The number of header bytes after the length.
  private func headerAfterLength(_ general: UnsafePointer<GeneralPlan>) -> Int {
    var end = leastLength(general)
    if general.pointee.lengthFollowsParts {
      end += Int(general.pointee.headerParts[max(0, Int(general.pointee.headerPartCount) - 1)].at)
      if general.pointee.coding == .field {
        end += pointee.length.place.offset - Field.afterParts
      } else {
        end += Int(pointee.lengthOffset)
      }
    } else if general.pointee.coding == .field {
      end += pointee.length.place.offset
    } else {
      end += Int(pointee.lengthOffset)
    }
    return max(0, Int(pointee.headerCount) - end)
  }

  /// The length of the frame whose header begins at `position`, and its size in bytes: 0 if more bytes are needed; `nil` if there is none. Sets
  /// `extent.lengthEnd`.
  private func readLength(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ general: UnsafePointer<GeneralPlan>,
    _ extent: inout GeneralExtent
  ) -> (value: UInt64, width: Int)? {
    if general.pointee.coding == .field {
      let place = pointee.length.place
      let base = self.base(of: Int(pointee.length.offset), extent, general)
      extent.lengthEnd = base + place.offset + place.count
      guard extent.lengthEnd <= end else { return (0, 0) }
      return (pointee.length.read(bytes, base), place.count)
    }
    let offset = Int(pointee.lengthOffset)
    let place =
      general.pointee.lengthFollowsParts
      ? extent.partsEnd + offset : offset + base(of: offset, extent, general)
    guard place <= end else { return (0, 0) }
    guard
      let (value, width) = Self.length(
        bytes, place, end, general.pointee.coding, digits: Int(general.pointee.digitCount))
    else { return nil }
    extent.lengthEnd = place + width
    return (value, width)
  }

  /// Where the length of variable size is in the header of a frame; `nil` if the plan has none.
  func lengthPlace(_ extent: GeneralExtent, _ general: UnsafePointer<GeneralPlan>) -> Range<Int>? {
    guard pointee.framing.kind == .counted, general.pointee.coding != .field else { return nil }
    let offset = Int(pointee.lengthOffset)
    let start =
      offset + (general.pointee.lengthFollowsParts ? extent.partsEnd : base(of: offset, extent, general))
    return start < extent.lengthEnd ? start..<extent.lengthEnd : nil
  }

  /// The base of `offset`, which itself encodes whether it counts from the end of the length or of the header's parts. Parts before a field move its
  /// base, and so does a length before it that has more bytes than the least.
  func base(of offset: Int, _ extent: GeneralExtent, _ general: UnsafePointer<GeneralPlan>) -> Int {
    if offset >= Field.afterParts { return extent.partsEnd - Field.afterParts }
    if offset >= Field.afterLength { return extent.lengthEnd - Field.afterLength }
    var base = extent.header
    if extent.stretch != 0, offset > Int(pointee.lengthOffset) { base += extent.stretch }
    if extent.parts != 0 {
      for i in 0..<Int(general.pointee.headerPartCount)
      where extent.parts &>> UInt8(i) & 1 == 1 && Int(general.pointee.headerParts[i].at) <= offset {
        base += Int(general.pointee.headerParts[i].count)
      }
    }
    return base
  }

  /// The number of `field` in the frame at `extent`; `nil` if the frame ends before it.
  func read(
    _ field: Field, _ bytes: borrowing Bytes, _ extent: GeneralExtent, _ general: UnsafePointer<GeneralPlan>
  ) -> UInt64? {
    let base = base(of: Int(field.offset), extent, general)
    let place = field.place
    guard base + place.offset >= extent.start, base + place.offset + place.count <= extent.bodyEnd else { return nil }
    return field.read(bytes, base)
  }

  /// A frame whose bounds are not in its header, with the header at its beginning, if the plan has one.
  private func opened(
    _ result: GeneralResult, _ bytes: borrowing Bytes, _ general: UnsafePointer<GeneralPlan>
  ) -> GeneralResult {
    guard case .frame(var extent) = result else { return result }
    extent.header = extent.body
    if general.pointee.isLine, extent.bodyEnd > extent.body, bytes.u8(extent.bodyEnd - 1) == 0x0d {
      extent.bodyEnd -= 1
    }
    let count = Int(general.pointee.innerHeader)
    guard count > 0 else { return .frame(extent) }
    extent.isForeign =
      extent.bodyEnd - extent.body < count || bytes.u64(extent.body) & pointee.magicMask != pointee.magic
    if !extent.isForeign { extent.body += count }
    extent.lengthEnd = extent.body
    extent.partsEnd = extent.body
    return .frame(extent)
  }

  /// The varint at `place`, and its size in bytes; `nil` if there is none before `end`.
  func size(_ bytes: borrowing Bytes, _ place: Int, _ end: Int) -> (value: UInt64, count: Int)? {
    guard let found = Self.length(bytes, place, end, .varint), found.count > 0 else { return nil }
    return found
  }

  /// A length at `place`, and its bytes: 0 where more bytes would tell; `nil` where there is none.
  private static func length(
    _ bytes: borrowing Bytes, _ place: Int, _ end: Int, _ coding: LengthCoding, digits: Int = 0
  ) -> (value: UInt64, count: Int)? {
    var value: UInt64 = 0
    var at = place
    switch coding {
    case .field: return nil
    case .varint:
      for shift in stride(from: UInt64(0), to: 28, by: 7) {
        guard at < end else { return (0, 0) }
        let byte = bytes.u8(at)
        at += 1
        value |= UInt64(byte & 0x7f) << shift
        if byte < 0x80 { return (value, at - place) }
      }
      return nil
    case .decimal:
      let most = digits > 0 ? digits : 9
      while at < end, at - place < most, bytes.u8(at) &- 0x30 < 10 {
        value = value * 10 + UInt64(bytes.u8(at) &- 0x30)
        at += 1
      }
      if digits > 0 {
        guard at - place == digits else { return at < end ? nil : (0, 0) }
        return (value, digits)
      }
      guard at < end else { return (0, 0) }
      // The byte after the digits belongs to them.
      return at > place && bytes.u8(at) &- 0x30 >= 10 ? (value, at - place + 1) : nil
    case .coap:
      guard at < end else { return (0, 0) }
      // A token has at most eight bytes.
      guard bytes.u8(at) & 15 <= 8 else { return nil }
      let nibble = bytes.u8(at) >> 4
      if nibble < 13 { return (UInt64(nibble), 1) }
      let (more, least): (Int, UInt64) = nibble == 13 ? (1, 13) : nibble == 14 ? (2, 269) : (4, 65_805)
      guard end - at > more else { return (0, 0) }
      for i in 1...more { value = value << 8 | UInt64(bytes.u8(at + i)) }
      return (value + least, 1 + more)
    case .ber:
      guard at < end else { return (0, 0) }
      let first = bytes.u8(at)
      if first < 0x80 { return (UInt64(first), 1) }
      let more = Int(first & 0x7f)
      guard (1...4).contains(more) else { return nil }
      guard end - at > more else { return (0, 0) }
      for i in 1...more { value = value << 8 | UInt64(bytes.u8(at + i)) }
      return (value, 1 + more)
    }
  }

  private func nextRecord(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ boundary: Range<Int>?,
    _ general: UnsafePointer<GeneralPlan>
  ) -> GeneralResult {
    guard let boundary else { return .needMore(0) }
    if boundary.lowerBound > position { return .stray(min(end, boundary.lowerBound) - position) }
    guard boundary.upperBound <= end else {
      return end - position > Int(pointee.maximumBody) ? .notAFrame : .needMore(0)
    }
    let stop = boundary.upperBound
    guard stop - position <= Int(pointee.maximumBody) else { return .notAFrame }
    if general.pointee.hasCountedRecords {
      guard let (count, width) = Self.length(bytes, position, stop, .varint), width > 0,
        count <= UInt64(stop - position - width)
      else {
        return .frame(GeneralExtent(start: position, body: position, bodyEnd: stop, end: stop))
      }
      let last = position + width + Int(count)
      return .frame(GeneralExtent(start: position, body: position + width, bodyEnd: last, end: last))
    }
    if general.pointee.hasRecords,
      let last = bytes.find(position, stop, general.pointee.ends, general.pointee.endCount)
    {
      return .frame(
        GeneralExtent(start: position, body: position, bodyEnd: last, end: last + Int(general.pointee.endCount)))
    }
    return .frame(GeneralExtent(start: position, body: position, bodyEnd: stop, end: stop))
  }

  private func nextTerminated(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ general: UnsafePointer<GeneralPlan>
  ) -> GeneralResult {
    var body = position
    let begins = Int(general.pointee.beginCount)
    if begins > 0 {
      guard let first = bytes.find(position, end, general.pointee.begins, general.pointee.beginCount) else {
        let kept = min(begins - 1, end - position)
        return end - position > kept ? .stray(end - position - kept) : .needMore(begins)
      }
      if first > position { return .stray(first - position) }
      body = position + begins
    }
    guard let last = bytes.find(body, end, general.pointee.ends, general.pointee.endCount) else {
      return end - position > Int(pointee.maximumBody) ? .notAFrame : .needMore(0)
    }
    guard last - body <= Int(pointee.maximumBody) else { return .notAFrame }
    return .frame(
      GeneralExtent(start: position, body: body, bodyEnd: last, end: last + Int(general.pointee.endCount)))
  }

  private func nextBlock(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ general: UnsafePointer<GeneralPlan>,
    _ values: UnsafeMutablePointer<ContentValue>
  ) -> GeneralResult {
    guard position < end, var content = general.pointee.content else { return .needMore(1) }
    let beat = general.pointee.beat
    if beat >= 0, Int16(bytes.u8(position)) == beat || bytes.u8(position) == 0x0d && beat == 0x0a {
      guard bytes.u8(position) != 0x0d || position + 1 < end else { return .needMore(2) }
      let count = bytes.u8(position) == 0x0d ? 2 : 1
      guard count == 1 || bytes.u8(position + 1) == 0x0a else { return .notAFrame }
      let stop = position + count
      return .frame(GeneralExtent(start: position, body: stop, bodyEnd: stop, end: stop, isBeat: true))
    }
    var head: Int
    if general.pointee.isOneLine {
      guard let feed = bytes.find(position, min(end, position + 8_192), 0x0a, 1) else {
        return end - position >= 8_192 ? .notAFrame : .needMore(0)
      }
      var last = feed
      if last > position, bytes.u8(last - 1) == 0x0d { last -= 1 }
      guard last > position, !holdsControl(bytes, position, min(last - position, 256)) else { return .notAFrame }
      content.kind = .words
      _ = bytes.scan(content, position, last - position, values)
      head = feed + 1
    } else {
      switch bytes.scan(content, position, min(end - position, 8_192), values) {
      case .whole(let count): head = position + count
      case .cut: return end - position >= 8_192 ? .notAFrame : .needMore(0)
      case .malformed: return .notAFrame
      }
    }
    var bodyEnd = head
    let ends = Int(general.pointee.endCount)
    if let count = bodyCount(bytes, position, head, general, values) {
      guard count <= UInt64(pointee.maximumBody) else { return .notAFrame }
      bodyEnd = head + Int(count)
      guard end - bodyEnd >= ends else { return .needMore(bodyEnd + ends - position) }
      guard ends == 0 || bytes.holds(bodyEnd, general.pointee.ends, ends) else { return .notAFrame }
    } else if !general.pointee.isOneLine, ends > 0 {
      guard let last = bytes.find(head, end, general.pointee.ends, general.pointee.endCount) else {
        return end - position > Int(pointee.maximumBody) ? .notAFrame : .needMore(0)
      }
      bodyEnd = last
    } else {
      return .frame(GeneralExtent(start: position, body: head, bodyEnd: head, end: head, isScanned: true))
    }
    return .frame(
      GeneralExtent(start: position, body: head, bodyEnd: bodyEnd, end: bodyEnd + ends, isScanned: true))
  }

  /// The length of the body after a header block, where the block tells it.
  private func bodyCount(
    _ bytes: borrowing Bytes, _ position: Int, _ head: Int, _ general: UnsafePointer<GeneralPlan>,
    _ values: UnsafeMutablePointer<ContentValue>
  ) -> UInt64? {
    if general.pointee.bodyLength >= 0 {
      let value = values[Int(general.pointee.bodyLength)]
      guard value.kind == .text else { return nil }
      return bytes.decimal(position + value.offset, value.count)
    }
    guard general.pointee.bodyTypeCount > 0,
      case .value(let slot) = general.pointee.parts[Int(general.pointee.partCount) - 1],
      let word = ContentNumber.of(values[Int(slot)], bytes, at: position)
    else { return nil }
    for i in 0..<Int(general.pointee.bodyTypeCount) where general.pointee.bodyTypes[i] == word {
      // The line's last word.
      var last = head - 1
      while last > position, bytes.u8(last - 1) <= 0x20 { last -= 1 }
      var first = last
      while first > position, bytes.u8(first - 1) > 0x20 { first -= 1 }
      return bytes.decimal(first, last - first)
    }
    return nil
  }

  private func nextValue(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ general: UnsafePointer<GeneralPlan>,
    _ values: UnsafeMutablePointer<ContentValue>
  ) -> GeneralResult {
    guard position < end, let content = general.pointee.content else { return .needMore(1) }
    let count = min(end - position, Int(pointee.maximumBody))
    switch bytes.scan(content, position, count, values) {
    case .whole(let count):
      let stop = position + count
      return .frame(GeneralExtent(start: position, body: position, bodyEnd: stop, end: stop, isScanned: true))
    case .cut: return count < end - position ? .notAFrame : .needMore(0)
    case .malformed: return .notAFrame
    }
  }

  /// The element at `position`; blanks between elements are a beat where the plan has one, else they belong to the next element.
  private func nextElement(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ general: UnsafePointer<GeneralPlan>,
    _ values: UnsafeMutablePointer<ContentValue>
  ) -> GeneralResult {
    var stop = position
    while stop < end, XMLText.isBlank(bytes.u8(stop)) { stop += 1 }
    guard stop > position, general.pointee.beat >= 0 else {
      return nextValue(bytes, position, end, general, values)
    }
    return .frame(GeneralExtent(start: position, body: stop, bodyEnd: stop, end: stop, isBeat: true))
  }

  /// The longest first pair of a frame of pairs, and the longest head of one, in bytes.
  private static var longestPair: Int { 64 }

  /// Pairs: the first begins a frame, the second has the length of those that follow, the last the sum of all bytes before it.
  private func nextPairs(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ general: UnsafePointer<GeneralPlan>
  ) -> GeneralResult {
    let begins = Int(general.pointee.beginCount)
    guard let first = bytes.find(position, end, general.pointee.begins, general.pointee.beginCount) else {
      let kept = min(begins - 1, end - position)
      return end - position > kept ? .stray(end - position - kept) : .needMore(begins)
    }
    if first > position { return .stray(first - position) }
    let separator = general.pointee.content?.separator ?? 1
    let available = end - position
    guard let stop = bytes.first(separator, position + begins, min(end, position + Self.longestPair)) else {
      return available >= Self.longestPair ? .notAFrame : .needMore(available + 1)
    }
    guard let close = bytes.first(separator, stop + 1, min(end, stop + Self.longestPair)) else {
      return end - stop >= Self.longestPair ? .notAFrame : .needMore(available + 1)
    }
    guard let (tag, value) = pair(bytes, stop + 1, close), tag == general.pointee.lengthTag,
      value <= UInt64(pointee.maximumBody)
    else { return .notAFrame }
    let last = close + 1 + Int(value)
    guard general.pointee.checksumTag > 0 else {
      guard last <= end else { return .needMore(last - position) }
      return .frame(GeneralExtent(start: position, body: position, bodyEnd: last, end: last))
    }
    guard last + 2 <= end, let over = bytes.first(separator, last, min(end, last + Self.longestPair)) else {
      return end - last >= Self.longestPair ? .notAFrame : .needMore(max(last + 2 - position, available + 1))
    }
    guard let (sumTag, _) = pair(bytes, last, over), sumTag == general.pointee.checksumTag else { return .notAFrame }
    return .frame(GeneralExtent(start: position, body: position, bodyEnd: over + 1, end: over + 1))
  }

  /// The numbers of a pair between two places, both decimal.
  private func pair(_ bytes: borrowing Bytes, _ start: Int, _ end: Int) -> (tag: UInt64, value: UInt64)? {
    guard let equals = bytes.first(0x3d, start, end), let tag = bytes.decimal(start, equals - start),
      let value = bytes.decimal(equals + 1, end - equals - 1)
    else { return nil }
    return (tag, value)
  }

  /// Verifies the sum of a frame of pairs: of all bytes up to the last pair, modulo 256.
  func verifyPairs(
    _ bytes: borrowing Bytes, _ extent: GeneralExtent, _ general: UnsafePointer<GeneralPlan>,
    _ frame: UnsafeMutablePointer<Frame>
  ) {
    guard general.pointee.checksumTag > 0 else { return }
    let separator = general.pointee.content?.separator ?? 1
    var last = extent.end - 1
    while last > extent.start, bytes.u8(last - 1) != separator { last -= 1 }
    guard let (_, found) = pair(bytes, last, extent.end - 1) else { return }
    var sum: UInt8 = 0
    for i in extent.start..<last { sum &+= bytes.u8(i) }
    frame.pointee.checksum = found
    frame.pointee.checksumStatus = found == UInt64(sum) ? .be : .bad
  }
}

extension Bytes {
  /// The first place at or after `position` where `count` bytes are those of `pattern`; `nil` where none is before `end`.
  func find(_ position: Int, _ end: Int, _ pattern: UInt32, _ count: UInt8) -> Int? {
    let width = Int(count)
    guard width > 0 else { return nil }
    let first = Int32(truncatingIfNeeded: pattern >> UInt32((width - 1) * 8) & 0xff)
    var position = position
    while end - position >= width {
      let found = span.withUnsafeBytes { raw -> Int? in
        guard let base = raw.baseAddress, let found = memchr(base + position, first, end - position - width + 1) else {
          return nil
        }
        return UnsafeRawPointer(found) - base
      }
      guard let found else { return nil }
      if holds(found, pattern, width) { return found }
      position = found + 1
    }
    return nil
  }

  /// Whether the `width` bytes at `position` are those of `pattern`.
  func holds(_ position: Int, _ pattern: UInt32, _ width: Int) -> Bool {
    u64(position) >> UInt64(64 - width * 8) == UInt64(pattern)
  }
}
