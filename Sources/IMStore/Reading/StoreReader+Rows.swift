/// Messages as the view `messages` has them, to be printed.
extension StoreReader {
  /// The rows of the messages with these numbers, in their order. As many as a page has, at most.
  package func rows(ofMessages ids: [Int64]) throws(StoreError) -> StoreRows {
    let list = ids.prefix(Self.maximumPage).map { "\($0)" }.joined(separator: ", ")
    return StoreRows(try database.prepare("SELECT * FROM messages WHERE id IN (\(list)) ORDER BY id", "read messages"))
  }
}
