package import IMContent
import IMWire

/// Where a frame of the general reader has what its plan reads, for sinks that rewrite frames. Places count from its first byte.
package struct FrameLayout: Sendable {
  /// The content by which it is read, without a body that follows header lines; `nil` in frames of bytes, and where a frame has none.
  package var content: Range<Int>?
  /// How that is laid out.
  package var kind = ContentKind.bytes
  /// What precedes it.
  package var lead = 0..<0
  /// Whether it cannot be read.
  package var isMalformed = false
  /// Types, numbers, statuses and flags: what the frame is read by.
  package var kept: [Range<Int>] = []
  /// The session's number; `nil` if the frame has none.
  package var session: Range<Int>?
  /// Whether that is a text, or a number, of the content.
  package var isSessionText = false, isSessionDecimal = false
  /// How it is written otherwise.
  package var sessionCoding = NumberCoding.binary, isSessionLittleEndian = false

  /// A frame of which nothing is read.
  package init() {}
}

extension ProtocolPlan {
  /// Whether its frames can be rewritten in place: they have a layout of bytes, or their contents are text.
  package var isRewritable: Bool {
    guard let general = pointer.pointee.general else { return true }
    guard !general.pointee.isZlib else { return false }
    let kind = pointer.pointee.framing.kind
    switch general.pointee.content?.kind {
    case nil, .bytes: return kind == .counted
    case .json: return [.counted, .message, .terminated].contains(kind)
    case .headers, .words: return kind == .headers
    case .xml: return kind == .xml
    case .resp: return kind == .resp
    default: return false
    }
  }

  /// The names of members in the paths by which its frames are read.
  package var contentNames: Set<[UInt8]> {
    guard let general = pointer.pointee.general else { return [] }
    let names = general.pointee.content?.memberNames ?? []
    return names.union(general.pointee.inner?.memberNames ?? [])
  }

  /// Where `frame`, which was read from `bytes`, has what this plan reads; `nil` if the plan is not of the general reader, or the frame cannot be
  /// read again.
  package func layout(of frame: Frame, in bytes: RawSpan, isFromServer: Bool) -> FrameLayout? {
    guard pointer.pointee.general != nil, frame.start >= 0, frame.count >= 0, frame.headerCount <= frame.count,
      frame.start + frame.count <= bytes.byteCount
    else { return nil }
    // A load of eight bytes may reach after the frame.
    var copy = bytes.withUnsafeBytes { Array($0[frame.start..<frame.start + frame.count]) }
    copy += [UInt8](repeating: 0, count: RawBuffer.slack + 256)
    let layout = pointer.layout(ofServer: isFromServer)
    return layout.layout(of: frame, Bytes(copy.span.bytes))
  }
}

extension UnsafePointer<Plan> {
  /// The same for the frame that `bytes` begin with; this is the layout of the side that sent it.
  fileprivate func layout(of frame: Frame, _ bytes: borrowing Bytes) -> FrameLayout? {
    guard let general = pointee.general else { return nil }
    var result = FrameLayout()
    for i in 0..<Int(general.pointee.prefaceCount)
    where Preface.type(Int(general.pointee.prefaces[i].index)) == frame.type {
      return result
    }
    let values = ContentValues()
    values.pointer.update(repeating: ContentValue(), count: ContentPlan.maximumSlots)
    guard
      case .frame(let extent) = nextGeneral(bytes, 0, frame.count, message: 0..<frame.count, values.pointer),
      extent.end <= frame.count
    else { return nil }
    // Blanks after a frame belong to it where they are no content.
    guard extent.end == frame.count || [.headers, .xml].contains(pointee.framing.kind) else { return nil }
    if [.counted, .message, .terminated].contains(pointee.framing.kind), !extent.isForeign {
      addFields(bytes, extent, general, &result)
    }
    if let content = general.pointee.content, [.headers, .xml, .resp].contains(pointee.framing.kind) {
      guard !extent.isBeat else { return result }
      result.kind = content.kind
      result.content = extent.start..<(pointee.framing.kind == .headers ? extent.body : extent.bodyEnd)
      addValues(frame, values.pointer, extent.start, general, &result)
      if general.pointee.bodyTypeCount > 0 { result.kept.append(lastWord(bytes, extent)) }
    } else if let content = general.pointee.content, content.kind == .json {
      var origin = extent.body
      if general.pointee.leadCount > 0 {
        let lead = bytes.span.withUnsafeBytes { raw -> ContentLead? in
          guard let base = raw.baseAddress, extent.bodyEnd <= raw.count else { return nil }
          return ContentLead(
            base.assumingMemoryBound(to: UInt8.self), extent.body, extent.bodyEnd, Int(general.pointee.leadCount)
          ) { general.pointee.lead[$0] }
        }
        origin = lead?.end ?? origin
        result.kept += [lead?.typeText, lead?.sequenceText].compactMap { $0 }
        result.lead = extent.body..<max(extent.body, origin)
      }
      let isBare = general.pointee.leadCount > 0 && !Self.begins(bytes, origin, extent.bodyEnd)
      guard !isBare else { return result }
      result.content = origin..<extent.bodyEnd
      result.kind = .json
      switch bytes.scan(content, origin, extent.bodyEnd - origin, values.pointer) {
      case .whole(let count): result.isMalformed = !bytes.isBlank(origin + count, extent.bodyEnd)
      case .cut, .malformed: result.isMalformed = true
      }
      if !result.isMalformed { addValues(frame, values.pointer, origin, general, &result) }
    }
    return result
  }

  /// The numbers of the header, and those after it.
  private func addFields(
    _ bytes: borrowing Bytes, _ extent: GeneralExtent, _ general: UnsafePointer<GeneralPlan>,
    _ result: inout FrameLayout
  ) {
    func range(_ field: Field, _ bytes: borrowing Bytes) -> Range<Int>? {
      guard field.isPresent, read(field, bytes, extent, general) != nil else { return nil }
      let place = field.place
      let start = base(of: Int(field.offset), extent, general) + place.offset
      return start..<start + place.count
    }
    var fields = [pointee.sequence, pointee.status, general.pointee.channel, general.pointee.duplicate]
    for i in 0..<Int(general.pointee.partCount) {
      if case .field(let field) = general.pointee.parts[i] { fields.append(field) }
    }
    for field in fields { if let range = range(field, bytes) { result.kept.append(range) } }
    if general.pointee.wideCount > 0 {
      let start = base(of: Int(general.pointee.wideOffset), extent, general) + Int(general.pointee.wideOffset)
      let end = start + Int(general.pointee.wideCount)
      if start >= extent.start, end <= extent.bodyEnd { result.kept.append(start..<end) }
    }
    if general.pointee.session < 0, let range = range(pointee.session, bytes) {
      result.session = range
      result.sessionCoding = pointee.framing.sessionCoding
      result.isSessionLittleEndian = pointee.session.littleEndian
    }
  }

  /// The last word of a line, which may be the length of its body.
  private func lastWord(_ bytes: borrowing Bytes, _ extent: GeneralExtent) -> Range<Int> {
    var last = extent.body
    while last > extent.start, bytes.u8(last - 1) <= 0x20 { last -= 1 }
    var first = last
    while first > extent.start, bytes.u8(first - 1) > 0x20 { first -= 1 }
    return first..<last
  }

  /// The values that paths lead to.
  private func addValues(
    _ frame: Frame, _ values: UnsafeMutablePointer<ContentValue>, _ origin: Int,
    _ general: UnsafePointer<GeneralPlan>, _ result: inout FrameLayout
  ) {
    var slots: [Int] = []
    // The first element of an array is a type of RESP only where a type has that name.
    let isNamed = pointee.framing.kind != .resp || self.kind(frame.type) != pointee.unknownKind
    for i in 0..<Int(general.pointee.partCount) where isNamed {
      if case .value(let slot) = general.pointee.parts[i] { slots.append(Int(slot)) }
    }
    for i in 0..<4 { slots.append(Int(general.pointee.sequence[i])) }
    let kind = frame.kind.pointee
    if let extras = general.pointee.extras {
      for i in 0..<4 { slots.append(Int(extras[Int(kind.index)].number[i])) }
    }
    slots += [Int(general.pointee.status), Int(general.pointee.duplicateValue), Int(general.pointee.bodyLength)]
    for i in Int(kind.firstStep)..<Int(kind.firstStep) + Int(kind.stepCount) {
      let step = pointee.steps[i]
      if step.operation == .at, step.a != 1, ![.identity, .subject].contains(step.register) {
        slots.append(Int(step.count))
      }
    }
    /// The value of a slot, or of the first one that replaces it.
    func value(_ slot: Int) -> ContentValue? {
      guard (0..<ContentPlan.maximumSlots).contains(slot) else { return nil }
      var found = values[slot]
      for i in 0..<Int(general.pointee.alternativeCount)
      where found.kind == .absent && Int(general.pointee.alternatives[i].slot) == slot {
        found = values[Int(general.pointee.alternatives[i].other)]
      }
      return (found.kind == .text || found.kind == .number) && found.count > 0 ? found : nil
    }
    for slot in slots {
      guard let value = value(slot) else { continue }
      result.kept.append(origin + value.offset..<origin + value.offset + value.count)
    }
    if let session = value(Int(general.pointee.session)) {
      result.session = origin + session.offset..<origin + session.offset + session.count
      (result.isSessionText, result.isSessionDecimal) = (session.kind == .text, session.kind == .number)
    }
  }
}
