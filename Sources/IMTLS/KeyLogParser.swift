/// Takes a key log (RFC 9850) in chunks of any size and hands its lines to a table. Memory is bounded whatever the lines are.
package struct KeyLogParser {
  /// Lines that brought a new secret.
  package private(set) var kept: UInt64 = 0
  /// Lines whose secret the table had.
  package private(set) var duplicates: UInt64 = 0
  /// Lines of labels that are of no use here.
  package private(set) var foreign: UInt64 = 0
  /// Lines that are no lines of a key log, or are too long.
  package private(set) var malformed: UInt64 = 0

  /// Bytes of the longest line that can hold a secret, with room for blanks.
  private static let longestLine = 1_024

  /// The beginning of a line whose end has not come.
  private var partial: [UInt8] = []
  /// Whether the line in hand is too long and is passed over.
  private var isSkipping = false
  /// Whether no line has been taken yet: a byte order mark may be in front.
  private var isFirst = true

  /// A parser at the beginning of a log.
  package init() {}

  /// Takes the next bytes of the log.
  package mutating func take(_ bytes: UnsafeRawBufferPointer, into table: KeyTable) {
    var start = 0
    while start < bytes.count {
      var end = start
      while end < bytes.count, bytes[end] != 10, bytes[end] != 13 { end += 1 }
      let part = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
      if end == bytes.count {
        hold(part)
        return
      }
      if isSkipping {
        skipped()
      } else if partial.isEmpty {
        line(part, into: table)
      } else {
        hold(part)
        if isSkipping {
          skipped()
        } else {
          linePartial(into: table)
        }
      }
      start = end + 1
    }
  }

  /// The log ended. A last line without its end is taken when the log `isWhole`, and left out when it may have been cut.
  package mutating func finish(isWhole: Bool, into table: KeyTable) {
    if isWhole, !isSkipping, !partial.isEmpty {
      linePartial(into: table)
    } else if isSkipping || !partial.isEmpty {
      malformed += 1
    }
    restart()
  }

  /// The log begins anew: it was cut or replaced.
  package mutating func restart() {
    clear()
    isSkipping = false
    isFirst = true
  }

  /// A line that is too long for a secret ended.
  private mutating func skipped() {
    isSkipping = false
    isFirst = false
    malformed += 1
  }

  private mutating func hold(_ part: UnsafeRawBufferPointer) {
    if isSkipping { return }
    guard partial.count + part.count <= Self.longestLine else {
      clear()
      isSkipping = true
      return
    }
    if partial.capacity < Self.longestLine { partial.reserveCapacity(Self.longestLine) }
    partial.append(contentsOf: part)
  }

  /// The bytes are a secret's: overwritten before they are dropped. The array's room stays.
  private mutating func clear() {
    for i in partial.indices { partial[i] = 0 }
    partial.removeAll(keepingCapacity: true)
  }

  private mutating func linePartial(into table: KeyTable) {
    // Taken out, so that `clear` overwrites these bytes and not a copy.
    var held: [UInt8] = []
    swap(&held, &partial)
    held.withUnsafeBytes { line($0, into: table) }
    swap(&held, &partial)
    clear()
  }

  private mutating func line(_ bytes: UnsafeRawBufferPointer, into table: KeyTable) {
    guard bytes.count <= Self.longestLine else {
      skipped()
      return
    }
    var line = bytes
    if isFirst {
      isFirst = false
      if line.count >= 3, line[0] == 0xef, line[1] == 0xbb, line[2] == 0xbf {
        line = UnsafeRawBufferPointer(rebasing: line[3...])
      }
    }
    switch table.take(line: line) {
    case .secret: kept += 1
    case .duplicate: duplicates += 1
    case .foreign: foreign += 1
    case .malformed: malformed += 1
    case .comment: break
    }
  }
}
