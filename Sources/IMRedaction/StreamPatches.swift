/// The bytes that stand for those of one direction of a connection, by their places in its stream.
package struct StreamPatches: Sendable {
  /// Bytes at a place.
  private struct Run: Sendable {
    var offset: UInt64
    var start: Int
    var count: Int
    var end: UInt64 { offset &+ UInt64(count) }
  }

  private var runs: [Run] = []
  private var bytes: [UInt8] = []
  private var isSorted = true
  /// Whether something was put since they were put in order.
  private var hasNews = false
  /// Places at which a frame's header stays whose rest is not there, and how many bytes of it, or up to which it may have.
  private var heads: [(offset: UInt64, count: Int)] = []
  /// Bytes that stay wherever they stand outside of frames: delimiters.
  package var kept: Set<UInt8> = []

  /// No bytes.
  package init() {}

  /// Memory that they take.
  package var byteCount: Int {
    bytes.capacity + runs.capacity * MemoryLayout<Run>.stride + heads.count * Self.costOfHead
  }
  static let costOfHead = 16

  /// Has `new` stand at `offset`. Of two frames at one place the first one counts.
  package mutating func put(_ new: [UInt8], at offset: UInt64) {
    guard !new.isEmpty else { return }
    if let last = runs.last, last.end == offset, last.start + last.count == bytes.count {
      runs[runs.count - 1].count += new.count
    } else {
      if let last = runs.last, offset < last.end { isSorted = false }
      runs.append(Run(offset: offset, start: bytes.count, count: new.count))
    }
    bytes += new
    hasNews = true
  }

  /// Has the first `count` bytes at `offset` stay what they are.
  package mutating func keepHead(at offset: UInt64, count: Int) {
    heads.append((offset, min(count, Self.longestHead)))
    hasNews = true
  }
  private static let longestHead = 256

  /// Orders what was put.
  package mutating func finish() {
    guard hasNews else { return }
    hasNews = false
    heads.sort { $0.offset < $1.offset }
    guard !isSorted else { return }
    runs = runs.enumerated().sorted { ($0.element.offset, $0.offset) < ($1.element.offset, $1.offset) }.map(\.element)
    var last: UInt64 = 0
    for i in runs.indices {
      let skip = min(UInt64(runs[i].count), last > runs[i].offset ? last - runs[i].offset : 0)
      runs[i].offset += skip
      runs[i].start += Int(skip)
      runs[i].count -= Int(skip)
      last = max(last, runs[i].end)
    }
    runs.removeAll { $0.count == 0 }
    isSorted = true
  }

  /// What stands for `old`, the bytes from `offset` on. What no frame has is a stand-in.
  package func apply(to old: [UInt8], at offset: Int64) -> [UInt8] {
    var new = old
    Self.clear(&new, old.indices, keeping: kept)
    put(heads: old, into: &new, old.indices, at: offset)
    put(into: &new, old.indices, at: offset)
    return new
  }

  /// Has stand-ins in `range` but for the bytes of `kept`.
  static func clear(_ bytes: inout [UInt8], _ range: Range<Int>, keeping kept: Set<UInt8>) {
    guard !kept.isEmpty else {
      for i in range { bytes[i] = CharacterShape.byte }
      return
    }
    let (first, second) = (kept.first ?? 0, kept.dropFirst().first ?? kept.first ?? 0)
    let isFew = kept.count <= 2
    for i in range {
      let byte = bytes[i]
      let stays = isFew ? byte == first || byte == second : kept.contains(byte)
      if !stays { bytes[i] = CharacterShape.byte }
    }
  }

  /// Puts headers of cut frames into `range` of `new`, which is at `offset` of the stream; `old` has its old bytes at the same places.
  func put(heads old: [UInt8], into new: inout [UInt8], _ range: Range<Int>, at offset: Int64) {
    guard !heads.isEmpty else { return }
    var head = firstHead(behind: offset - Int64(Self.longestHead))
    while head < heads.count, Int64(heads[head].offset) < offset + Int64(range.count) {
      let from = Int(Int64(heads[head].offset) - offset)
      let end = min(range.count, from + heads[head].count)
      if max(0, from) < end {
        for i in max(0, from)..<end { new[range.lowerBound + i] = old[range.lowerBound + i] }
      }
      head += 1
    }
  }

  /// Puts what stands for the bytes in `range` of `new`, which is at `offset` of the stream.
  func put(into new: inout [UInt8], _ range: Range<Int>, at offset: Int64) {
    let count = range.count
    guard offset + Int64(count) > 0 else { return }
    let first = UInt64(max(0, offset))
    var i = place(first)
    while i < runs.count, Int64(runs[i].offset) < offset + Int64(count) {
      let run = runs[i]
      let from = max(first, run.offset)
      let to = min(UInt64(offset + Int64(count)), run.end)
      if from < to {
        let source = run.start + Int(from - run.offset)
        let target = range.lowerBound + Int(Int64(from) - offset)
        for k in 0..<Int(to - from) { new[target + k] = bytes[source + k] }
      }
      i += 1
    }
  }

  private func firstHead(behind offset: Int64) -> Int {
    var (low, high) = (0, heads.count)
    while low < high {
      let middle = (low + high) / 2
      if Int64(heads[middle].offset) <= offset { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The first run that ends behind `offset`.
  private func place(_ offset: UInt64) -> Int {
    var (low, high) = (0, runs.count)
    while low < high {
      let middle = (low + high) / 2
      if runs[middle].end <= offset { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
