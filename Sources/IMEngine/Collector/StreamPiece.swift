import CMachine
import Glibc

/// A chunk of one direction that was captured without a hole.
///
/// Its bytes stand in strips of memory, each about as long as those before it together, so that it grows without moving:
/// a byte is copied once.
struct StreamPiece {
  private struct Strip {
    let start: UnsafeMutableRawPointer
    /// Where it begins in the piece, how many bytes it has, and for how many it has room.
    let offset: Int
    var count: Int
    let capacity: Int
  }

  /// The longest strip, but for what comes in one segment.
  private static var longestStrip: Int { 64 << 10 }

  /// Its first byte's place, counted from the direction's first sequence number without wrapping.
  let start: Int
  /// Its bytes.
  private(set) var count = 0
  /// Whether there is room for their content.
  let isKept: Bool
  private var full: [Strip] = []
  private var last: Strip?

  /// A piece that begins at `start` with `content`, which it keeps if there is room in `memory`.
  init(start: Int, _ content: RawSpan, _ memory: StreamMemory?) {
    self.start = start
    isKept = memory != nil
    if let memory { append(content, memory) } else { count = content.byteCount }
  }

  var end: Int { start + count }

  /// The memory that a piece takes for its first `count` bytes.
  static func room(_ count: Int) -> Int { (count + 15) & ~15 }

  /// How much more memory it takes for `more` bytes of content.
  func growth(_ more: Int) -> Int {
    let missing = more - (last.map { $0.capacity - $0.count } ?? 0)
    return missing <= 0 ? 0 : Self.room(max(missing, min(count, Self.longestStrip)))
  }

  /// Asks for the memory into which more content goes.
  @inline(__always)
  func prefetch() { if let last { imdump_prefetch(last.start + last.count) } }

  /// Lengthens a piece whose content is not kept.
  mutating func append(_ more: Int) { count += more }

  /// Puts content behind that which it keeps.
  mutating func append(_ content: RawSpan, _ memory: StreamMemory) {
    content.withUnsafeBytes { raw in
      guard let base = raw.baseAddress else { return }
      var done = 0
      if let chunk = last {
        done = min(raw.count, chunk.capacity - chunk.count)
        (chunk.start + chunk.count).copyMemory(from: base, byteCount: done)
        last?.count += done
      }
      if done < raw.count {
        // Before anything is counted: it depends on what is there.
        let size = Self.room(max(raw.count - done, min(count, Self.longestStrip)))
        if let last { full.append(last) }
        let start = memory.take(size)
        start.copyMemory(from: base + done, byteCount: raw.count - done)
        last = Strip(start: start, offset: count + done, count: raw.count - done, capacity: size)
      }
      count += raw.count
    }
  }

  /// How many of `bytes` differ from those that it keeps from `offset` on.
  func differences(_ bytes: UnsafeRawBufferPointer, at offset: Int) -> Int {
    var found = 0
    var done = 0
    while done < bytes.count, let mine = chunk(at: offset + done), let base = bytes.baseAddress {
      let count = min(mine.count, bytes.count - done)
      if let start = mine.baseAddress, memcmp(start, base + done, count) != 0 {
        for i in 0..<count where mine[i] != bytes[done + i] { found += 1 }
      }
      done += count
    }
    return found
  }

  /// What it keeps from `offset` on, as slices of `memory`.
  func content(from offset: Int, _ memory: StreamMemory) -> [StreamContent] {
    var result: [StreamContent] = []
    var position = offset
    while let bytes = chunk(at: position) {
      result.append(StreamContent(bytes, of: memory))
      position += bytes.count
    }
    return result
  }

  /// The bytes from `offset` to the end of their chunk; `nil` if there are none.
  private func chunk(at offset: Int) -> UnsafeRawBufferPointer? {
    var low = 0
    var high = full.count
    while low < high {
      let middle = (low + high) / 2
      if full[middle].offset + full[middle].count > offset { high = middle } else { low = middle + 1 }
    }
    guard let chunk = low < full.count ? full[low] : last else { return nil }
    let inside = offset - chunk.offset
    guard inside < chunk.count else { return nil }
    return UnsafeRawBufferPointer(start: chunk.start + inside, count: chunk.count - inside)
  }
}
