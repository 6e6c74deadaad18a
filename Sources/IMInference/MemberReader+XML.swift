/// Members of XML elements.
extension MemberReader {
  /// The name of the element, as the member `element`, its attributes, and its children's names and attributes.
  mutating func xml() -> Bool {
    skipBlanks()
    guard peek() == 0x3c else { return false }
    var depth = 0
    while let open = bytes[at...].firstIndex(of: 0x3c), members.count < Self.mostMembers {
      at = open + 1
      // The XML declaration before a stream.
      if peek() == 0x3f { continue }
      if peek() == 0x2f {
        if depth == 0, members.isEmpty, let close = bytes[at...].firstIndex(of: 0x3e) {
          add("element", .text([0x2f] + Self.local(bytes[(at + 1)..<close])))
        }
        depth -= 1
        at += 1
        continue
      }
      guard let tag = tag(depth) else { return !members.isEmpty }
      if !tag { depth += 1 }
    }
    return !members.isEmpty
  }

  /// Reads a tag at a depth. Returns whether it is empty.
  mutating func tag(_ depth: Int) -> Bool? {
    let nameStart = at
    while let byte = peek(), byte > 0x20, byte != 0x2f, byte != 0x3e { at += 1 }
    let name = Self.local(bytes[nameStart..<at])
    guard !name.isEmpty else { return nil }
    if depth == 0 { add("element", .text(name)) }
    let prefix = depth == 1 && Self.isStep(name[...]) ? String(decoding: name, as: UTF8.self) : ""
    while let byte = peek() {
      switch byte {
      case 0x3e:
        at += 1
        if depth == 1, !prefix.isEmpty { child(prefix) }
        return false
      case 0x2f:
        at = min(at + 2, bytes.endIndex)
        if depth == 1, !prefix.isEmpty { add(prefix, .group) }
        return true
      case 0...0x20: at += 1
      default:
        let start = at
        while let byte = peek(), byte != 0x3d, byte != 0x3e { at += 1 }
        let attribute = bytes[start..<at]
        guard peek() == 0x3d, at + 1 < bytes.endIndex else { return nil }
        let quote = bytes[at + 1]
        guard quote == 0x22 || quote == 0x27, let end = bytes[(at + 2)...].firstIndex(of: quote) else { return nil }
        let local = Self.local(attribute)
        if depth <= 1, Self.isStep(local[...]), !attribute.starts(with: "xmlns".utf8) {
          let step = "@" + String(decoding: local, as: UTF8.self)
          if depth == 0 {
            add(step, text(at + 2..<end))
          } else if !prefix.isEmpty {
            add(Self.joined(prefix, step), text(at + 2..<end))
          }
        }
        at = end + 1
      }
    }
    return nil
  }

  mutating func child(_ path: String) {
    let end = bytes[at...].firstIndex(of: 0x3c) ?? bytes.endIndex
    add(path, end > at && end - at <= Self.longestText ? .text(Array(bytes[at..<end])) : .group)
  }

  static func local(_ name: ArraySlice<UInt8>) -> [UInt8] {
    Array(name.lastIndex(of: 0x3a).map { name[($0 + 1)...] } ?? name)
  }

}
