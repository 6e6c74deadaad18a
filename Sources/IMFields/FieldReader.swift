/// A frame, as its fields are read.
package struct FieldFrame {
  /// The header's bytes, and those of the body behind them, without what the protocol puts around a body.
  package var bytes: [UInt8]
  /// Where the body begins.
  package var body: Int
  /// The name of the type; empty for one that the profile does not know.
  package var type: String
  /// Whether its connection speaks the variant of the protocol.
  package var isVariant = false
  /// Whether the body can be read: it is neither encrypted nor a piece.
  package var isReadable = true
  /// The connection's number.
  package var connection: UInt32 = 0
  /// Whether the server sent it.
  package var isBack = false

  /// A frame of its bytes.
  package init(bytes: [UInt8], body: Int, type: String) { (self.bytes, self.body, self.type) = (bytes, body, type) }
}

/// That bytes end before a value does.
struct FieldsEnd: Error {}

/// Reads the named fields of frames, one after the other: what it reads into is used again for the next one. It keeps what one message
/// tells of the next.
///
/// Bytes are not trusted: each read is bounded by what is left of its part, lists by `maximumValues` in all, and groups by
/// `maximumDepth`. A frame that ends before a field does has the fields in front of it.
package struct FieldReader: ~Copyable {
  /// The most values of a frame, nested ones included.
  package static let maximumValues = 16_384
  /// How deep groups nest.
  package static let maximumDepth = 16
  /// The most marks of a frame; behind the last one nobody knows what stands where.
  static let maximumMarks = 1 << 17
  /// The most bytes of one value that are kept.
  package static let maximumBytes = 1 << 20

  var plan = FieldPlan.none
  var bytes: [UInt8] = []
  var frame: (connection: UInt32, isBack: Bool) = (0, false)
  /// Where the next byte is read, and where the part ends that is being read.
  var at = 0, end = 0
  /// The offset of the content that paths were applied to; negative before that.
  var contentStart = -1
  /// Fields that were read; those of a group after those of the one that it is in.
  var found: [NamedField] = []
  /// Where the fields of the innermost group begin, and those of the groups that it is in.
  var start = 0
  var outerStarts: [Int] = []
  var valueCount = 0
  var remembered: [NamedField] = []
  var news: [NamedField] = []
  var alias: (key: UInt64, text: String)?
  /// Where values of the last frame stand that are not to be shown, from the header's first byte.
  package internal(set) var secrets: [Range<Int>] = []
  /// What stands where, where somebody asks for that.
  var marks: [FieldMark]?
  /// The names of members in the paths of the last frame; `nil` unless `contentMarks` collects them.
  var pathNames: Set<[UInt8]>?
  /// Whether the bytes are the frame's, and not those of a value.
  var isOutermost = true
  private var memory = FieldMemory()

  /// A reader that has read nothing.
  package init() {}

  /// The fields of `frame`, in the order in which they stand in it.
  package static func fields(of frame: FieldFrame, _ plan: FieldPlan, _ memory: inout FieldMemory) -> [NamedField] {
    read(frame, plan, &memory).fields
  }

  /// The same, and where values stand that are not to be shown, from the header's first byte.
  package static func read(
    _ frame: FieldFrame, _ plan: FieldPlan, _ memory: inout FieldMemory
  ) -> (fields: [NamedField], secrets: [Range<Int>]) {
    var reader = FieldReader()
    var frame = frame
    swap(&reader.memory, &memory)
    let fields = reader.fields(of: &frame, plan)
    swap(&reader.memory, &memory)
    return (fields, reader.secrets)
  }

  /// What stands where in `frame`, from the header's first byte: of two marks for one byte the later one counts. What has none is
  /// read by nobody.
  package static func marks(of frame: FieldFrame, _ plan: FieldPlan, _ memory: inout FieldMemory) -> [FieldMark] {
    var reader = FieldReader()
    var frame = frame
    swap(&reader.memory, &memory)
    let marks = reader.marks(of: &frame, plan)
    swap(&reader.memory, &memory)
    return marks
  }

  /// The fields of `frame`, which stays what it is, in the order in which they stand in it.
  package mutating func fields(of frame: inout FieldFrame, _ plan: FieldPlan) -> [NamedField] {
    readAll(&frame, plan)
    return shown(from: 0)
  }

  /// What stands where in `frame`, which stays what it is.
  package mutating func marks(of frame: inout FieldFrame, _ plan: FieldPlan) -> [FieldMark] {
    marks = []
    readAll(&frame, plan)
    defer { marks = nil }
    return marks ?? []
  }

  /// The places of the parts of `frame`, including the values of its content that paths lead to, and the names of members in these paths.
  package mutating func contentMarks(
    of frame: inout FieldFrame, _ plan: FieldPlan
  ) -> (marks: [FieldMark], names: Set<[UInt8]>) {
    pathNames = []
    defer { pathNames = nil }
    let marks = marks(of: &frame, plan)
    return (marks, pathNames ?? [])
  }

  /// Forgets a connection that is over.
  package mutating func forget(_ connection: UInt32) { memory.forget(connection) }

  /// Takes note of what stands in `range`.
  mutating func mark(_ range: Range<Int>, _ kind: FieldMark.Kind) {
    guard let count = marks?.count, count < Self.maximumMarks, isOutermost, !range.isEmpty else { return }
    marks?.append(FieldMark(range: range, kind: kind))
  }

  /// Fields from a place on without those that are for conditions only.
  func shown(from place: Int) -> [NamedField] {
    guard plan.hasUnshown else { return place == 0 ? found : Array(found[place...]) }
    // As a rule none of them is there, and nothing is copied.
    guard found[place...].contains(where: { !plan.traits[$0.field].isShown }) else {
      return place == 0 ? found : Array(found[place...])
    }
    return found[place...].filter { plan.traits[$0.field].isShown }
  }

  /// Reads a frame. Its bytes are borrowed meanwhile.
  private mutating func readAll(_ frame: inout FieldFrame, _ plan: FieldPlan) {
    if self.plan !== plan { self.plan = plan }
    swap(&bytes, &frame.bytes)
    self.frame = (frame.connection, frame.isBack)
    found.removeAll(keepingCapacity: true)
    if found.capacity == 0 { found.reserveCapacity(16) }
    start = 0
    (at, end, valueCount) = (0, 0, 0)
    contentStart = -1
    if !secrets.isEmpty { secrets.removeAll(keepingCapacity: true) }
    if plan.remembers || frame.isVariant { recall(frame.isVariant) }
    run(body: min(max(0, frame.body), bytes.count), type: frame.type, isReadable: frame.isReadable)
    swap(&bytes, &frame.bytes)
    guard plan.remembers || !news.isEmpty || alias != nil || !remembered.isEmpty else { return }
    for field in news { memory.remember(field, frame.connection) }
    if let (key, text) = alias { memory.alias(key, text, frame.connection, back: frame.isBack) }
    (news, alias, remembered) = ([], nil, [])
  }

  private mutating func recall(_ isVariant: Bool) {
    remembered = plan.remembers ? memory.values(frame.connection) : []
    if isVariant, plan.variable >= 0, !remembered.contains(where: { $0.field == plan.variable }) {
      remembered.append(NamedField(plan.variable, .unsigned(plan.variant)))
    }
  }

  private mutating func run(body: Int, type: String, isReadable: Bool) {
    end = body
    try? run(plan.header)
    guard isReadable, hold(plan.readable) else { return }
    (at, end) = (body, bytes.count)
    if let steps = plan.body(of: type) {
      try? run(steps)
    } else if type == FieldPlan.unreadable, plan.hidesAny {
      // What cannot be read may have any of the values that are not to be shown.
      secrets.append(0..<bytes.count)
    }
    at = end
    if !plan.derived.isEmpty { try? run(plan.derived) }
  }

  /// What an earlier message said that `key` stands for.
  func known(_ key: UInt64) -> String? { memory.alias(key, frame.connection, back: frame.isBack) }

  // MARK: Values that were read

  /// The value of `field`: of the innermost group that has it, or what the connection remembers.
  func value(_ field: Int) -> FieldValue? {
    var (from, to, depth) = (start, found.count, outerStarts.count)
    while true {
      if let place = found[from..<to].firstIndex(where: { $0.field == field }) { return found[place].value }
      guard depth > 0 else { break }
      depth -= 1
      (from, to) = (outerStarts[depth], from)
    }
    return remembered.first { $0.field == field }?.value
  }

  /// Whether all conditions hold.
  func hold(_ conditions: [FieldCondition]) -> Bool {
    for condition in conditions where !holds(condition) { return false }
    return true
  }

  private func holds(_ condition: FieldCondition) -> Bool {
    for test in condition.tests where !passes(test) { return condition.isNegated }
    return !condition.isNegated
  }

  private func passes(_ test: FieldTest) -> Bool {
    let number: UInt64?
    if test.field == FieldTest.left {
      number = UInt64(max(0, end - at))
    } else {
      let value = value(test.field)
      if test.isAbsent { return value == nil }
      if test.ranges.isEmpty { return value != nil }
      number = value?.number
    }
    guard let number else { return false }
    return test.ranges.contains { $0.contains(number) }
  }

  /// Notes a value. Of a field that stands in a message twice the first counts, unless it may have several.
  mutating func note(_ field: Int, _ value: FieldValue, names: Int = -1) throws(FieldsEnd) {
    guard field >= 0 else { return }
    guard valueCount < Self.maximumValues else { throw FieldsEnd() }
    valueCount += 1
    let traits = plan.traits[field]
    let value = traits.isCredential ? .hidden : value
    if let place = place(of: field) {
      guard traits.isRepeated, case .list(var list) = found[place].value else { return }
      // Taken out, so that the list is not copied for each of its values.
      found[place].value = .hidden
      list.append(value)
      found[place].value = .list(list)
      return
    }
    found.append(
      NamedField(field, traits.isRepeated ? .list([value]) : value, names: names >= 0 ? names : Int(traits.names)))
  }

  /// Where the innermost group has a field.
  private func place(of field: Int) -> Int? {
    var place = start
    while place < found.count {
      if found[place].field == field { return place }
      place += 1
    }
    return nil
  }

  /// Notes a number of a field that is neither hidden nor repeated.
  @inline(__always)
  mutating func note(plain number: UInt64, _ field: Int, names: Int) throws(FieldsEnd) {
    guard valueCount < Self.maximumValues else { throw FieldsEnd() }
    valueCount += 1
    if place(of: field) == nil { found.append(NamedField(field, .unsigned(number), names: names)) }
  }

  // MARK: Bytes

  var left: Int { end - at }

  mutating func number(_ count: Int, littleEndian: Bool = false) throws(FieldsEnd) -> UInt64 {
    guard (0...8).contains(count), count <= left else { throw FieldsEnd() }
    if marks != nil { mark(at..<at + count, .structure) }
    var value: UInt64 = 0
    if littleEndian {
      for i in (at..<at + count).reversed() { value = value << 8 | UInt64(bytes[i]) }
    } else {
      for i in at..<at + count { value = value << 8 | UInt64(bytes[i]) }
    }
    at += count
    return value
  }

  static func number(_ bytes: ArraySlice<UInt8>, _ littleEndian: Bool) -> UInt64 {
    littleEndian
      ? bytes.suffix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
      : bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func varint() throws(FieldsEnd) -> UInt64 {
    var value: UInt64 = 0
    for i in 0..<4 {
      let byte = try number(1)
      value |= (byte & 0x7F) << UInt64(7 * i)
      if byte < 0x80 { return value }
    }
    throw FieldsEnd()
  }

  /// Takes the bytes of a value.
  mutating func take(_ extent: FieldExtent) throws(FieldsEnd) -> Range<Int> {
    let count: UInt64
    switch extent {
    case .fixed(let bytes): count = UInt64(bytes)
    case .rest: count = UInt64(left)
    case .counted(let width, let littleEndian): count = try number(width, littleEndian: littleEndian)
    case .varint: count = try varint()
    case .zero(let maximum):
      guard let zero = bytes[at..<end].prefix(maximum).firstIndex(of: 0) else { throw FieldsEnd() }
      if marks != nil { mark(zero..<zero + 1, .structure) }
      defer { at = zero + 1 }
      return at..<zero
    case .field(let field):
      guard let number = value(field)?.number else { throw FieldsEnd() }
      count = number
    }
    guard count <= UInt64(left) else { throw FieldsEnd() }
    defer { at += Int(count) }
    return at..<at + Int(count)
  }
}
