import IMContent

/// Members that show whether an answer is a rejection, and members that are constant on each connection.
extension GuessedContent {
  private static let statusNames: Set<String> = [
    "code", "status", "statuscode", "status_code", "result", "resultcode", "result_code", "ret", "retcode", "err",
    "errno",
    "errcode", "err_code", "error", "error_code", "errorcode", "ok", "success", "rc", "reason_code",
  ]
  private static let good: Set<String> = ["ok", "success", "succeeded", "accepted", "true", "done", "200", "0"]

  static func status(
    _ table: ContentTable, _ types: [Int], _ kinds: [Kind], _ parts: [ContentTypePart], _ content: ContentKind
  ) -> Status? {
    guard [.json, .messagepack, .headers].contains(content) else { return nil }
    var best: (status: Status, rank: Int)?
    for path in table.paths.indices {
      let name = table.paths[path]
      guard let last = name.split(separator: ".").last?.lowercased(), statusNames.contains(last),
        !parts.contains(.path(name))
      else { continue }
      var values: [ContentMember.Value: Int] = [:]
      var owners: [Int: Int] = [:]
      var others = 0
      for (number, entry) in table.entries.enumerated() {
        guard let value = entry.value(path), value != .null else { continue }
        guard types[number] >= 0, !kinds[types[number]].answers.isEmpty else {
          others += 1
          continue
        }
        values[value, default: 0] += 1
        owners[types[number], default: 0] += 1
      }
      let count = owners.values.reduce(0, +)
      guard count >= 2, others * 5 <= count else { continue }
      let all = owners.keys.reduce(0) { $0 + kinds[$1].total }
      guard let form = form(values, isAlways: count * 10 >= all * 9, name: last) else { continue }
      let texts = values.sorted { (-$0.value, "\($0.key)") < (-$1.value, "\($1.key)") }.prefix(8).compactMap {
        value -> (String, Int)? in
        switch value.key {
        case .text(let text): (String(decoding: text, as: UTF8.self), value.value)
        case .number(let number): (String(number), value.value)
        case .flag(let flag): (flag ? "true" : "false", value.value)
        case .group, .null, .other: nil
        }
      }
      let status = Status(path: name, form: form, values: texts, kinds: Set(owners.keys))
      // A constant value is no evidence, and a deeply nested one is data.
      var isTelling = values.count > 1
      if case .present = form { isTelling = true }
      let rank = (isTelling ? 8 * count : count / 4) - name.split(separator: ".").count
      if let best, best.rank >= rank { continue }
      best = (status, rank)
    }
    return best.map { common($0.status, table, types, kinds, parts) }
  }

  /// A status inside the member that is the type, for all types that have one there.
  private static func common(
    _ status: Status, _ table: ContentTable, _ types: [Int], _ kinds: [Kind], _ parts: [ContentTypePart]
  ) -> Status {
    let steps = status.path.split(separator: ".")
    guard parts.count == 1, case .which(let names) = parts[0], steps.count == 2, names.contains(String(steps[0])) else {
      return status
    }
    var status = status
    status.path = "*." + steps[1]
    for (number, entry) in table.entries.enumerated() where types[number] >= 0 && !kinds[types[number]].answers.isEmpty
    {
      if names.contains(where: { name in table.index("\(name).\(steps[1])").map { entry.value($0) != nil } ?? false }) {
        status.kinds.insert(types[number])
      }
    }
    return status
  }

  /// The form of a status with these values; `nil` if it is not a status.
  private static func form(
    _ values: [ContentMember.Value: Int], isAlways: Bool, name: String
  ) -> Status.Form? {
    var numbers: [UInt64: Int] = [:]
    var texts: [String: Int] = [:]
    var isMixed = false
    for (value, count) in values {
      switch value {
      case .number(let number): numbers[number, default: 0] += count
      case .flag(let flag): numbers[flag ? 1 : 0, default: 0] += count
      case .text(let text):
        let word = String(decoding: text, as: UTF8.self)
        if let number = UInt64(word) { numbers[number, default: 0] += count } else { texts[word, default: 0] += count }
      case .group, .null, .other: isMixed = true
      }
    }
    if name == "error" || name == "err", !isAlways { return .present }
    guard !isMixed else { return nil }
    if texts.isEmpty {
      guard numbers.count <= 32, let usual = numbers.max(by: { ($0.value, $1.key) < ($1.value, $0.key) })?.key else {
        return nil
      }
      if values.keys.contains(where: { if case .flag = $0 { true } else { false } }) {
        return .number(accepted: name.hasPrefix("err") ? 0...0 : 1...1)
      }
      if numbers[0] != nil { return .number(accepted: 0...0) }
      return .number(accepted: (200...299).contains(usual) ? 200...299 : usual...usual)
    }
    guard numbers.isEmpty, (2...8).contains(texts.count), texts.keys.allSatisfy({ isName($0) })
    else { return nil }
    let sorted = texts.sorted {
      (good.contains($0.key.lowercased()) ? 0 : 1, -$0.value, $0.key) < (
        good.contains($1.key.lowercased()) ? 0 : 1, -$1.value, $1.key
      )
    }
    return .text(sorted.map(\.key))
  }

  /// Whether a text can be the name of a status.
  private static func isName(_ text: String) -> Bool {
    (1...40).contains(text.utf8.count)
      && text.utf8.allSatisfy {
        (0x61...0x7a).contains($0) || (0x41...0x5a).contains($0) || (0x30...0x39).contains($0) || $0 == 0x2d
          || $0 == 0x5f
      }
  }

  static func session(_ table: ContentTable) -> (path: String, count: Int)? {
    let connections = Set(table.entries.map(\.connection))
    guard connections.count >= 2 else { return nil }
    for path in table.paths.indices {
      var values: [Int: ContentMember.Value] = [:]
      var count = 0
      var isSame = true
      for entry in table.entries {
        guard let value = entry.value(path) else { continue }
        switch value {
        case .text, .number: break
        default: isSame = false
        }
        if let known = values[entry.connection] {
          if known != value { isSame = false }
        } else {
          values[entry.connection] = value
        }
        count += 1
        if !isSame { break }
      }
      guard isSame, count * 10 >= table.entries.count * 9, Set(values.values).count * 2 > connections.count,
        Set(values.values).count >= 2
      else { continue }
      return (table.paths[path], count)
    }
    return nil
  }
}
