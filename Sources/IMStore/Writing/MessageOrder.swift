package import IMEngine
package import IMOutput

/// Puts the messages of a file back into the order in which they began: their fates are decided in another one.
///
/// A row behind all others goes to the end of its table, which costs a fraction of what one in the midst of the table does: that changes
/// pages that were written before. Messages that are decided long after others that began later go into the batch as they come.
package struct MessageOrder: ~Copyable {
  private var waiting = ReorderBuffer<StoredFacts>()

  /// No messages.
  package init() {}

  /// Whether `moveNext` is to be called before `add` of this message.
  package func isNextDue(before exchange: Exchange) -> Bool { waiting.isNextDue(before: exchange.id) }

  /// Whether messages wait.
  package var isEmpty: Bool { waiting.count == 0 }

  /// Adds a message, or, with `isUpdate`, what has become of one that was added before.
  package mutating func add(
    _ record: MessageRecord, _ exchange: Exchange, isUpdate: Bool, to batch: inout StoreBatch
  ) {
    if waiting.isLate(exchange.id) { return batch.add(record, exchange, isUpdate: isUpdate) }
    // The writer has not seen what waits.
    let isUpdate = isUpdate && !waiting.contains(exchange.id)
    waiting.insert(StoredFacts(record, exchange, isUpdate: isUpdate), exchange.id)
  }

  /// Goes on by one number, whose message goes into the batch, if it waits.
  package mutating func moveNext(to batch: inout StoreBatch) {
    if let message = waiting.takeNext() { batch.add(message) }
  }
}
