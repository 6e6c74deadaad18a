import IMEngine
import IMFields
import IMWire

/// The properties that the line of a frame or of a message already shows, so that the lines below do not repeat them.
package struct ShownProperties {
  /// Whether the line shows the status of the frame itself, and not that of its answer.
  package var hasStatus = false
  /// Whether the line shows the subject.
  package var hasSubject = false
  /// The number that the frame acknowledges; `nil` where it acknowledges none.
  package var ackOf: UInt64?

  /// The line of a message: its type, number, session and length, but neither subject nor status.
  package static let message = ShownProperties()

  /// The maximum length of a text that a line shows in full.
  private static let longestText = 64
  /// The named fields of bodies that are the number of a message.
  private static let numbers: Set = ["packet_id", "sequence", "seq", "ref", "id", "invocation_id", "client_seq"]
  /// The named fields of bodies that are the number of the message that an answer is for.
  private static let answered: Set = ["acknowledged", "answered_sequence", "packet_id"]

  /// The indices of those of `fields` that repeat the line of `frame`.
  func repeated(
    _ fields: [NamedField], _ frame: Frame, _ plan: ProtocolPlan, _ names: FieldPlan, bytes: RawSpan
  ) -> Set<Int> {
    var repeated: Set<Int> = []
    var texts: [String] = []
    if hasSubject { texts += Self.text(bytes, frame, frame.subjectOffset, frame.subjectCount) }
    if !plan.hidesIdentity { texts += Self.text(bytes, frame, frame.identityOffset, frame.identityCount) }
    for (i, field) in fields.enumerated() {
      switch field.value {
      case .unsigned(let number):
        if isShown(number, names.fields[field.field].name, names.headerRange(of: field.field), frame, plan) {
          repeated.insert(i)
        }
      case .text(let text):
        // If two fields have the same text, the first one is the one in the line.
        guard let place = texts.firstIndex(of: text) else { continue }
        texts.remove(at: place)
        repeated.insert(i)
      default: break
      }
    }
    return repeated
  }

  private func isShown(
    _ number: UInt64, _ name: String, _ range: Range<Int>?, _ frame: Frame, _ plan: ProtocolPlan
  ) -> Bool {
    let layout = plan.pointer.pointee
    func isPart(of field: Field) -> Bool { field.isPresent && range?.overlaps(field.byteRange) ?? false }
    let hasNumber = frame.flags.contains(.sequence)
    if number == UInt64(frame.bodyCount), name == "payload_size" || isPart(of: layout.length) { return true }
    // The line names the type, if the profile does.
    let isNamed = Int(frame.kind.pointee.index) < plan.typeNames.count
    if number == frame.type, isNamed, isPart(of: layout.type) { return true }
    if number == frame.session, isPart(of: layout.session) { return true }
    if number == frame.sequence, hasNumber, Self.numbers.contains(name) || isPart(of: layout.sequence) { return true }
    if number == frame.status, hasStatus, name == "status" || isPart(of: layout.status) { return true }
    return number == ackOf && Self.answered.contains(name)
  }

  /// A text of the frame that its line shows in full; empty if it has none, or if the line shows only its beginning.
  private static func text(_ bytes: RawSpan, _ frame: Frame, _ offset: Int, _ count: Int) -> [String] {
    guard (1...longestText).contains(count) else { return [] }
    let start = frame.start &+ offset
    guard start >= 0, start <= bytes.byteCount, count <= bytes.byteCount - start else { return [] }
    return bytes.withUnsafeBytes { String(validating: $0[start..<start + count], as: UTF8.self).map { [$0] } ?? [] }
  }

  /// The elements of `tlvs` that are named fields as well; empty if there are none. A list with an unnamed element is not among them.
  static func named(
    _ tlvs: Span<TLVRef>, in body: RawSpan, _ fields: [NamedField], _ plan: ProtocolPlan, _ names: FieldPlan
  ) -> [Bool] {
    guard tlvs.count > 0, !fields.isEmpty else { return [] }
    // If a tag is in the frame twice, a field may have only the first value: then the second is shown as an element.
    var counts: [Int: Int] = [:]
    for field in fields { count(field, in: &counts) }
    var named: [Bool] = []
    named.reserveCapacity(tlvs.count)
    for i in tlvs.indices {
      guard let field = ElementLabel.field(of: tlvs[i], in: body, plan, names), let left = counts[field], left > 0
      else {
        named.append(false)
        continue
      }
      counts[field] = left - 1
      named.append(true)
    }
    var depth = 0
    for i in tlvs.indices.reversed() {
      if !named[i] || tlvs[i].depth < depth {
        named[i] = false
        depth = Int(tlvs[i].depth)
      }
    }
    return named
  }

  private static func count(_ field: NamedField, in counts: inout [Int: Int]) {
    switch field.value {
    case .list(let values):
      counts[field.field, default: 0] += values.count
      for case .object(let fields) in values { for inner in fields { count(inner, in: &counts) } }
    case .object(let fields):
      counts[field.field, default: 0] += 1
      for inner in fields { count(inner, in: &counts) }
    default: counts[field.field, default: 0] += 1
    }
  }
}
