import IMContent

#if canImport(Glibc)
  import Glibc
#else
  import Musl
#endif

/// Finds the members that determine the type of a frame, by the measure of `TypeFinder`: the type predicts which members a frame has, and which side
/// sends it.
struct ContentTypeFinder {
  private static var mostValues: Int { 48 }
  private static var mostFeatures: Int { 48 }
  /// The number of bits that a type, and a further part of one, must save.
  private static var proofNeeded: Double { 24 }
  private static var furtherProof: Double { 48 }
  /// Names that protocols give to types.
  private static let hints: Set<String> = [
    "type", "cmd", "command", "op", "opcode", "event", "action", "method", "msgtype", "msg_type", "messagetype", "kind",
    "@type", "t", "ev", "topic_type", "api", "route", "operation", "msgid_type", "packet_type", "mt",
  ]

  private let table: ContentTable
  private let entries: [ContentTable.Entry]
  private var features: [(path: Int, classes: [UInt8], count: Int)] = []
  private var counts: [Int]

  init(_ table: ContentTable) {
    self.table = table
    let all = table.entries.filter { !$0.isBeat }
    let step = max(1, all.count / 4_000)
    entries = stride(from: 0, to: all.count, by: step).map { all[$0] }
    counts = [Int](repeating: 0, count: table.paths.count)
    for entry in entries { for member in entry.members { counts[member.path] += 1 } }
    makeFeatures()
  }

  private mutating func makeFeatures() {
    features.append((-1, entries.map { UInt8($0.direction & 1) }, 2))
    let usual = counts.indices.filter { counts[$0] >= 2 }.sorted { (-counts[$0], $0) < (-counts[$1], $1) }
    for path in usual.prefix(Self.mostFeatures) {
      let classes = entries.map { entry -> UInt8 in
        switch entry.value(path) {
        case nil: 0
        case .group: 1
        case .text: 2
        case .number: 3
        case .flag: 4
        case .other: 5
        case .null: 6
        }
      }
      if Set(classes).count > 1 { features.append((path, classes, 7)) }
    }
  }

  /// The parts of types; empty if nothing distinguishes frames.
  func find(_ shape: ContentShape, _ framing: ContentFraming) -> [ContentTypePart] {
    switch shape.kind {
    case .words, .headers: return [.path("1")]
    case .resp: return [.side, .path("0")]
    case .xml:
      let type = table.index("@type").map { counts[$0] } ?? 0
      return type > 0 ? [.path("element"), .path("@type")] : [.path("element")]
    case .pairs where table.index("35").map({ counts[$0] * 10 >= entries.count * 9 }) == true: return [.path("35")]
    default: break
    }
    if shape.lead != nil { return withSide([.lead]) }
    return search(shape)
  }

  private func search(_ shape: ContentShape) -> [ContentTypePart] {
    var candidates: [(parts: [ContentTypePart], worth: Double)] = []
    for path in counts.indices where counts[path] * 10 >= entries.count * 3 {
      let name = table.paths[path]
      guard let proof = proof([.path(name)]) else { continue }
      let steps = name.split(separator: ".")
      let isHinted = steps.last.map { Self.hints.contains($0.lowercased()) } == true
      // A leading number in arrays determines their other elements; members with such names are usually types.
      let hint = name == "0" && isNumber(path) ? 3 : isHinted ? 1.5 : 1
      candidates.append(([.path(name)], proof * pow(0.9, Double(steps.count - 1)) * hint))
    }
    let members = alternatives(shape)
    if members.count > 1, let proof = proof([.which(members)]) {
      candidates.append(([.which(members)], proof * 1.2))
    }
    candidates.sort { $0.worth > $1.worth }
    guard let best = candidates.first, best.worth >= Self.proofNeeded else { return [] }
    var parts = best.parts
    // A further part, if it distinguishes frames that have one value.
    var known = proof(parts) ?? 0
    for candidate in candidates.dropFirst().prefix(24) {
      guard parts.count < 2, case .path(let first)? = parts.first, case .path(let second)? = candidate.parts.first,
        !second.hasPrefix(first + "."), !first.hasPrefix(second + "."), isText(second)
      else { continue }
      let both = order(parts + candidate.parts)
      // Elements of one array belong together if the first of them is a number.
      let isArray = UInt32(first) != nil && UInt32(second) != nil
      guard let worth = proof(both), worth >= known * (isArray ? 1 : 1.1) + Self.furtherProof else { continue }
      (parts, known) = (both, worth)
    }
    return withSide(parts)
  }

  /// The parts with the side first, if one value has a different meaning on each side.
  private func withSide(_ parts: [ContentTypePart]) -> [ContentTypePart] {
    guard parts.count < 3, let alone = saved(parts, ignoresSide: true),
      let both = saved([.side] + parts, ignoresSide: true), both >= alone * 1.05 + Self.furtherProof
    else { return parts }
    return [.side] + parts
  }

  /// Parts of arrays in the order of their elements.
  private func order(_ parts: [ContentTypePart]) -> [ContentTypePart] {
    func rank(_ part: ContentTypePart) -> Int {
      guard case .path(let path) = part else { return 0 }
      return Int(path) ?? 0
    }
    return parts.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }.map(\.element)
  }

  /// Whether all frames have a number at that path.
  private func isNumber(_ path: Int) -> Bool {
    entries.allSatisfy { if case .number? = $0.value(path) { true } else { false } }
  }

  private func isText(_ path: String) -> Bool {
    guard let number = table.index(path) else { return false }
    return entries.contains { if case .text = $0.value(number) { true } else { false } }
  }

  /// Members of the outermost object that contain others, and of which each frame has exactly one.
  private func alternatives(_ shape: ContentShape) -> [String] {
    guard [.json, .protobuf, .messagepack].contains(shape.kind) else { return [] }
    let groups = counts.indices.filter { path in
      !table.paths[path].contains(".") && (shape.kind == .protobuf || Int(table.paths[path]) == nil)
        && entries.contains { $0.value(path) == .group }
    }
    var chosen: [Int] = []
    for path in groups.sorted(by: { (-counts[$0], $0) < (-counts[$1], $1) }).prefix(32) {
      let isAlone = !entries.contains { entry in
        entry.value(path) != nil && chosen.contains { entry.value($0) != nil }
      }
      if isAlone, counts[path] < entries.count { chosen.append(path) }
    }
    let covered = chosen.reduce(0) { $0 + counts[$1] }
    // In JSON, such a member is the whole object; in Protocol Buffers, it is one of many fields.
    guard covered * 10 >= entries.count * (shape.kind == .protobuf ? 3 : 9) else { return [] }
    if shape.kind != .protobuf {
      let alone = entries.count { entry in entry.members.count { !table.paths[$0.path].contains(".") } == 1 }
      guard alone * 10 >= entries.count * 8 else { return [] }
    }
    return chosen.map { table.paths[$0] }.sorted { (Int($0) ?? 0, $0) < (Int($1) ?? 0, $1) }
  }

  /// The number of bits saved by knowing the type; `nil` if it is not a type.
  private func proof(_ parts: [ContentTypePart]) -> Double? { saved(parts, ignoresSide: false) }

  private func saved(_ parts: [ContentTypePart], ignoresSide: Bool) -> Double? {
    var numbers: [String: UInt8] = [:]
    var contexts: [UInt8] = []
    for entry in entries {
      guard let type = table.type(parts, entry) else { return nil }
      if let known = numbers[type] {
        contexts.append(known)
      } else {
        guard numbers.count < Self.mostValues else { return nil }
        contexts.append(UInt8(numbers.count))
        numbers[type] = UInt8(numbers.count)
      }
    }
    guard numbers.count > 1, numbers.count * 3 <= max(6, entries.count) else { return nil }
    var own: Set<Int> = []
    for part in parts {
      switch part {
      case .path(let path):
        for other in table.paths.indices where table.paths[other] == path || table.paths[other].hasPrefix(path + ".") {
          own.insert(other)
        }
      case .which(let names): for name in names { if let index = table.index(name) { own.insert(index) } }
      case .side, .lead: break
      }
    }
    if ignoresSide { own.insert(-1) }
    var saved = 0.0
    for feature in features where !own.contains(feature.path) {
      saved += max(0, TypeFinder.saving(feature.classes, feature.count, contexts, numbers.count))
    }
    return saved
  }
}
