import IMEngine
import IMFields
import IMWire

/// Rewrites the plain frames of one protocol in place, which are nearly all that travel: those whose layout follows from the lengths
/// and the tags that the engine has read already. Nothing is allocated for a frame, and its fields are not read again.
///
/// A frame is plain when its protocol's header is the same for all and its body is either a list of elements (tag of two bytes, length
/// of four) that fill it, or short and without elements. The layout is then found once: for an element by its tag, for a short
/// body by its type and length. Any other frame goes the long way, by `FrameText`, which is also what finds the layout of a short
/// body: both ways give the same bytes.
struct PlainFrames: ~Copyable {
  /// What becomes of bytes that follow one another.
  struct Run {
    let range: Range<Int>
    let treatment: FrameRedactor.Treatment
  }

  /// What becomes of the value of an element: the places of its treatment in `treatments` where it has at most eight bytes, and where
  /// it has more.
  private struct Element: BitwiseCopyable {
    var tag: UInt32 = .max
    /// The only length for which this holds; negative for all.
    var exactCount: Int32 = -1
    var short: UInt16 = 0, long: UInt16 = 0
    var kind = Kind.unread

    enum Kind: UInt8 { case unread, value, group, other }
  }

  /// The layout of the bodies of a type.
  private enum Body: UInt8 { case unread, fixed, elements, other }

  /// The places of common treatments in `treatments`.
  private static let keep: UInt16 = 0, anything: UInt16 = 1, text: UInt16 = 2
  /// The longest body without elements whose layout is remembered; the most elements of a plain frame and how deep they nest: as many
  /// as `FieldReader` reads without coming to a limit.
  private static let longestFixed = 255, mostElements = 128, deepest = 8
  private static let notPlain = Frame.Flags.encrypted.rawValue | Frame.Flags.inflated.rawValue
  private static let elementCount = 1_024, typeCount = 64

  private let plan: ProtocolPlan
  private let fields: FieldPlan?
  /// Whether any frame of the protocol is plain.
  private let isUsable: Bool
  /// The elements by some bits of their tags.
  private let elements: UnsafeMutablePointer<Element>
  private var treatments: [FrameRedactor.Treatment] = [.keep, .anything, .text(.utf8)]
  /// By type.
  private let bodies: UnsafeMutablePointer<Body>
  private let tables: UnsafeMutablePointer<Int32>
  /// What becomes of headers, with the length for which that was found.
  private var header: (count: Int, runs: [Run]) = (-1, [])
  /// The layouts of frames without elements, by type and the body's length; and where in `layouts` each is, less than 0 where it was
  /// not looked for.
  private var layouts: [[Run]] = []
  private var layoutPlaces: [Int32] = []
  /// The frame in hand, and how much room there is.
  private var memory: UnsafeMutableRawPointer
  private var capacity = 4_096

  init(_ plan: ProtocolPlan) {
    self.plan = plan
    fields = plan.fields
    isUsable = plan.hasPlainFrames && fields?.hasPlainHeader ?? true
    elements = .allocate(capacity: Self.elementCount)
    elements.initialize(repeating: Element(), count: Self.elementCount)
    bodies = .allocate(capacity: Self.typeCount)
    bodies.initialize(repeating: .unread, count: Self.typeCount)
    tables = .allocate(capacity: Self.typeCount)
    tables.initialize(repeating: -1, count: Self.typeCount)
    memory = .allocate(byteCount: capacity + ProtocolPlan.checksumSlack, alignment: 16)
    memory.initializeMemory(as: UInt8.self, repeating: 0, count: capacity + ProtocolPlan.checksumSlack)
    if isUsable { layoutPlaces = [Int32](repeating: -1, count: Self.typeCount * (Self.longestFixed + 1)) }
  }

  deinit {
    elements.deallocate()
    bodies.deallocate()
    tables.deallocate()
    memory.deallocate()
  }

  /// Gives the bytes of a frame as it travels, rewritten, until the next call; `nil` where it is not plain. The parameters are the
  /// sink's, and `redactor` is whose treatments are applied.
  @inline(__always)
  mutating func rewrite(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, bytes: RawSpan, body: RawSpan,
    tlvs: Span<TLVRef>, _ redactor: FrameRedactor
  ) -> UnsafeRawBufferPointer? {
    let kind = frame.kind.pointee
    guard isUsable, frame.flags.rawValue & Self.notPlain == 0, frame.identityCount == 0,
      frame.subjectCount == 0, kind.stepCount == 0, frame.start >= 0, frame.bodyCount >= 0,
      frame.start <= bytes.byteCount &- frame.count, Int(kind.index) < Self.typeCount
    else { return nil }
    let header = frame.headerCount, count = frame.count
    if tlvs.isEmpty {
      guard let place = layout(frame, info, direction, bytes, body, redactor) else { return nil }
      let new = copy(frame, bytes)
      for i in layouts[place].indices {
        let range = layouts[place][i].range
        redactor.replace(UnsafeMutableRawBufferPointer(rebasing: new[range]), layouts[place][i].treatment)
      }
    } else {
      guard kind.role != .acknowledgment, tlvs.count <= Self.mostElements, frame.count == header &+ frame.bodyCount,
        isListed(Int(kind.index))
      else { return nil }
      if self.header.count != header { findHeader(frame, info, direction, bytes, redactor) }
      let new = copy(frame, bytes)
      for i in self.header.runs.indices {
        let range = self.header.runs[i].range
        redactor.replace(UnsafeMutableRawBufferPointer(rebasing: new[range]), self.header.runs[i].treatment)
      }
      guard replaceElements(tlvs, UnsafeMutableRawBufferPointer(rebasing: new[header...]), Int(kind.index), redactor)
      else { return nil }
    }
    let new = UnsafeMutableRawBufferPointer(start: memory, count: count)
    if frame.checksumStatus != .unchecked { plan.recomputeChecksum(of: new, from: bytes, frame) }
    return UnsafeRawBufferPointer(new)
  }

  @inline(__always)
  private mutating func copy(_ frame: Frame, _ bytes: RawSpan) -> UnsafeMutableRawBufferPointer {
    let count = frame.count
    if count > capacity { grow(count) }
    // SAFETY: `rewrite` has proved that the frame lies in `bytes`, and there is room for it in `memory`.
    bytes.withUnsafeBytes {
      if let base = $0.baseAddress { memory.copyMemory(from: base + frame.start, byteCount: count) }
    }
    (memory + count).initializeMemory(as: UInt8.self, repeating: 0, count: ProtocolPlan.checksumSlack)
    return UnsafeMutableRawBufferPointer(start: memory, count: count)
  }

  @inline(never)
  private mutating func grow(_ count: Int) {
    while capacity < count { capacity *= 2 }
    memory.deallocate()
    memory = .allocate(byteCount: capacity + ProtocolPlan.checksumSlack, alignment: 16)
  }

  // MARK: Elements

  /// Whether the body of the type with this index is a list of elements.
  @inline(__always)
  private mutating func isListed(_ type: Int) -> Bool {
    if bodies[type] == .unread { read(type) }
    return bodies[type] == .elements
  }

  @inline(never)
  private mutating func read(_ type: Int) {
    guard let fields else {
      bodies[type] = .fixed
      return
    }
    switch fields.plainBody(of: type < plan.typeNames.count ? plan.typeNames[type] : "") {
    case .fixed: bodies[type] = .fixed
    case .other: bodies[type] = .other
    case .elements(let table):
      let isOnly = bodiesWithTable.allSatisfy { $0 == table }
      bodies[type] = plan.hasTag2Length4 && fields.hasTag2Length4(table) && isOnly ? .elements : .other
      tables[type] = Int32(table)
    }
  }

  /// The tables that types have whose bodies were looked at: there is one, as a rule, by which elements are remembered.
  private var bodiesWithTable: [Int] {
    (0..<Self.typeCount).filter { bodies[$0] == .elements }.map { Int(tables[$0]) }
  }

  /// Replaces the values of elements that fill `body`; false where they do not, or one of them is not plain: the body is half replaced
  /// then.
  @inline(__always)
  private mutating func replaceElements(
    _ tlvs: Span<TLVRef>, _ body: UnsafeMutableRawBufferPointer, _ type: Int, _ redactor: FrameRedactor
  ) -> Bool {
    var at = 0
    var end = body.count
    var depth = 0
    var ends = InlineArray<8, Int>(repeating: 0)
    for i in tlvs.indices {
      let element = tlvs[i]
      while at == end, depth > 0 {
        depth -= 1
        end = ends[depth]
      }
      let start = at + 6, count = Int(element.count)
      guard Int(element.offset) == start, start + count <= end else { return false }
      let slot = Int(truncatingIfNeeded: (element.tag &* 0x9e37_79b1) >> 22)
      if elements[slot].tag != element.tag || elements[slot].kind == .unread { learn(element.tag, slot, type) }
      let known = elements[slot]
      switch known.kind {
      case .group:
        guard element.isList, depth < Self.deepest else { return false }
        ends[depth] = end
        depth += 1
        (at, end) = (start, start + count)
      case .value:
        guard !element.isList, known.exactCount < 0 || Int(known.exactCount) == count else { return false }
        at = start + count
        let treatment = count <= 8 ? known.short : known.long
        if treatment == Self.keep || count == 0 { continue }
        let value = UnsafeMutableRawBufferPointer(rebasing: body[start..<at])
        switch treatment {
        case Self.anything: CharacterShape.replace(anything: value)
        case Self.text: CharacterShape.replace(text: value)
        default: redactor.replace(value, treatments[Int(treatment)])
        }
      case .unread, .other: return false
      }
    }
    while at == end, depth > 0 {
      depth -= 1
      end = ends[depth]
    }
    return depth == 0 && at == body.count
  }

  /// Finds what becomes of the values of a tag: the named fields say it, where they know it and it is not read by; else the engine does.
  @inline(never)
  private mutating func learn(_ tag: UInt32, _ slot: Int, _ type: Int) {
    var element = Element()
    element.tag = tag
    guard let fields else {
      elements[slot] = element
      return
    }
    switch fields.elementMark(Int(tables[type]), tag: UInt64(tag)) {
    case .unknown:
      element.kind = .value
      element.short = place(ofElement: tag, isShort: true, nil, fields)
      element.long = place(ofElement: tag, isShort: false, nil, fields)
    case .whole(let mark, let count):
      element.kind = .value
      element.short = place(ofElement: tag, isShort: true, mark, fields)
      element.long = place(ofElement: tag, isShort: false, mark, fields)
      if let count { element.exactCount = Int32(clamping: count) }
    case .group: element.kind = .group
    case .other: element.kind = .other
    }
    elements[slot] = element
  }

  /// The place in `treatments` of what becomes of an element.
  private mutating func place(
    ofElement tag: UInt32, isShort: Bool, _ mark: FieldMark.Kind?, _ fields: FieldPlan
  ) -> UInt16 {
    let kind = plan.kind(ofElement: tag, isShort: isShort)
    var treatment: FrameRedactor.Treatment =
      switch kind {
      case .structure: .keep
      case .text: .name(.utf8)
      case .bytes: .anything
      case .padding: .zero
      }
    if let mark {
      let (other, isSensitive) = FrameRedactor.treatment(mark, fields)
      if isSensitive || kind != .structure { treatment = other }
    }
    // There are a few dozen at most.
    if let place = treatments.firstIndex(of: treatment) { return UInt16(place) }
    treatments.append(treatment)
    return UInt16(treatments.count - 1)
  }

  // MARK: Layouts

  /// Finds what becomes of headers as long as that of a frame.
  @inline(never)
  private mutating func findHeader(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan,
    _ redactor: FrameRedactor
  ) {
    var bare = frame
    bare.count = frame.headerCount
    let none = bytes.extracting(0..<0)
    let runs = redactor.runs(bare, plan, info, direction, bytes: bytes, body: none, tlvs: Span())
    header = (frame.headerCount, runs)
  }

  /// Where in `layouts` that of a frame without elements is; `nil` where it is not plain.
  @inline(__always)
  private mutating func layout(
    _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan,
    _ body: RawSpan, _ redactor: FrameRedactor
  ) -> Int? {
    let count = frame.bodyCount
    guard count <= Self.longestFixed, frame.headerCount == Int(plan.headerCount) else { return nil }
    let slot = Int(frame.kind.pointee.index) * (Self.longestFixed + 1) + count
    if layoutPlaces[slot] < 0, !find(slot, frame, info, direction, bytes, body, redactor) { return nil }
    return Int(layoutPlaces[slot])
  }

  @inline(never)
  private mutating func find(
    _ slot: Int, _ frame: Frame, _ info: ConnectionInfo, _ direction: Direction, _ bytes: RawSpan,
    _ body: RawSpan, _ redactor: FrameRedactor
  ) -> Bool {
    let type = Int(frame.kind.pointee.index)
    if bodies[type] == .unread { read(type) }
    guard bodies[type] == .fixed || bodies[type] == .elements && frame.bodyCount == 0 else { return false }
    layouts.append(
      redactor.runs(frame, plan, info, direction, bytes: bytes, body: body, tlvs: Span()))
    layoutPlaces[slot] = Int32(layouts.count - 1)
    return true
  }
}
