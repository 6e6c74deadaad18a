import IMContent

/// The values that a content's paths lead to: one buffer, used again for every frame.
struct ContentValues: ~Copyable {
  let pointer: UnsafeMutablePointer<ContentValue>

  init() {
    pointer = .allocate(capacity: ContentPlan.maximumSlots)
    pointer.initialize(repeating: ContentValue(), count: ContentPlan.maximumSlots)
  }

  deinit { pointer.deallocate() }
}

extension UnsafePointer<Plan> {
  /// Reads the frame at `extent`, which `isFromServer` or not: its type, its numbers and its status, and describes it by `frame`; false
  /// where it is no frame of this plan.
  func readGeneral(
    _ bytes: borrowing Bytes, _ extent: GeneralExtent, isFromServer: Bool, isAnswered: Bool,
    _ values: UnsafeMutablePointer<ContentValue>, _ frame: UnsafeMutablePointer<Frame>
  ) -> Bool {
    guard let general = pointee.general else { return false }
    if isFromServer, let other = general.pointee.serverSide {
      return other.readGeneral(
        bytes, extent, isFromServer: isFromServer, isAnswered: isAnswered, values, frame)
    }
    frame.pointee.start = extent.start
    frame.pointee.headerCount = extent.body - extent.start
    frame.pointee.count = extent.end - extent.start
    frame.pointee.trailerCount = extent.end - extent.bodyEnd
    frame.pointee.flags = .opened
    frame.pointee.session = 0
    frame.pointee.channel = 0
    forgetSteps(frame)
    if extent.preface >= 0 { return readPreface(extent, frame) }
    if extent.isForeign {
      frame.pointee.type = ContentNumber.absent
      frame.pointee.kind = pointee.unknownKind
      frame.pointee.checksumStatus = .unchecked
      frame.pointee.flags.remove(.sequence)
      return true
    }
    var isMalformed = false
    var lead: (type: UInt64?, sequence: UInt64?) = (nil, nil)
    // What values count from.
    var origin = extent.body
    if let content = general.pointee.content, !extent.isBeat {
      if extent.isScanned {
        origin = extent.start
      } else {
        if general.pointee.leadCount > 0 { lead = self.lead(bytes, &origin, extent.bodyEnd, general) }
        let isBare =
          general.pointee.leadCount > 0 && content.kind == .json && !Self.begins(bytes, origin, extent.bodyEnd)
        if isBare || origin == extent.bodyEnd && (content.kind == .protobuf || general.pointee.leadCount > 0) {
          for i in 0..<content.slotCount { values[i] = ContentValue() }
        } else {
          let last = extent.cut < 0 ? extent.bodyEnd : min(extent.bodyEnd, max(origin, extent.cut))
          switch bytes.scan(content, origin, last - origin, values) {
          case .whole(let count):
            // A body may follow header lines.
            isMalformed = content.kind != .headers && !bytes.isBlank(origin + count, last)
          case .cut, .malformed: isMalformed = extent.cut < 0
          }
        }
      }
    } else if let content = general.pointee.content {
      for i in 0..<content.slotCount { values[i] = ContentValue() }
    }
    for i in 0..<Int(general.pointee.alternativeCount) {
      let (slot, other) = (
        Int(general.pointee.alternatives[i].slot), Int(general.pointee.alternatives[i].other)
      )
      if values[slot].kind == .absent { values[slot] = values[other] }
    }
    frame.pointee.kind = kind(
      bytes, extent, origin, isFromServer: isFromServer, lead.type, values, frame, general)
    if isMalformed, general.pointee.unreadable >= 0 {
      frame.pointee.kind = pointee.kinds + Int(general.pointee.unreadable)
      frame.pointee.flags.insert(.malformed)
      frame.pointee.checksumStatus = .unchecked
      frame.pointee.flags.remove(.sequence)
      return true
    }
    let kind = frame.pointee.kind
    if pointee.framing.kind == .counted {
      guard bytes.u64(extent.start) & kind.pointee.headMask == kind.pointee.headValue else { return false }
      let body = extent.end - extent.body
      // A length below that of the trailer leaves no body; inflated bytes, which have no header, have no trailer either.
      if body < Int(pointee.framing.trailerCount), general.pointee.trailerCount == 0, extent.cut < 0,
        extent.body > extent.start
      {
        readFields(bytes, extent, frame, general)
        frame.pointee.flags.insert(.malformed)
        frame.pointee.checksumStatus = .unchecked
        return true
      }
      guard body >= Int(kind.pointee.minimumBody), body <= Int(kind.pointee.maximumBody) else { return false }
      if general.pointee.trailerCount > 0, extent.cut < 0 {
        let width = Int(general.pointee.trailerCount)
        guard extent.end - extent.body >= width, bytes.holds(extent.end - width, general.pointee.trailerBytes, width)
        else { return false }
      }
    }
    switch pointee.framing.kind {
    case .counted, .message, .terminated: readFields(bytes, extent, frame, general)
    default: break
    }
    if pointee.checksumRule != .none {
      openGeneral(bytes, frame)
    } else {
      frame.pointee.checksumStatus = .unchecked
      if pointee.framing.kind == .pairs { verifyPairs(bytes, extent, general, frame) }
    }
    readValues(bytes, origin, lead.sequence, values, frame, general)
    if general.pointee.duplicateValue >= 0, Self.isSet(values[Int(general.pointee.duplicateValue)], bytes, at: origin) {
      frame.pointee.flags.insert(.markedDuplicate)
    }
    if kind.pointee.stepCount > 0 {
      let known = (frame.pointee.sequence, frame.pointee.flags.contains(.sequence))
      var step = Int(kind.pointee.firstStep)
      if !runSteps(bytes, frame), extent.cut < 0 {
        guard general.pointee.content != nil else { return false }
        frame.pointee.flags.insert(.malformed)
      }
      // Steps take away a number that a header of bytes does not have.
      if known.1, !frame.pointee.flags.contains(.sequence) {
        frame.pointee.sequence = known.0
        frame.pointee.flags.insert(.sequence)
      }
      while step < Int(kind.pointee.firstStep) + Int(kind.pointee.stepCount) {
        let at = pointee.steps[step]
        step += 1
        guard at.operation == .at else { continue }
        if at.a == 1 {
          // A JSON object at the end of the line.
          guard let inner = general.pointee.inner, let first = bytes.first(0x7b, extent.start, extent.body) else {
            continue
          }
          _ = bytes.scan(inner, first, extent.body - first, values)
          if let number = ContentNumber.of(values[Int(at.count)], bytes, at: first) { put(number, at.register, frame) }
          continue
        }
        let value = values[Int(at.count)]
        if at.register == .identity || at.register == .subject {
          guard value.kind == .text else { continue }
          note(at.register, origin + value.offset, value.count, frame)
        } else if let number = ContentNumber.of(value, bytes, at: origin) {
          put(number, at.register, frame)
        }
      }
    }
    if general.pointee.channel.isPresent {
      // Numbers are each channel's own.
      let high = UInt64(frame.pointee.channel) << 32
      frame.pointee.sequence = high | frame.pointee.sequence & 0xffff_ffff
      frame.pointee.answered = high | frame.pointee.answered & 0xffff_ffff
      frame.pointee.last = high | frame.pointee.last & 0xffff_ffff
    }
    if kind.pointee.flags.contains(.answeredOnDemand), !isAnswered { frame.pointee.kind += Int(pointee.kindCount) }
    return true
  }

  /// Reads the header's fields other than the type; fields after the header count if the frame reaches that far.
  private func readFields(
    _ bytes: borrowing Bytes, _ extent: GeneralExtent, _ frame: UnsafeMutablePointer<Frame>,
    _ general: UnsafePointer<GeneralPlan>
  ) {
    if pointee.sequence.isPresent, let number = read(pointee.sequence, bytes, extent, general) {
      frame.pointee.sequence = number
      frame.pointee.flags.insert(.sequence)
    }
    if general.pointee.wideCount > 0 {
      let first =
        base(of: Int(general.pointee.wideOffset), extent, general) + Int(general.pointee.wideOffset)
      let last = first + Int(general.pointee.wideCount)
      if first >= extent.start, last <= extent.bodyEnd {
        frame.pointee.sequence = bytes.span.withUnsafeBytes { raw in ContentNumber.of(raw[first..<last]) }
        frame.pointee.flags.insert(.sequence)
      }
    }
    if pointee.session.isPresent, general.pointee.session < 0 {
      frame.pointee.session = read(pointee.session, bytes, extent, general) ?? 0
    }
    if pointee.status.isPresent, frame.pointee.kind.pointee.role == .acknowledgment,
      let status = read(pointee.status, bytes, extent, general)
    {
      put(status, .status, frame)
    }
    if general.pointee.channel.isPresent {
      let channel = read(general.pointee.channel, bytes, extent, general) ?? 0
      frame.pointee.channel = UInt16(truncatingIfNeeded: channel)
    }
    if general.pointee.duplicate.isPresent, read(general.pointee.duplicate, bytes, extent, general) ?? 0 != 0 {
      frame.pointee.flags.insert(.markedDuplicate)
    }
  }

  /// Whether a value is a flag that is set: not false, 0, empty, or `N` as in FIX.
  private static func isSet(_ value: ContentValue, _ bytes: borrowing Bytes, at origin: Int) -> Bool {
    switch value.kind {
    case .flag, .number: value.number != 0
    case .text:
      value.count > 0
        && !(value.count == 1 && [0x30, 0x4e, 0x6e].contains(bytes.u8(origin + value.offset)))
        && !(value.count == 5 && ContentNumber.of(value, bytes, at: origin) == ContentNumber.of("false".utf8))
    case .absent, .null, .group: false
    }
  }

  /// The layout of one side's frames.
  @inline(__always)
  func layout(ofServer isFromServer: Bool) -> UnsafePointer<Plan> {
    guard isFromServer, let other = pointee.general?.pointee.serverSide else { return self }
    return other
  }

  /// The bytes at the very beginning of a side, where they are one of the plan's prefaces.
  func nextPreface(_ bytes: borrowing Bytes, _ position: Int, _ end: Int, isFromServer: Bool) -> GeneralResult {
    guard let general = pointee.general else { return .notAFrame }
    let available = end - position
    for i in 0..<Int(general.pointee.prefaceCount) {
      let preface = general.pointee.prefaces[i]
      guard preface.isFromServer == isFromServer else { continue }
      let seen = min(available, Int(preface.matchCount))
      guard seen > 0 || preface.matchCount == 0, Self.begins(bytes, position, seen, with: preface) else { continue }
      guard available >= Int(preface.matchCount) else { return .needMore(Int(preface.matchCount)) }
      var count = Int(preface.count)
      if count == 0 {
        let last = min(end, position + Preface.longest)
        guard let feed = bytes.first(preface.until, position + Int(preface.matchCount), last) else {
          return available >= Preface.longest ? .notAFrame : .needMore(0)
        }
        count = feed + 1 - position
      }
      guard available >= count else { return .needMore(count) }
      let stop = position + count
      return .frame(GeneralExtent(start: position, body: stop, bodyEnd: stop, end: stop, preface: Int8(i)))
    }
    return .notAFrame
  }

  /// Whether the `count` bytes at `position` match the first bytes of a preface.
  private static func begins(_ bytes: borrowing Bytes, _ position: Int, _ count: Int, with preface: Preface) -> Bool {
    for i in 0..<count
    where bytes.u8(position + i) != UInt8(truncatingIfNeeded: preface.match[i / 8] >> UInt64(56 - i % 8 * 8)) {
      return false
    }
    return true
  }

  /// Describes a preface by `frame`.
  private func readPreface(_ extent: GeneralExtent, _ frame: UnsafeMutablePointer<Frame>) -> Bool {
    guard let general = pointee.general else { return false }
    let value = Preface.type(Int(general.pointee.prefaces[Int(extent.preface)].index))
    frame.pointee.type = value
    frame.pointee.kind = kind(value)
    frame.pointee.checksumStatus = .unchecked
    return true
  }

  /// Whether a JSON value other than a bare word or number begins at `at`.
  static func begins(_ bytes: borrowing Bytes, _ at: Int, _ end: Int) -> Bool {
    at < end && (bytes.u8(at) == 0x7b || bytes.u8(at) == 0x5b || bytes.u8(at) == 0x22)
  }

  /// Reads the digits in front of a content; `origin` moves after them.
  private func lead(
    _ bytes: borrowing Bytes, _ origin: inout Int, _ end: Int, _ general: UnsafePointer<GeneralPlan>
  ) -> (type: UInt64?, sequence: UInt64?) {
    let first = origin
    let lead = bytes.span.withUnsafeBytes { raw -> ContentLead? in
      guard let base = raw.baseAddress, end <= raw.count else { return nil }
      return ContentLead(
        base.assumingMemoryBound(to: UInt8.self), first, end, Int(general.pointee.leadCount)
      ) { general.pointee.lead[$0] }
    }
    guard let lead else { return (nil, nil) }
    origin = lead.end
    func number(_ text: Range<Int>?) -> UInt64? {
      text.map { text in bytes.span.withUnsafeBytes { raw in ContentNumber.of(raw[text]) } }
    }
    return (lead.type ?? number(lead.typeText), lead.sequence ?? number(lead.sequenceText))
  }

  /// Where a message ends that begins at `position`, by its content alone; `nil` where that does not tell.
  func messageEnd(
    _ bytes: borrowing Bytes, _ position: Int, _ end: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> Int? {
    guard let general = pointee.general, let content = general.pointee.content else { return nil }
    var origin = position
    if general.pointee.leadCount > 0 { _ = lead(bytes, &origin, end, general) }
    guard Self.begins(bytes, origin, end) else { return nil }
    guard case .whole(let count) = bytes.scan(content, origin, end - origin, values) else { return nil }
    let stop = origin + count
    guard general.pointee.hasRecords, !general.pointee.hasCountedRecords else { return stop }
    return stop < end ? stop + 1 : nil
  }

  /// What the parts of a frame's type say together.
  private func kind(
    _ bytes: borrowing Bytes, _ extent: GeneralExtent, _ origin: Int, isFromServer: Bool,
    _ lead: UInt64?, _ values: UnsafeMutablePointer<ContentValue>, _ frame: UnsafeMutablePointer<Frame>,
    _ general: UnsafePointer<GeneralPlan>
  ) -> UnsafePointer<FrameKind> {
    if extent.isBeat {
      frame.pointee.type = Self.beat
      return kind(Self.beat)
    }
    var parts = InlineArray<3, UInt64>(repeating: ContentNumber.absent)
    let count = Int(general.pointee.partCount)
    for i in 0..<count {
      switch general.pointee.parts[i] {
      case .side: parts[i] = isFromServer ? Self.server : Self.client
      case .field(let field):
        guard let number = read(field, bytes, extent, general) else { continue }
        parts[i] = number
      case .value(let slot) where general.pointee.content?.kind == .resp:
        parts[i] = Self.reply(bytes, extent.start, values[Int(slot)], origin)
      case .value(let slot) where values[Int(slot)].isEndTag:
        parts[i] = Self.endTag(bytes, values[Int(slot)], origin)
      case .value(let slot): parts[i] = ContentNumber.of(values[Int(slot)], bytes, at: origin) ?? ContentNumber.absent
      case .lead: parts[i] = lead ?? ContentNumber.absent
      }
    }
    let exact = Self.combined(parts, count, 0)
    frame.pointee.type = exact
    let found = kind(exact)
    if found != pointee.unknownKind || general.pointee.maskCount == 0 { return found }
    for i in 0..<Int(general.pointee.maskCount) {
      let other = kind(Self.combined(parts, count, general.pointee.masks[i]))
      if other != pointee.unknownKind {
        var hasValue = false
        for part in 0..<count {
          if case .side = general.pointee.parts[part] { continue }
          if general.pointee.masks[i] &>> UInt8(part) & 1 == 0 || parts[part] != ContentNumber.absent {
            hasValue = true
          }
        }
        if !hasValue { frame.pointee.flags.insert(.isUntyped) }
        return other
      }
    }
    return pointee.unknownKind
  }

  /// What a command is called, or what a reply is that is no array: commands are the same in small letters.
  private static func reply(
    _ bytes: borrowing Bytes, _ start: Int, _ value: ContentValue, _ origin: Int
  ) -> UInt64 {
    switch bytes.u8(start) {
    case 0x2b: return ContentNumber.of("simple".utf8)
    case 0x2d, 0x21: return ContentNumber.of("error".utf8)
    case 0x3a, 0x28, 0x2c, 0x23: return ContentNumber.of("integer".utf8)
    case 0x24, 0x3d: return ContentNumber.of((value.kind == .null ? "null" : "bulk").utf8)
    case 0x5f: return ContentNumber.of("null".utf8)
    default: break
    }
    guard value.kind == .text, value.count <= 64 else { return ContentNumber.absent }
    // SAFETY: the value lies in the frame, which the caller has proved to be there.
    return bytes.span.withUnsafeBytes { raw in
      ContentNumber.of(
        raw[(origin + value.offset)..<(origin + value.offset + value.count)].lazy.map {
          $0 &- 0x41 < 26 ? $0 | 0x20 : $0
        })
    }
  }

  /// What the end of a stream is called: its element's name after a slash.
  private static func endTag(_ bytes: borrowing Bytes, _ value: ContentValue, _ origin: Int) -> UInt64 {
    // SAFETY: the value lies in the frame, which the caller has proved to be there.
    bytes.span.withUnsafeBytes { raw in
      ContentNumber.of([0x2f] + raw[(origin + value.offset)..<(origin + value.offset + value.count)])
    }
  }

  /// The number for a type; parts in `mask` may be anything.
  @inline(__always)
  static func combined(_ parts: borrowing InlineArray<3, UInt64>, _ count: Int, _ mask: UInt8) -> UInt64 {
    var value = mask & 1 == 0 ? parts[0] : ContentNumber.any
    for i in 1..<max(1, count) {
      value = ContentNumber.combine(value, mask &>> UInt8(i) & 1 == 0 ? parts[i] : ContentNumber.any)
    }
    return value
  }

  /// The numbers for `client` and `server` as parts of a type, and for a beat.
  private static var client: UInt64 { 1 << 60 | 0x636c_6965_6e74 }
  private static var server: UInt64 { 1 << 60 | 0x7365_7276_6572 }
  private static var beat: UInt64 { 1 << 60 | 0x6265_6174 }

  /// What the content says of a frame's number, session and status.
  private func readValues(
    _ bytes: borrowing Bytes, _ origin: Int, _ lead: UInt64?, _ values: UnsafeMutablePointer<ContentValue>,
    _ frame: UnsafeMutablePointer<Frame>, _ general: UnsafePointer<GeneralPlan>
  ) {
    if let lead {
      frame.pointee.sequence = lead
      frame.pointee.flags.insert(.sequence)
    }
    guard general.pointee.content != nil else { return }
    let index = Int(frame.pointee.kind.pointee.index)
    var list = general.pointee.sequence
    if let extras = general.pointee.extras, extras[index].number[0] >= 0 { list = extras[index].number }
    for i in 0..<4 {
      guard list[i] >= 0 else { break }
      guard let number = ContentNumber.of(values[Int(list[i])], bytes, at: origin) else { continue }
      if general.pointee.hasCounter, frame.pointee.kind.pointee.flags.contains(.cumulative) {
        // The number of the last one that it answers.
        put(number, .answered, frame)
        break
      }
      frame.pointee.sequence = number
      frame.pointee.flags.insert(.sequence)
      break
    }
    if general.pointee.session >= 0,
      let number = ContentNumber.of(values[Int(general.pointee.session)], bytes, at: origin)
    {
      frame.pointee.session = number
    }
    guard general.pointee.status >= 0 else { return }
    let value = values[Int(general.pointee.status)]
    switch general.pointee.statusRule {
    case .present: put(value.kind == .absent ? 0 : 1, .status, frame)
    case .number:
      guard value.kind != .text || bytes.decimal(origin + value.offset, value.count) != nil,
        let number = ContentNumber.of(value, bytes, at: origin)
      else { return }
      put(number, .status, frame)
    case .text:
      guard let text = ContentNumber.of(value, bytes, at: origin) else { return }
      for i in 0..<Int(general.pointee.statusTextCount) where general.pointee.statusTexts[i].text == text {
        put(general.pointee.statusTexts[i].status, .status, frame)
        return
      }
    }
  }

  /// Bits of proof that a type gives even if it is a small number: the width of its fields beyond what the types need, at most 4.
  private func leastEvidence(_ general: UnsafePointer<GeneralPlan>) -> Int {
    guard pointee.magicEvidence == 0 else { return 0 }
    var width = 0
    for i in 0..<Int(general.pointee.partCount) {
      if case .field(let field) = general.pointee.parts[i] { width += field.mask.nonzeroBitCount }
    }
    let choice = Int.bitWidth - max(0, Int(pointee.kindTotal)).leadingZeroBitCount
    return max(0, min(4, width - choice))
  }

  /// Whether a value of RESP begins with its type.
  private static func isRESP(_ byte: UInt8) -> Bool { "*+-:$~>%|_#,(!=".utf8.contains(byte) }

  /// Bits of proof that texts are where a type's steps have them: so far as these count bytes alone.
  private func textEvidence(_ frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes) -> Int {
    let kind = frame.pointee.kind.pointee
    let last = frame.pointee.start + frame.pointee.count - frame.pointee.trailerCount
    var position = frame.pointee.body
    var bits = 0
    for i in Int(kind.firstStep)..<Int(kind.firstStep) + Int(kind.stepCount) {
      let step = pointee.steps[i]
      let count = Int(step.count)
      switch step.operation {
      case .status, .at, .settle: continue
      case .skip, .load: position += count
      case .text, .bytes:
        guard (1...4).contains(count), last - position >= count else { return bits }
        let length = bytes.u64(position) >> UInt64(64 - count * 8)
        position += count
        guard length <= UInt64(last - position) else { return bits }
        if !holdsControl(bytes, position, min(Int(length), 256)) { bits += 2 * min(8, Int(length)) }
        position += Int(length)
      default: return bits
      }
      guard position <= last else { return bits }
    }
    return bits
  }

  /// Bits of proof that a frame that was read is one; `nil` where it is damaged, negative where its type is unknown.
  func evidence(ofGeneral frame: UnsafePointer<Frame>, _ bytes: borrowing Bytes) -> Int? {
    guard let general = pointee.general, frame.pointee.checksumStatus != .bad,
      !frame.pointee.flags.contains(.malformed)
    else { return nil }
    guard frame.pointee.kind.pointee.index != FrameKind.unknownIndex else { return -12 }
    for i in 0..<Int(general.pointee.prefaceCount)
    where Preface.type(Int(general.pointee.prefaces[i].index)) == frame.pointee.type {
      return 4 * min(16, Int(general.pointee.prefaces[i].matchCount))
    }
    // Blanks between frames say nothing.
    if frame.pointee.type == Self.beat { return 0 }
    var bits = Int(pointee.magicEvidence) + Int(frame.pointee.kind.pointee.evidence) + Int(pointee.checksumEvidence)
    if let extras = general.pointee.extras { bits += Int(extras[Int(frame.pointee.kind.pointee.index)].proof) }
    // A record has the byte that ends it.
    if general.pointee.hasRecords, !general.pointee.hasCountedRecords, frame.pointee.trailerCount == 0 { return nil }
    if let content = general.pointee.content {
      if frame.pointee.flags.contains(.isUntyped), content.kind == .json { return -12 }
      switch content.kind {
      case .json, .xml, .ber, .pairs: bits += 16
      // A small number is a value, too.
      case .messagepack:
        let first = bytes.u8(frame.pointee.body)
        bits += frame.pointee.bodyCount > 1 && (first & 0xe0 == 0x80 || first >= 0xdc && first < 0xe0) ? 16 : 0
      // A line of words is what a person types, and what many protocols have.
      case .resp where !Self.isRESP(bytes.u8(frame.pointee.start)): return 0
      case .headers, .resp: bits += 12
      case .protobuf: bits += frame.pointee.bodyCount > 0 ? 8 : 0
      case .bytes, .words: break
      }
      if frame.pointee.flags.contains(.sequence) { bits += 4 }
    }
    let kind = frame.pointee.kind.pointee
    // The wire bytes of an inflated body prove nothing.
    if general.pointee.content == nil, pointee.framing.kind == .counted, !frame.pointee.flags.contains(.inflated) {
      if kind.stepCount > 0 {
        guard let weight = weighBody(bytes, frame.pointee, frame.pointee.start + frame.pointee.count) else {
          return nil
        }
        bits += weight + textEvidence(frame, bytes)
      } else if let extras = general.pointee.extras, kind.minimumBody != kind.maximumBody, pointee.checksumEvidence == 0
      {
        // A small number of a type, and any length, is what random bytes have.
        let proof = Int(extras[Int(kind.index)].proof)
        if proof < 12 { bits -= proof - min(proof, leastEvidence(general)) }
      }
    }
    if pointee.framing.kind == .pairs, frame.pointee.checksumStatus == .be { bits += 8 }
    bits += 3 * Int(general.pointee.beginCount) + 8 * Int(general.pointee.trailerCount)
    if pointee.framing.kind != .message { bits += 3 * Int(general.pointee.endCount) }
    return bits
  }
}

extension Bytes {
  /// Scans `count` bytes from `offset` on. The caller has proved that they are there.
  func scan(
    _ plan: ContentPlan, _ offset: Int, _ count: Int, _ values: UnsafeMutablePointer<ContentValue>
  ) -> ContentResult {
    span.withUnsafeBytes { raw in
      guard let base = raw.baseAddress, offset >= 0, count >= 0, offset + count <= raw.count else { return .cut }
      return plan.scan((base + offset).assumingMemoryBound(to: UInt8.self), count, values)
    }
  }

  /// The number in decimal digits; `nil` where the bytes are anything else.
  func decimal(_ offset: Int, _ count: Int) -> UInt64? {
    guard (1...19).contains(count) else { return nil }
    var number: UInt64 = 0
    for i in 0..<count {
      let digit = u8(offset &+ i) &- 0x30
      guard digit < 10 else { return nil }
      number = number &* 10 &+ UInt64(digit)
    }
    return number
  }

  /// The first place of `byte` between two offsets.
  func first(_ byte: UInt8, _ start: Int, _ end: Int) -> Int? { find(start, end, UInt32(byte), 1) }

  /// Whether all bytes between two offsets are blanks or ends of lines.
  func isBlank(_ start: Int, _ end: Int) -> Bool {
    var at = start
    while at < end {
      guard [0x20, 0x09, 0x0a, 0x0d].contains(u8(at)) else { return false }
      at += 1
    }
    return true
  }
}
