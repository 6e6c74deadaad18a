package import IMEngine
package import IMFields
import IMWire

/// What a message says, and to whom, by its named fields. What the profile hides is in neither.
package enum MessageText {
  /// Fields that name a topic; the first of them that a message has counts. Where a message has an alias of a topic, its `topic` is empty. A
  /// `destination` without a sensitivity is a topic; with one, it names a person.
  private static let topics = ["resolved_topic", "topic", "subject", "destination"]
  /// Fields that name a receiver or a topic, the first of them that a message has.
  private static let destinations =
    ["resolved_topic", "topic", "subject", "room_id", "group", "destination", "destinations", "to", "recipient"]
  /// Parts of the names of fields with what users write that is no text of a message.
  private static let addresses = ["topic", "subscription", "properties", "correlation", "will_"]
  /// Texts of one message that are shown, at most.
  private static let limit = 8

  /// The text; `nil` where the message has none, or none that is text: the caller shows its bytes, or says how many there are.
  package static func text(of fields: [NamedField], _ plan: ProtocolPlan) -> String? {
    guard let names = plan.fields else { return nil }
    // A profile that decodes bytes to a text has both: then the text counts.
    for type in [FieldType.text, .bytes] {
      var texts: [String] = []
      for (id, info) in names.fields.enumerated() where info.type == type && isText(info) && !names.hides(id) {
        for field in fields.values(of: id) where texts.count < limit {
          if let text = text(field.value), !text.isEmpty { texts.append(text) }
        }
      }
      if !texts.isEmpty { return texts.joined(separator: "; ") }
    }
    return nil
  }

  /// Whether messages of a plan may have a topic.
  package static func hasTopic(_ plan: ProtocolPlan) -> Bool { !topicFields([plan]).isEmpty }

  /// The fields that name a topic in messages of some of `plans`; a filter may name them.
  package static func topicFields(_ plans: [ProtocolPlan]) -> [String] {
    topics.filter { name in
      plans.contains { $0.fields?.fields.contains { $0.name == name && $0.isShown && isTopic($0) } ?? false }
    }
  }

  /// The topic: what `--by topic` groups by, and what a store has as `topic`; `nil` where the message names none.
  package static func topic(of fields: [NamedField], _ plan: ProtocolPlan) -> String? {
    first(of: topics, in: fields, plan, where: isTopic)
  }

  /// The topic or the receiver; `nil` where the message names none.
  package static func destination(of fields: [NamedField], _ plan: ProtocolPlan) -> String? {
    first(of: destinations, in: fields, plan)
  }

  private static func first(
    of candidates: [String], in fields: [NamedField], _ plan: ProtocolPlan,
    where fits: (FieldInfo) -> Bool = { _ in true }
  ) -> String? {
    guard let names = plan.fields else { return nil }
    for name in candidates {
      guard let id = names.fields.firstIndex(where: { $0.name == name && fits($0) }), names.fields[id].isShown,
        !names.hides(id)
      else { continue }
      for field in fields.values(of: id) {
        if let text = text(field.value) ?? number(field.value), !text.isEmpty { return text }
      }
    }
    return nil
  }

  /// Which part of a large message a message carries: its fields `transfer`, `transfer_offset`, `transfer_bytes` and `transfer_size`; `nil`
  /// where it lacks one of them, or they contradict each other.
  package static func part(of fields: [NamedField], _ plan: ProtocolPlan) -> TransferPart? {
    guard let names = plan.fields else { return nil }
    func number(_ name: String) -> UInt64? {
      for (id, info) in names.fields.enumerated() where info.name == name {
        for field in fields.values(of: id) { if case .unsigned(let number) = field.value { return number } }
      }
      return nil
    }
    func place(_ name: String) -> Int? { number(name).flatMap { Int(exactly: $0) } }
    guard let transfer = number("transfer"), let offset = place("transfer_offset"),
      let count = place("transfer_bytes"), let total = place("transfer_size"),
      offset <= total, count <= total - offset
    else { return nil }
    return TransferPart(transfer: transfer, bytes: offset..<offset + count, total: total)
  }

  /// Whether a field names a topic.
  package static func isTopic(_ info: FieldInfo) -> Bool {
    topics.contains(info.name) && (info.name != "destination" || info.sensitivity == nil)
  }

  /// Whether a field is a part of what a message says.
  package static func isText(_ info: FieldInfo) -> Bool {
    guard info.isShown, info.sensitivity == .payload, info.type == .text || info.type == .bytes else { return false }
    return !addresses.contains { info.name.contains($0) }
  }

  /// The text that bytes are: UTF-8 without control characters but tabs and line ends; `nil` where they are none.
  package static func text(_ bytes: some Collection<UInt8>) -> String? {
    guard let text = String(validating: bytes, as: UTF8.self),
      text.unicodeScalars.allSatisfy({ $0.value >= 32 && $0.value != 127 || [9, 10, 13].contains($0.value) })
    else { return nil }
    return text
  }

  private static func text(_ value: FieldValue) -> String? {
    switch value {
    case .text(let text): return text
    case .bytes(let bytes): return text(bytes)
    default: return nil
    }
  }

  private static func number(_ value: FieldValue) -> String? {
    if case .unsigned(let number) = value { return "\(number)" }
    return nil
  }
}

/// A part of a large message that goes in pieces, each of them a message of its own on the wire.
package struct TransferPart: Equatable, Sendable {
  /// The large message's name, which its pieces share.
  package let transfer: UInt64
  /// Which of its bytes they are, from 0.
  package let bytes: Range<Int>
  /// How many bytes the large message has.
  package let total: Int

  /// A part of its parts.
  package init(transfer: UInt64, bytes: Range<Int>, total: Int) {
    (self.transfer, self.bytes, self.total) = (transfer, bytes, total)
  }
}

/// What is shown of a message besides its line, made of its first copy.
package final class MessageDetails: Sendable {
  /// Lines beneath the message's, as `FrameTextWriter` writes them.
  package let lines: [UInt8]
  /// What the message says; `nil` where it says nothing that is text.
  package let text: String?
  /// To whom or to what topic; `nil` where it names none.
  package let destination: String?
  /// Its further texts that a store keeps, with blanks between them; `nil` where it has none.
  package let otherText: String?
  /// Which part of a large message it is; `nil` where it is a message by itself.
  package let part: TransferPart?

  /// Details of their parts.
  package init(
    lines: [UInt8] = [], text: String? = nil, destination: String? = nil, otherText: String? = nil,
    part: TransferPart? = nil
  ) {
    (self.lines, self.text, self.destination, self.otherText, self.part) = (lines, text, destination, otherText, part)
  }

  /// About how many bytes of memory they take.
  package var byteCount: Int {
    64 + lines.count + (text?.utf8.count ?? 0) + (destination?.utf8.count ?? 0) + (otherText?.utf8.count ?? 0)
  }
}
