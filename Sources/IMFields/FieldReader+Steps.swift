extension FieldReader {
  /// Takes `steps` one after the other.
  mutating func run(_ steps: FieldSteps) throws(FieldsEnd) {
    // Where marks are requested, fields are read by the steps themselves.
    let isQuick = marks == nil
    for (i, quick) in steps.quick.enumerated() {
      switch quick.kind {
      case .skip where isQuick:
        guard Int(quick.count) <= left else { throw FieldsEnd() }
        at += Int(quick.count)
      case .number where isQuick && plan.traits[Int(quick.field)].isPlain: try number(quick)
      default: try run(steps.steps[i])
      }
    }
  }

  /// Reads a plain number.
  @inline(__always)
  mutating func number(_ step: QuickStep) throws(FieldsEnd) {
    let number = try number(Int(step.count), littleEndian: step.isLittleEndian)
    let names = step.names >= 0 ? step.names : plan.traits[Int(step.field)].names
    try note(plain: number, Int(step.field), names: Int(names))
  }

  private mutating func run(_ step: FieldStep) throws(FieldsEnd) {
    if hold(step.conditions) { try run(step.action) }
  }

  private mutating func run(_ action: FieldStep.Action) throws(FieldsEnd) {
    switch action {
    case .skip(let extent): _ = try take(extent)
    case .value(let step): try value(step)
    case .layout(let index):
      // Layouts name those in front of them only, so this ends.
      try run(plan.layouts[index])
    case .elements(let table, let extent):
      let range = try take(extent)
      try part(range) { (reader) throws(FieldsEnd) in try reader.elements(reader.plan.tables[table]) }
    case .list(let field, let count, let item): try list(field, count, item)
    case .within(let field, let extent, let steps):
      let range = try take(extent)
      guard field >= 0 else {
        try? part(range) { (reader) throws(FieldsEnd) in try reader.run(steps) }
        return
      }
      let group = group(range) { (reader) throws(FieldsEnd) in try reader.run(steps) }
      try note(field, .object(group.fields))
    case .inside(let field, let steps):
      guard case .bytes(let inner)? = value(field) else { return }
      inside(inner, steps)
    case .first(let field, let paths, let names):
      for path in paths {
        if let found = value(at: path) {
          try note(field, found.value, names: names >= 0 ? names : found.names)
          return
        }
      }
    case .sum(let field, let of, let plus):
      guard let number = value(of)?.number, let whole = Int64(exactly: number) else { return }
      let (sum, overflow) = whole.addingReportingOverflow(plus)
      guard !overflow, sum >= 0 else { throw FieldsEnd() }
      try note(field, .unsigned(UInt64(sum)))
    case .left(let field): try note(field, .unsigned(UInt64(left)))
    case .gather(let field, let parts):
      var fields: [NamedField] = []
      for part in parts {
        guard let value = value(part.from) else { return }
        fields.append(NamedField(part.field, value))
      }
      try note(field, .object(fields))
    case .parts(let of, let parts):
      if let number = value(of)?.number { try self.parts(number, parts) }
    case .remember(let field):
      if let value = value(field) { news.append(NamedField(field, value)) }
    case .stop: throw FieldsEnd()
    case .alias(let field, let key, let of):
      guard let key = value(key)?.number, case .text(let text)? = value(of) else { return }
      if !text.isEmpty {
        alias = (key, text)
      } else if let known = known(key) {
        try note(field, .text(known))
      }
    case .keys(let field, let of, let keys):
      guard case .text(let text)? = value(of), let fields = KeyedTextReader.fields(of: text, keys) else { return }
      try note(field, .object(fields))
    case .json(let members): try json(members)
    case .paths(let paths): try self.paths(paths)
    }
  }

  /// Reads `range` as a part of its own; what is behind it is read next, whatever comes of it.
  mutating func part(
    _ range: Range<Int>, _ read: (inout FieldReader) throws(FieldsEnd) -> Void
  ) throws(FieldsEnd) {
    let (next, last) = (at, end)
    (at, end) = (range.lowerBound, range.upperBound)
    defer { (at, end) = (next, last) }
    try read(&self)
  }

  /// Reads `range` as a group: its fields, as far as they go, and whether they are whole.
  mutating func group(
    _ range: Range<Int>, _ read: (inout FieldReader) throws(FieldsEnd) -> Void
  ) -> (fields: [NamedField], isWhole: Bool) {
    guard outerStarts.count < Self.maximumDepth else { return ([], false) }
    let (outer, first) = (start, found.count)
    outerStarts.append(outer)
    start = first
    var isWhole = true
    do throws(FieldsEnd) { try part(range, read) } catch { isWhole = false }
    let fields = first == found.count ? [] : shown(from: first)
    found.removeSubrange(first...)
    start = outer
    outerStarts.removeLast()
    return (fields, isWhole)
  }

  /// Reads the bytes of a value that was read before.
  private mutating func inside(_ inner: [UInt8], _ steps: FieldSteps) {
    let (outer, next, last) = (bytes, at, end)
    let isFrame = isOutermost
    (bytes, at, end, isOutermost) = (inner, 0, inner.count, false)
    try? run(steps)
    (bytes, at, end, isOutermost) = (outer, next, last, isFrame)
  }

  /// The value at `path`: a field, and fields in its groups.
  private func value(at path: [Int]) -> NamedField? {
    guard let first = path.first else { return nil }
    var value = found[start...].first { $0.field == first }
    for name in path.dropFirst() {
      guard case .object(let fields)? = value?.value else { return nil }
      value = fields.first { $0.field == name }
    }
    return value
  }

  private mutating func list(_ field: Int, _ count: FieldCount, _ item: ListItem) throws(FieldsEnd) {
    var values: [FieldValue] = []
    var wanted = Int.max
    switch count {
    case .toEnd: break
    case .counted(let width): wanted = Int(clamping: try number(width))
    case .field(let field): wanted = Int(clamping: value(field)?.number ?? 0)
    }
    var isWhole = true
    while isWhole, values.count < min(wanted, Self.maximumValues) {
      if wanted == .max, left <= 0 { break }
      guard valueCount < Self.maximumValues else { break }
      valueCount += 1
      let from = at
      switch item {
      case .value(let step):
        do throws(FieldsEnd) { if let value = try read(step.step) { values.append(value) } } catch { isWhole = false }
        if step.step.field < 0, case .value(_, let form)? = marks?.last?.kind, let last = marks?.last {
          mark(last.range, .value(field: field, form))
        }
      case .steps(let steps):
        let rest = at..<end
        var next = at
        let group = group(rest) { (reader) throws(FieldsEnd) in
          try reader.run(steps)
          next = reader.at
        }
        isWhole = group.isWhole
        if isWhole {
          values.append(.object(group.fields))
          at = next
        }
      }
      // Nothing was read, so nothing would be again.
      if at == from { break }
    }
    try note(field, .list(values))
    if !isWhole { throw FieldsEnd() }
  }
}
