import IMEngine
import IMOutput
import IMWire

/// Large messages that go in pieces, put together: each has one line, which stands where its first piece began.
struct TransferTable {
  /// Large messages that are kept, at most: beyond, the oldest is over.
  private static let limit = 4_096

  /// A large message that is over: all of it is answered, or the capture ends.
  struct Done {
    /// The number of its first piece.
    let exchange: UInt32
    /// What became of it.
    let progress: TransferSummary
  }

  private struct Key: Hashable {
    let session: UInt32
    let direction: UInt8
    let transfer: UInt64
  }

  private struct Entry {
    let exchange: UInt32
    /// `nil` once it is over: pieces that were sent again come behind.
    var progress: TransferSummary?
  }

  private var entries: [Key: Entry] = [:]
  /// Keys in the order in which they came.
  private var order: [Key] = []

  /// Counts a piece; gives those that are over with it.
  mutating func add(_ record: MessageRecord, _ exchange: Exchange, _ part: TransferPart) -> [Done] {
    let key = Key(session: exchange.session, direction: exchange.direction.rawValue, transfer: part.transfer)
    var done: [Done] = []
    var entry: Entry
    if let known = entries[key] {
      guard known.progress != nil else { return [] }
      entry = known
    } else {
      if order.count >= Self.limit, let oldest = finish(order.removeFirst(), forgets: true) { done.append(oldest) }
      entry = Entry(exchange: exchange.id, progress: TransferSummary(record, exchange, part))
      order.append(key)
    }
    entry.progress?.add(record, exchange, part)
    entries[key] = entry
    if entry.progress?.isWhole == true, let whole = finish(key, forgets: false) { done.append(whole) }
    return done
  }

  /// All that are not over.
  mutating func end() -> [Done] {
    defer { (entries, order) = ([:], []) }
    return order.compactMap { finish($0, forgets: true) }
  }

  private mutating func finish(_ key: Key, forgets: Bool) -> Done? {
    guard let entry = entries[key] else { return nil }
    entries[key] = forgets ? nil : Entry(exchange: entry.exchange, progress: nil)
    return entry.progress.map { Done(exchange: entry.exchange, progress: $0) }
  }
}
