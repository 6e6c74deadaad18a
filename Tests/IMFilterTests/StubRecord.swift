import IMFilter
import IMWire

/// A record of whatever values a test gives it, by field name.
struct StubRecord: FilterRecord {
  var values: [Int: [FilterValue]] = [:]
  var texts: [Int: [(path: [UInt64], bytes: [UInt8])]] = [:]
  /// The fields asked for, when a test wants to know.
  var log: Log?

  final class Log {
    var fields: [Int] = []
  }

  init(_ values: [String: [FilterValue]] = [:], texts: [String: [String]] = [:], tlv: [([UInt64], [UInt8])] = []) {
    let schema = FilterSchema.messages
    for (name, list) in values { if let index = schema.index(of: name) { self.values[index] = list } }
    for (name, list) in texts {
      if let index = schema.index(of: name) { self.texts[index] = list.map { ([], Array($0.utf8)) } }
    }
    if !tlv.isEmpty { self.texts[MessageField.tlv.rawValue] = tlv.map { (path: $0.0, bytes: $0.1) } }
  }

  func value(of field: Int, at index: Int) -> FilterValue? {
    log?.fields.append(field)
    guard let list = values[field], index < list.count else { return nil }
    return list[index]
  }

  func anyText(of field: Int, path: FilterPath, where test: (RawSpan) -> Bool) -> Bool {
    log?.fields.append(field)
    for text in texts[field] ?? [] where path.isEmpty || path.keys == text.path {
      if test(text.bytes.span.bytes) { return true }
    }
    return false
  }
}

/// SplitMix64, so that a seed gives the same run everywhere.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }
}
