import IMContent
package import IMEngine
import IMFields
package import IMWire

/// Rewrites frames: what their protocol needs stays, and what people and devices are called and say goes.
///
/// Everything in a body that the profile does not know for structure or for a number that is nobody's is replaced. Values become
/// stand-ins of the same length, so the rewritten frame has the place of the old one, and its checksum says of it what it said of
/// that.
package final class FrameRedactor {
  /// What becomes of a byte.
  enum Treatment: Equatable {
    case keep
    /// A pseudonym of the name that it belongs to.
    case name(TextEncoding)
    case digits, bytes
    case number(littleEndian: Bool)
    /// A number of as many digits that is always the same one.
    case amount(littleEndian: Bool)
    case address(family: Int)
    /// A stand-in that tells its shape.
    case text(TextEncoding)
    case anything
    /// JSON, by the members that are known: those that name somebody, and those that anybody may see.
    case json(names: Set<String>, others: Set<String>)
    /// The inside of a JSON string: a stand-in that tells its shape, and a pseudonym.
    case jsonText, jsonName
    /// The same of a text in XML.
    case xmlText, xmlName
    /// A number in decimal digits: a stand-in, and another number.
    case decimal, decimalName
    /// Letters that say nothing, and a text that keeps its signs even where there is no room for shapes.
    case letters, lead
    case zero
  }

  let names: Pseudonyms
  @exclusivity(unchecked) var addresses: AddressPseudonyms
  @exclusivity(unchecked) var cache: PseudonymCache
  /// The frame in hand: the next one has its memory.
  @exclusivity(unchecked) private var text = FrameText()
  @exclusivity(unchecked) private var reader = FieldReader()
  /// The names of members by which the frames of a plan are read, by its name.
  @exclusivity(unchecked) private var contentNames: [String: Set<[UInt8]>] = [:]
  /// The frame as its fields are read: the next one has its memory.
  @exclusivity(unchecked) private var whole = FieldFrame(bytes: [], body: 0, type: "")

  /// A redactor whose pseudonyms are `names`.
  package init(_ names: Pseudonyms) {
    self.names = names
    addresses = AddressPseudonyms(names)
    cache = PseudonymCache(names)
  }

  /// A frame as it travels, rewritten; `nil` where it cannot be, since what is compressed in it would have another length, or
  /// another escape. `wire` is the frame with its delimiters and escapes, where it has some; the other parameters are the sink's.
  /// With `isPlain` stand-ins tell no shape, so that they take less room where they are compressed.
  package func rewrite(
    _ frame: Frame, _ plan: ProtocolPlan, _ info: ConnectionInfo, _ direction: Direction, bytes: RawSpan, body: RawSpan,
    tlvs: Span<TLVRef>, wire: [UInt8]?, isPlain: Bool = false
  ) -> [UInt8]? {
    // Taken out meanwhile, so that it is changed in its place.
    var text = FrameText()
    swap(&text, &self.text)
    defer { swap(&text, &self.text) }
    let trailer = trailerCount(frame, plan)
    guard let wire, plan.isDelimited else {
      // Of a frame that is longer than is read, only the beginning is there; stand-ins are put for what follows.
      var frame = frame
      frame.count = min(frame.count, bytes.byteCount - frame.start)
      let isInflated = frame.flags.contains(.inflated)
      text.begin(headerCount: frame.headerCount, trailerCount: isInflated ? 0 : trailer) { old in
        bytes.withUnsafeBytes { bytes in
          let count = isInflated ? frame.headerCount : frame.count
          old.append(contentsOf: bytes[frame.start..<frame.start + count])
        }
        if isInflated { body.withUnsafeBytes { old.append(contentsOf: $0) } }
      }
      treat(&text, frame, plan, info, direction, bytes, body, tlvs)
      text.replace(self, isPlain: isPlain)
      guard isInflated else {
        var new = text.new
        if frame.checksumStatus != .unchecked {
          plan.recomputeChecksum(of: &new, from: text.old, headerCount: frame.headerCount)
        }
        return new
      }
      let whole = bytes.withUnsafeBytes { Array($0[frame.start..<frame.start + frame.count]) }
      var packed = pack(text, frame, whole)
      if packed == nil {
        text.replace(self, isPlain: true)
        packed = pack(text, frame, whole)
      }
      guard var new = packed else { return nil }
      if frame.checksumStatus != .unchecked {
        plan.recomputeChecksum(of: &new, from: whole, headerCount: frame.headerCount)
      }
      return new
    }
    guard let unescaped = plan.unescaped(wire) else { return nil }
    let header = unescaped.bytes.count - frame.bodyCount - trailer
    guard header >= 0 else { return nil }
    text.begin(headerCount: header, trailerCount: trailer) { $0 = unescaped.bytes }
    treat(&text, frame, plan, info, direction, bytes, body, tlvs)
    text.replace(self, isPlain: isPlain)
    return fit(text, plan, unescaped, wire)
  }

  /// The frame `old` with the new body that `text` has, compressed to the length that the old one had.
  private func pack(_ text: FrameText, _ frame: Frame, _ old: [UInt8]) -> [UInt8]? {
    let body = frame.headerCount..<frame.headerCount + frame.bodyCount
    guard
      let packed = FittingDeflater.zlib(
        Array(text.new[frame.headerCount...]), count: body.count, header: old[body].prefix(2))
    else { return nil }
    return text.new[..<frame.headerCount] + packed + old[body.upperBound...]
  }

  /// Attempts at a checksum that needs no other escape, of which one in 128 or more is right, and bytes that are summed for them
  /// at most.
  private static let mostAttempts = 4_096, mostSummed = 16 << 20

  /// Puts a rewritten frame where the old one stood. Where its checksum wants an escape that the old one had not, or had one that
  /// is not wanted any more, a stand-in among its bytes becomes another one.
  private func fit(
    _ text: FrameText, _ plan: ProtocolPlan, _ unescaped: UnescapedFrame, _ wire: [UInt8]
  ) -> [UInt8]? {
    var frame = unescaped
    func attempt(_ content: [UInt8]) -> [UInt8]? {
      var content = content
      plan.recomputeChecksum(of: &content, from: text.old, headerCount: text.headerCount)
      frame.bytes = content
      var result = wire
      return plan.put(frame, over: &result) ? result : nil
    }
    // An escaped byte among stand-ins stays what it is, so that it needs its escape.
    var content = text.new
    for (i, place) in unescaped.places.enumerated() where text.isFree(i) {
      let next = i + 1 < unescaped.places.count ? unescaped.places[i + 1] : place + 1
      if next - place > 1 { content[i] = text.old[i] }
    }
    if let found = attempt(content) { return found }
    guard plan.hasChecksum else { return nil }
    var attempts = min(Self.mostAttempts, Self.mostSummed / max(1, content.count))
    for i in content.indices where text.isFree(i) && content[i] != text.old[i] {
      let kept = content[i]
      for other in UInt8(0x21)...0x7c {
        guard attempts > 0 else { return nil }
        attempts -= 1
        content[i] = other
        if let found = attempt(content) { return found }
      }
      content[i] = kept
    }
    return nil
  }

  private func trailerCount(_ frame: Frame, _ plan: ProtocolPlan) -> Int {
    frame.count - frame.headerCount - frame.bodyCount
  }

  /// Forgets a connection that is over.
  func forget(_ connection: UInt32) { reader.forget(connection) }

  // MARK: What becomes of which byte

  private func treat(
    _ text: inout FrameText, _ frame: Frame, _ plan: ProtocolPlan, _ info: ConnectionInfo, _ direction: Direction,
    _ bytes: RawSpan, _ body: RawSpan, _ tlvs: Span<TLVRef>
  ) {
    if plan.hasLines { return treatLine(&text, plan) }
    if plan.readsContents { return treatGeneral(&text, frame, plan, info, direction, bytes, body, tlvs) }
    treatSession(&text, plan)
    treatParts(&text, frame, plan, bytes, body, tlvs)
    if let fields = plan.fields {
      plan.read(frame, info, direction, bytes: bytes, body: body, into: &whole)
      if whole.body == text.headerCount {
        for mark in reader.marks(of: &whole, fields) { treat(mark, fields, &text) }
      }
    }
    treatNames(&text, frame)
  }

  /// Treats the parts of the body that the steps of its type and its elements describe.
  private func treatParts(
    _ text: inout FrameText, _ frame: Frame, _ plan: ProtocolPlan, _ bytes: RawSpan, _ body: RawSpan,
    _ tlvs: Span<TLVRef>
  ) {
    if !frame.flags.contains(.encrypted) {
      let header = text.headerCount
      for part in plan.bodyParts(of: frame, in: bytes, body: body, tlvs: tlvs) {
        let range = part.range.lowerBound + header..<part.range.upperBound + header
        switch part.kind {
        case .structure: text.fix(range)
        case .text: text.set(range, .name(.utf8))
        case .bytes: text.set(range, .anything)
        case .padding: text.set(range, .zero)
        }
      }
    }
  }

  /// The client's name and the message's subject.
  private func treatNames(_ text: inout FrameText, _ frame: Frame, _ treatment: Treatment = .name(.utf8)) {
    for (offset, count) in [
      (frame.identityOffset, frame.identityCount), (frame.subjectOffset, frame.subjectCount),
    ] where count > 0 {
      let start = offset - frame.headerCount + text.headerCount
      text.set(start..<start + count, treatment)
    }
  }

  /// A frame of the general reader: what it is read by stays. Of a content, the signs stay, and the names of members that the profile knows.
  private func treatGeneral(
    _ text: inout FrameText, _ frame: Frame, _ plan: ProtocolPlan, _ info: ConnectionInfo, _ direction: Direction,
    _ bytes: RawSpan, _ body: RawSpan, _ tlvs: Span<TLVRef>
  ) {
    guard let layout = plan.layout(of: frame, in: bytes, isFromServer: direction == .serverToClient) else {
      // Header lines are a header.
      return text.set(0..<text.old.count, .anything)
    }
    var marks: [FieldMark] = []
    var known: Set<[UInt8]> = []
    if let fields = plan.fields {
      plan.read(frame, info, direction, bytes: bytes, body: body, into: &whole)
      if whole.body == text.headerCount { (marks, known) = reader.contentMarks(of: &whole, fields) }
    }
    JSONRedaction.treat(&text, lead: layout.lead)
    if let content = layout.content {
      if layout.isMalformed {
        text.set(content, .letters)
      } else {
        if contentNames[plan.name] == nil { contentNames[plan.name] = plan.contentNames }
        known.formUnion(contentNames[plan.name] ?? [])
        switch layout.kind {
        case .xml: ContentRedaction.treat(&text, xml: content)
        case .resp: ContentRedaction.treat(&text, resp: content)
        case .headers, .words: ContentRedaction.treat(&text, headers: content, known: known)
        default: JSONRedaction.treat(&text, content, known: known)
        }
      }
    } else {
      treatParts(&text, frame, plan, bytes, body, tlvs)
    }
    for range in layout.kept { text.fix(range) }
    let name: Treatment = layout.kind == .json ? .jsonName : layout.kind == .xml ? .xmlName : .name(.utf8)
    if let session = layout.session {
      let binary: Treatment =
        layout.sessionCoding == .bcd ? .digits : .number(littleEndian: layout.isSessionLittleEndian)
      text.set(session, layout.isSessionText ? name : layout.isSessionDecimal ? .decimalName : binary)
    }
    for mark in marks {
      guard let fields = plan.fields else { break }
      guard let content = layout.content, content.contains(mark.range.lowerBound),
        case .value(let field, let form) = mark.kind
      else {
        treat(mark, fields, &text)
        continue
      }
      let sensitivity = fields.fields.indices.contains(field) ? fields.fields[field].sensitivity : nil
      text.set(mark.range, Self.treatment(layout.kind, form, sensitivity), isSensitive: sensitivity != nil)
    }
    treatNames(&text, frame, name)
  }

  /// What becomes of a value of a content.
  private static func treatment(
    _ kind: ContentKind, _ form: FieldMark.Form, _ sensitivity: FieldSensitivity?
  ) -> Treatment {
    switch (form, sensitivity) {
    case (.number, nil): .keep
    case (.number, .identity): .decimalName
    case (.number, _): .decimal
    case (_, nil), (_, .identity): kind == .json ? .jsonName : kind == .xml ? .xmlName : .name(.utf8)
    default: kind == .json ? .jsonText : kind == .xml ? .xmlText : .text(.utf8)
    }
  }

  /// What becomes of the bytes of a frame, in chunks; of those that stay nothing is said. No frame with an inflated body.
  func runs(
    _ frame: Frame, _ plan: ProtocolPlan, _ info: ConnectionInfo, _ direction: Direction, bytes: RawSpan, body: RawSpan,
    tlvs: Span<TLVRef>
  ) -> [PlainFrames.Run] {
    var text = FrameText()
    text.begin(headerCount: frame.headerCount, trailerCount: trailerCount(frame, plan)) { old in
      bytes.withUnsafeBytes { old.append(contentsOf: $0[frame.start..<frame.start + frame.count]) }
    }
    treat(&text, frame, plan, info, direction, bytes, body, tlvs)
    return text.runs
  }

  private func treat(_ mark: FieldMark, _ fields: FieldPlan, _ text: inout FrameText) {
    let (treatment, isSensitive) = Self.treatment(mark.kind, fields)
    text.set(mark.range, treatment, isSensitive: isSensitive)
  }

  /// What becomes of what is marked, and whether it does so even where the frame is read by it.
  static func treatment(_ kind: FieldMark.Kind, _ fields: FieldPlan) -> (Treatment, isSensitive: Bool) {
    switch kind {
    case .structure: return (.keep, false)
    case .json(let members):
      func keys(_ sensitivity: FieldSensitivity?) -> Set<String> {
        Set(members.filter { fields.fields[$0.field].sensitivity == sensitivity }.map(\.key))
      }
      return (.json(names: keys(.identity), others: keys(nil)), false)
    case .value(let field, let form):
      let sensitivity = fields.fields.indices.contains(field) ? fields.fields[field].sensitivity : nil
      return (treatment(form, sensitivity), sensitivity != nil)
    }
  }

  private static func treatment(_ form: FieldMark.Form, _ sensitivity: FieldSensitivity?) -> Treatment {
    switch (form, sensitivity) {
    case (.structure, _), (.time, nil), (.number, nil), (.littleEndian, nil): .keep
    case (.text(let encoding), nil), (.text(let encoding), .identity): .name(encoding)
    case (.text(let encoding), _): .text(encoding)
    case (.digits, nil), (.digits, .identity): .digits
    case (.number, .identity): .number(littleEndian: false)
    case (.littleEndian, .identity): .number(littleEndian: true)
    case (.number, _): .amount(littleEndian: false)
    case (.littleEndian, _): .amount(littleEndian: true)
    case (.address(let family), nil), (.address(let family), .identity): .address(family: family)
    case (.bytes, .identity): .bytes
    case (.time, _): .keep
    case (.digits, _), (.address, _), (.bytes, _): .anything
    }
  }

  /// The number of a session is somebody's, unless the profile names it and says otherwise.
  private func treatSession(_ text: inout FrameText, _ plan: ProtocolPlan) {
    guard let place = plan.sessionPlace(in: Array(text.old[..<text.headerCount])) else { return }
    text.set(place.range, place.coding == .bcd ? .digits : .number(littleEndian: place.littleEndian))
  }

  /// A line's words: what it is read by stays, its session gets a pseudonym, and the others a stand-in.
  private func treatLine(_ text: inout FrameText, _ plan: ProtocolPlan) {
    let words = plan.lineWords
    text.set(0..<text.old.count, .text(.utf8))
    var number = 0
    var at = 0
    while at < text.old.count {
      let isBlank = text.old[at] == 0x20 || text.old[at] == 0x09
      guard !isBlank else {
        at += 1
        continue
      }
      let end = text.old[at...].firstIndex { $0 == 0x20 || $0 == 0x09 } ?? text.old.count
      number += 1
      if [words.type, words.sequence, words.status].contains(UInt8(clamping: number)) {
        text.set(at..<end, .keep)
      } else if number == Int(words.session) {
        text.set(at..<end, .name(.ascii))
      }
      at = end
    }
  }
}
