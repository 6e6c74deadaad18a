/// An engine's answer to a `_bulk` request: what became of each document, in the order of the request.
package struct BulkAnswer: Equatable, Sendable {
  /// What became of one document.
  package enum Item: Equatable, Sendable {
    /// It is stored.
    case stored
    /// A document with its id was there already (409).
    case known
    /// The engine has no room for it now, or a part of the engine is away.
    case later
    /// Its stream makes ids itself: a time series, which refuses any other.
    case needsNoID
    /// The engine does not let this user write there.
    case denied(reason: String)
    /// It will never be stored.
    case refused(status: Int, type: String, reason: String)
  }

  /// By document.
  package var items: [Item]

  /// Reads an answer; `nil` where it is none.
  package init?(_ bytes: [UInt8]) {
    var scanner = JSONScanner(bytes)
    var items: [Item]?
    let isRead = scanner.members { scanner, key in
      guard scanner.spells(key, "items") else { return scanner.skip() }
      var found: [Item] = []
      let isList = scanner.elements { scanner in
        var item: Item?
        // One member, whose name is the operation.
        let isObject = scanner.members { scanner, _ in
          item = Self.item(&scanner)
          return item != nil
        }
        guard isObject, let item else { return false }
        found.append(item)
        return true
      }
      items = found
      return isList
    }
    guard isRead, scanner.isAtEnd, let items else { return nil }
    self.items = items
  }

  private static func item(_ scanner: inout JSONScanner) -> Item? {
    var status: Int?
    var type = "", reason = ""
    let isRead = scanner.members { scanner, key in
      if scanner.spells(key, "status") {
        status = scanner.integer()
        return status != nil
      }
      guard scanner.spells(key, "error") else { return scanner.skip() }
      return readError(&scanner, &type, &reason)
    }
    guard isRead, let status else { return nil }
    switch status {
    case 200..<300: return .stored
    case 409: return .known
    case 408, 429, 500...: return .later
    // A disk that is too full, or an index that is closed for a while.
    case _ where type == "cluster_block_exception": return .later
    case 401, 403: return .denied(reason: reason.isEmpty ? type : reason)
    case 400 where reason.contains("_id must be unset"): return .needsNoID
    default: return .refused(status: status, type: type, reason: reason)
    }
  }

  /// Reads the value of `error`: an object with `type` and `reason`, or a text.
  static func readError(_ scanner: inout JSONScanner, _ type: inout String, _ reason: inout String) -> Bool {
    guard scanner.next == UInt8(ascii: "{") else {
      guard scanner.next == UInt8(ascii: "\"") else { return scanner.skip() }
      guard let text = scanner.text() else { return false }
      reason = scanner.unescaped(text)
      return true
    }
    var foundType = "", foundReason = "", cause = ""
    let isRead = scanner.members { scanner, key in
      if scanner.spells(key, "caused_by"), scanner.next == UInt8(ascii: "{") {
        var ignored = ""
        return readError(&scanner, &ignored, &cause)
      }
      guard scanner.next == UInt8(ascii: "\"") else { return scanner.skip() }
      guard let text = scanner.text() else { return false }
      if scanner.spells(key, "type") { foundType = scanner.unescaped(text) }
      if scanner.spells(key, "reason") { foundReason = scanner.unescaped(text) }
      return true
    }
    type = foundType
    reason = cause.isEmpty ? foundReason : "\(foundReason): \(cause)"
    return isRead
  }

  /// The type and the reason of the error that a whole request got; `nil` where `bytes` are no such answer.
  package static func error(_ bytes: [UInt8]) -> (type: String, reason: String)? {
    var scanner = JSONScanner(bytes)
    var type = "", reason = ""
    var isError = false
    let isRead = scanner.members { scanner, key in
      guard scanner.spells(key, "error") else { return scanner.skip() }
      isError = true
      return readError(&scanner, &type, &reason)
    }
    return isRead && isError ? (type, reason) : nil
  }
}
