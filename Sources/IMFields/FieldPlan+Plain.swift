/// What tells those who rewrite frames that a layout depends on lengths and tags alone, so that a frame need not be read field by
/// field to know the layout.
extension FieldPlan {
  /// How the body of a type is laid out.
  package enum PlainBody: Sendable {
    /// Values one after the other, each of a fixed length or the rest: frames of one length have one layout. Also a type
    /// without named fields.
    case fixed
    /// Elements of the table with this index up to the end.
    case elements(Int)
    /// Anything else: the values of fields decide.
    case other
  }

  /// What `marks` says of the value of an element.
  package enum ElementMark: Sendable {
    /// Nothing: the table does not know the tag.
    case unknown
    /// One mark for all of it. `count` is the only length for which that holds; `nil` for any length.
    case whole(FieldMark.Kind, count: Int?)
    /// Nothing of its own: it holds elements of the same table.
    case group
    /// Anything else.
    case other
  }

  /// Whether the header's layout depends on its length alone, and no message changes how another one is read.
  package var hasPlainHeader: Bool {
    guard !remembers, readable.isEmpty, isFixed(header.steps, 0) else { return false }
    return derived.steps.allSatisfy { step in
      switch step.action {
      case .first, .sum, .left, .gather, .parts, .keys: true
      default: false
      }
    }
  }

  /// The layout of the bodies of a type, by its name.
  package func plainBody(of type: String) -> PlainBody {
    guard let steps = body(of: type)?.steps else { return .fixed }
    if let first = steps.first, first.conditions.isEmpty, case .elements(let table, .rest) = first.action,
      steps.dropFirst().allSatisfy(Self.readsNothingNew)
    {
      return .elements(table)
    }
    return isFixed(steps, 0) ? .fixed : .other
  }

  /// Whether a step makes a value of others, or reads one again; see `readAgain`.
  private static func readsNothingNew(_ step: FieldStep) -> Bool {
    switch step.action {
    case .first, .inside: true
    default: false
    }
  }

  /// Whether elements of a table have a tag of two bytes and a length of four, big endian, in front of the value, and nothing
  /// around them.
  package func hasTag2Length4(_ table: Int) -> Bool {
    guard tables.indices.contains(table) else { return false }
    let table = tables[table]
    return table.headerCount == 6 && table.tagOffset == 0 && table.tagCount == 2 && table.lengthOffset == 2
      && table.lengthCount == 4 && !table.countsAll && table.vendorCount == 0 && table.padding <= 1
      && !table.littleEndian && !table.hasVarintTag
  }

  /// What is marked in an element of a table, by its tag.
  package func elementMark(_ table: Int, tag: UInt64) -> ElementMark {
    guard tables.indices.contains(table), let known = tables[table].known[ElementKey(tag: tag)] else { return .unknown }
    switch known {
    case .group: return .group
    case .steps: return .other
    case .value(let shared):
      guard !readAgain.contains(shared.step.field), let form = plainForm(shared) else { return .other }
      let kind = FieldMark.Kind.value(field: shared.step.field, form)
      switch shared.step.extent {
      case .rest: return .whole(kind, count: nil)
      case .fixed(let count): return .whole(kind, count: count)
      default: return .other
      }
    }
  }

  /// The form of a value, where no other value decides it and it is marked as one.
  private func plainForm(_ shared: SharedValue) -> FieldMark.Form? {
    let step = shared.step
    if shared.plainCount > 0, !traits[step.field].isHidden { return .number }
    switch step.form {
    case .varint, .pair, .text(.field): return nil
    default: return FieldReader.fixedForm(step)
    }
  }

  /// Whether how far steps go depends on the number of bytes alone.
  private func isFixed(_ steps: [FieldStep], _ depth: Int) -> Bool {
    guard depth < FieldReader.maximumDepth else { return false }
    return steps.allSatisfy { step in
      guard step.conditions.isEmpty else { return false }
      switch step.action {
      case .skip(let extent): return Self.isPlain(extent)
      case .value(let shared): return Self.isPlain(shared.step.extent) && plainForm(shared) != nil
      case .layout(let index): return layouts.indices.contains(index) && isFixed(layouts[index].steps, depth + 1)
      default: return false
      }
    }
  }

  private static func isPlain(_ extent: FieldExtent) -> Bool {
    switch extent {
    case .fixed, .rest: true
    default: false
    }
  }
}
