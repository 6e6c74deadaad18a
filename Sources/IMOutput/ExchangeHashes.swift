import IMWire

/// A hash for each exchange that is not final, by the exchange's number.
///
/// Numbers count up, and nearly all that are open are not far from one another: so they stand in a ring by their last bits, where
/// neighbours are neighbours in memory. One whose place another one has waits in a table.
struct ExchangeHashes {
  private struct Entry: BitwiseCopyable {
    var exchange: UInt32 = .max
    var hash: UInt64 = 0
  }

  /// Places at first and at most.
  private static let least = 4_096, most = 1 << 18

  private var entries = [Entry](repeating: Entry(), count: ExchangeHashes.least)
  private var others = NumberTable<UInt64>()

  /// No hashes.
  init() {}

  @inline(__always)
  private func place(_ exchange: UInt32) -> Int { Int(exchange) & (entries.count &- 1) }

  /// The hash of an exchange; `nil` where it has none. `UInt32.max` never has one.
  @inline(__always)
  subscript(exchange: UInt32) -> UInt64? {
    let entry = entries[place(exchange)]
    if entry.exchange == exchange, exchange != .max { return entry.hash }
    return others.count == 0 ? nil : others[exchange]
  }

  /// Gives an exchange a hash, in place of an older one.
  @inline(__always)
  mutating func insert(_ hash: UInt64, _ exchange: UInt32) {
    let place = place(exchange)
    if entries[place].exchange == exchange || entries[place].exchange == .max && others.count == 0 {
      entries[place] = Entry(exchange: exchange, hash: hash)
    } else {
      add(hash, exchange)
    }
  }

  @inline(never)
  private mutating func add(_ hash: UInt64, _ exchange: UInt32) {
    if others.count > 0, others[exchange] != nil { return others.insert(hash, exchange) }
    while entries[place(exchange)].exchange != .max, entries.count < Self.most { grow() }
    if entries[place(exchange)].exchange == .max {
      entries[place(exchange)] = Entry(exchange: exchange, hash: hash)
    } else {
      others.insert(hash, exchange)
    }
  }

  private mutating func grow() {
    let old = entries
    entries = [Entry](repeating: Entry(), count: 2 * old.count)
    // Numbers that differed in their last bits still do.
    for entry in old where entry.exchange != .max { entries[place(entry.exchange)] = entry }
  }

  /// Takes the hash of an exchange away; gives it.
  @inline(__always)
  mutating func remove(_ exchange: UInt32) -> UInt64? {
    let place = place(exchange)
    if entries[place].exchange == exchange, exchange != .max {
      entries[place].exchange = .max
      return entries[place].hash
    }
    return others.count == 0 ? nil : others.remove(exchange)
  }
}
