/// A part of a type, as written in a profile.
package enum ContentTypePart: Hashable, Sendable {
  /// The side that sends the frame.
  case side
  /// The number before the content.
  case lead
  /// The value that a path leads to.
  case path(String)
  /// The first present member of several.
  case which([String])
}

/// The frames of a content with their members, in capture order.
struct ContentTable {
  /// One frame.
  struct Entry {
    /// The connection's number.
    var connection: Int
    /// 0 for a frame of the client, 1 for a frame of the server.
    var direction: Int
    /// The number of the packet that contains its last byte.
    var packet: UInt64
    /// Its length in bytes.
    var count: Int
    /// Its members, by the index of their path.
    var members: [(path: Int, value: ContentMember.Value)]
    /// Whether it is a byte between frames.
    var isBeat: Bool

    func value(_ path: Int) -> ContentMember.Value? { members.first { $0.path == path }?.value }
  }

  private(set) var entries: [Entry] = []
  /// The paths of members, by index.
  private(set) var paths: [String] = []
  private var numbers: [String: Int] = [:]

  /// The maximum number of paths: further ones are keys of data.
  private static var mostPaths: Int { 400 }

  init(_ samples: [StreamSample], _ walk: ContentWalk) {
    for frame in walk.frames {
      guard let members = frame.members else { continue }
      let sample = samples[frame.sample]
      var kept: [(Int, ContentMember.Value)] = []
      for member in members {
        guard let number = number(of: member.path) else { continue }
        kept.append((number, member.value))
      }
      entries.append(
        Entry(
          connection: sample.connection, direction: sample.direction,
          packet: sample.packet(of: frame.extent.frame.upperBound - 1), count: frame.extent.frame.count, members: kept,
          isBeat: frame.extent.isBeat))
    }
    // Frames of one packet keep their order.
    let order = entries.indices.sorted { (entries[$0].packet, $0) < (entries[$1].packet, $1) }
    entries = order.map { entries[$0] }
  }

  private mutating func number(of path: String) -> Int? {
    if let known = numbers[path] { return known }
    guard paths.count < Self.mostPaths else { return nil }
    numbers[path] = paths.count
    paths.append(path)
    return paths.count - 1
  }

  /// The index of a path; `nil` if no frame has it.
  func index(_ path: String) -> Int? { numbers[path] }

  /// The table of the frames that `isKept` selects by index, with the paths of all frames.
  func part(_ isKept: (Int) -> Bool) -> ContentTable {
    var part = self
    part.entries = entries.indices.filter(isKept).map { entries[$0] }
    return part
  }

  /// The word for a value in a type; `nil` if the value cannot be part of a type.
  static func word(_ value: ContentMember.Value?) -> String? {
    switch value {
    case .text(let text):
      guard !text.isEmpty, text.count <= 40, text.allSatisfy({ $0 > 0x20 && $0 < 0x7f && $0 != 0x22 && $0 != 0x5c }),
        text != [0x2a], text != [0x2d], !text.starts(with: "0x".utf8)
      else { return nil }
      return String(decoding: text, as: UTF8.self)
    case .number(let number): return String(number)
    case .flag(let flag): return flag ? "1" : "0"
    case .group, .null, nil: return "-"
    case .other: return nil
    }
  }

  /// The word for one part of a frame's type; `nil` if it cannot be written.
  func word(_ part: ContentTypePart, _ entry: Entry) -> String? {
    switch part {
    case .side: return entry.direction == 0 ? "client" : "server"
    case .lead: return index(ContentShape.leadType).map { Self.word(entry.value($0)) } ?? "-"
    case .path(let path): return index(path).map { Self.word(entry.value($0)) } ?? "-"
    case .which(let names):
      // The first member of the frame that is one of them.
      for (path, _) in entry.members where names.contains(paths[path]) { return paths[path] }
      return "-"
    }
  }

  /// The type of a frame.
  func type(_ parts: [ContentTypePart], _ entry: Entry) -> String? {
    if entry.isBeat { return "beat" }
    var words: [String] = []
    for part in parts {
      guard let word = word(part, entry) else { return nil }
      words.append(word)
    }
    return words.joined(separator: " ")
  }
}
