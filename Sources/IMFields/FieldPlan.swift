/// Who may see a value.
package enum FieldSensitivity: String, Sendable, CaseIterable {
  /// It names a person or a device.
  case identity
  /// It lets somebody in: shown nowhere, and not hashed either.
  case credential
  /// What users say, or what tells of it.
  case payload
  /// Where somebody is.
  case location
}

/// What is known of a field by its name.
package struct FieldInfo: Equatable, Sendable {
  /// The name in outputs and filters. One that begins with `_` is for conditions and is not shown.
  package var name: String
  /// The kind of its values, as `imdump fields` says it.
  package var type = FieldType.integer
  /// The unit of its numbers; empty where they have none.
  package var unit = ""
  /// Who may see it; `nil` where anybody may.
  package var sensitivity: FieldSensitivity?
  /// Whether a message may have several: its value is a list then, of one as well.
  package var isRepeated = false
  /// The table that names its numbers, in `FieldPlan.enums`; negative where there is none.
  package var names = -1
  /// The name in documents; empty for the one that is made of the profile's and its own.
  package var ecs = ""
  /// Whether it stands in documents.
  package var isLogged = false
  /// Whether a group within a message may have it, so that there may be several.
  package var isNested = false
  /// Tables that name its numbers, in `FieldPlan.enums`.
  package var tables: Set<Int> = []
  /// Whether a message itself has it, and not only a group within.
  package var isOutermost = false
  /// The types that have it, by name; `*` for all.
  package var messages: [String] = []

  /// What is known of a field of which only the name is.
  package init(name: String) { self.name = name }

  /// Whether it is shown.
  package var isShown: Bool { name.utf8.first != 95 }
}

/// The kinds of values that fields have.
package enum FieldType: String, Sendable {
  case integer, number, boolean, text, bytes, time, address, list, object
}

/// The named fields of a protocol, compiled from a profile: where they stand, what they are called and what they are.
///
/// Nothing of it is used to decode a stream. Outputs and filters read a frame by it, once it is known that it is wanted.
package final class FieldPlan: Sendable {
  /// What is known of the fields.
  package let fields: [FieldInfo]
  /// Tables that name numbers.
  package let enums: [[UInt64: String]]
  /// Steps that read a header, from its first byte.
  let header: FieldSteps
  /// What must hold of the header for the body to be read.
  let readable: [FieldCondition]
  /// Layouts that messages share.
  let layouts: [FieldSteps]
  /// Tables of elements.
  let tables: [ElementTable]
  /// Steps that read a body, by the name of the type; those of all others, if there are some.
  private let messages: [String: FieldSteps]
  private let otherMessages: FieldSteps?
  /// The bytes of the header's fields, by field, as far as its layout is fixed.
  private let headerRanges: [Int: Range<Int>]
  /// What is made of the fields in the end, whether or not the body was whole.
  let derived: FieldSteps
  /// The field that tells a connection's variant of the protocol, and its value in the variant; negative without one.
  let variable: Int, variant: UInt64
  /// The classes of values that the profile hides beside credentials.
  package let hidden: Set<FieldSensitivity>
  /// Whether anything is kept of a connection from one message to the next.
  package let remembers: Bool
  /// What reading and printing ask of each field.
  let traits: [Traits]
  /// The fields' names as keys of JSON, with quotation marks and colon, one after the other.
  package let keyText: [UInt8]
  /// Whether there are fields that are for conditions only.
  let hasUnshown: Bool
  /// Fields whose bytes a body's last steps read again.
  let readAgain: Set<Int>

  /// What reading and printing ask of a field, in few bytes.
  struct Traits: BitwiseCopyable {
    var isRepeated, isShown, isCredential, isHidden: Bool
    /// Whether its value is noted as it is.
    let isPlain: Bool
    var names: Int32
    /// Where its key is among all.
    fileprivate var keyStart = 0, keyEnd = 0
  }

  /// A plan that names no field.
  package static let none = FieldPlan(Draft())

  /// A plan of what was compiled.
  package init(_ draft: Draft) {
    fields = draft.fields
    enums = draft.enums
    header = FieldSteps(draft.header)
    headerRanges = Self.fixedRanges(of: draft.header)
    readable = draft.readable
    layouts = draft.layouts.map { FieldSteps($0) }
    tables = draft.tables
    messages = draft.messages.filter { $0.key != "*" }.mapValues { FieldSteps($0) }
    otherMessages = draft.messages["*"].map { FieldSteps($0) }
    derived = FieldSteps(draft.derived)
    variable = draft.variable
    variant = draft.variant
    hidden = draft.hidden
    remembers = draft.remembers
    let hidden = draft.hidden
    var keyText: [UInt8] = []
    traits = draft.fields.map { info in
      let isCredential = info.sensitivity == .credential
      let isHidden = isCredential || info.sensitivity.map(hidden.contains) ?? false
      let keyStart = keyText.count
      keyText += "\"\(info.name)\":".utf8
      return Traits(
        isRepeated: info.isRepeated, isShown: info.isShown, isCredential: isCredential, isHidden: isHidden,
        isPlain: !isHidden && !info.isRepeated, names: Int32(info.names), keyStart: keyStart, keyEnd: keyText.count)
    }
    self.keyText = keyText
    hasUnshown = draft.fields.contains { !$0.isShown }
    readAgain = Set(
      draft.messages.values.joined().compactMap { if case .inside(let field, _) = $0.action { field } else { nil } })
  }

  /// What is compiled of a profile, before it is fixed.
  package struct Draft {
    /// What is known of the fields.
    package var fields: [FieldInfo] = []
    /// Tables that name numbers.
    package var enums: [[UInt64: String]] = []
    /// Steps that read a header.
    package var header: [FieldStep] = []
    /// What must hold for the body to be read.
    package var readable: [FieldCondition] = []
    /// Layouts that messages share.
    package var layouts: [[FieldStep]] = []
    /// Tables of elements.
    package var tables: [ElementTable] = []
    /// Steps that read a body, by the name of the type.
    package var messages: [String: [FieldStep]] = [:]
    /// What is made of the fields in the end.
    package var derived: [FieldStep] = []
    /// The field that tells the variant, and its value there.
    package var variable = -1, variant: UInt64 = 0
    /// The classes of values that are hidden beside credentials.
    package var hidden: Set<FieldSensitivity> = []
    /// Whether anything is kept of a connection.
    package var remembers = false

    /// An empty draft.
    package init() {}
  }

  /// The steps that read the body of a message of this type; `nil` where there are none.
  func body(of type: String) -> FieldSteps? {
    guard !messages.isEmpty else { return otherMessages }
    return messages[type] ?? otherMessages
  }

  /// Where the key of a field is in `keyText`.
  @inline(__always)
  package func key(of field: Int) -> Range<Int> {
    let traits = traits[field]
    return traits.keyStart..<traits.keyEnd
  }

  /// Whether the profile keeps values of `field` from being shown.
  package func hides(_ field: Int) -> Bool { traits[field].isHidden }

  /// Whether it keeps values of any field from being shown.
  var hidesAny: Bool { traits.contains(where: \.isHidden) }

  /// The name of the type of frames whose content cannot be read.
  static var unreadable: String { "unreadable" }

  /// The field that an element with this tag is, in the first table that knows it; `nil` where none does.
  package func element(vendor: UInt64, tag: UInt64) -> Int? {
    for table in tables {
      switch table.known[ElementKey(vendor: vendor, tag: tag)] {
      case .value(let value): return value.step.field
      case .group(let field): return field
      case .steps(let field, _, _): if field >= 0 { return field }
      case nil: break
      }
    }
    return nil
  }

  /// The bytes of a header that contain `field`, from the first one; `nil` for a field of the body, or if another field determines where it begins.
  package func headerRange(of field: Int) -> Range<Int>? { headerRanges[field] }

  /// The bytes of the fields that the first steps read, up to a field whose length or presence depends on a value.
  private static func fixedRanges(of steps: [FieldStep]) -> [Int: Range<Int>] {
    var ranges: [Int: Range<Int>] = [:]
    var at = 0
    for step in steps {
      guard step.conditions.isEmpty else { break }
      switch step.action {
      case .skip(.fixed(let count)) where (0..<1 << 16).contains(count): at += count
      case .value(let value):
        guard case .fixed(let count) = value.step.extent, (0..<1 << 16).contains(count) else { return ranges }
        if value.step.field >= 0, ranges[value.step.field] == nil { ranges[value.step.field] = at..<at + count }
        at += count
      default: return ranges
      }
    }
    return ranges
  }

  /// The name that a number of `field` has; `nil` where it has none.
  package func name(of field: NamedField) -> String? {
    guard field.names >= 0, let number = field.value.number else { return nil }
    return enums[field.names][number]
  }
}
