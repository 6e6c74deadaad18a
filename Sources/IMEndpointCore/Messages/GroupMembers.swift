internal import IMWire

/// Who is in a group, as its server has answered; the names are in the inbox.
public struct GroupMembers: Hashable, Sendable, BitwiseCopyable {
  /// The session that was asked in.
  public var session: SessionID
  /// Offset of the answer in `Inbox.bytes`, and its length.
  var offset: Int
  var byteCount: Int

  /// The body of a question: what asks, and the group's name.
  static func question(_ group: String) -> [UInt8] {
    var body: [UInt8] = []
    TLV.append(.membership, [Membership.list.rawValue] + group.utf8, to: &body)
    return body
  }

  /// The body of an answer: the group's name and those of its members, each behind its length of two bytes.
  static func answer(_ group: String, _ members: [String]) -> [UInt8] {
    var value = [Membership.list.rawValue]
    for name in [group] + members {
      let bytes = Array(name.utf8.prefix(Int(UInt16.max)))
      value += TLV.bigEndian(UInt16(bytes.count)) + bytes
    }
    var body: [UInt8] = []
    TLV.append(.membership, value, to: &body)
    return body
  }

  /// The names of an answer, the group's first, as far as they go.
  static func names(_ bytes: RawSpan, _ range: Range<Int>) -> [String] {
    var names: [String] = []
    var at = range.lowerBound + 1
    while at + 2 <= range.upperBound {
      let end = at + 2 + Int(TLV.number(bytes, at..<at + 2))
      guard end <= range.upperBound else { break }
      names.append(bytes.extracting(at + 2..<end).withUnsafeBytes { String(decoding: $0, as: UTF8.self) })
      at = end
    }
    return names
  }
}

/// What a client wants with a group, by the first byte of the value.
enum Membership: UInt8 {
  /// Its user becomes a member.
  case join = 1
  /// Its user is none any more.
  case leave = 2
  /// It asks who is in it; the same byte begins the answer.
  case list = 3
}

extension Inbox {
  /// The group that an answer is about, and its members in the order of their names: none where the user that asks is no member.
  public func members(of answer: GroupMembers) -> (group: String, members: [String]) {
    guard answer.offset >= 0, answer.byteCount > 0, answer.offset <= bytes.count - answer.byteCount else {
      return ("", [])
    }
    let names = GroupMembers.names(bytes.span.bytes, answer.offset..<answer.offset + answer.byteCount)
    return (names.first ?? "", Array(names.dropFirst()))
  }

  /// Takes an answer, in `range` of a frame's body.
  mutating func add(_ body: RawSpan, _ range: Range<Int>, session: SessionID) -> GroupMembers {
    let answer = GroupMembers(session: session, offset: bytes.count, byteCount: range.count)
    body.extracting(range).withUnsafeBytes { bytes.append(contentsOf: $0) }
    return answer
  }
}
