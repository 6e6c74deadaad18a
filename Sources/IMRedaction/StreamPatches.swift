import CMachine

/// The bytes that stand for those of one direction of a connection, by their places in its stream.
///
/// There are many of them, each touched for a frame and then not for a while: what a frame needs is in the first bytes, in one line of
/// a processor's cache.
package struct StreamPatches: ~Copyable, @unchecked Sendable {
  /// Bytes at a place.
  private struct Run: Sendable {
    var offset: UInt64
    var start: Int
    var count: Int
    var end: UInt64 { offset &+ UInt64(count) }
  }

  /// What only few directions have.
  // SAFETY: one direction's patches own it, and these are not copied: one thread at a time reaches it.
  private final class Rare: Sendable {
    /// Places at which a frame's header stays whose rest is not there, and how many bytes of it, or up to which it may have.
    nonisolated(unsafe) var heads: [(offset: UInt64, count: Int)] = []
    nonisolated(unsafe) var kept = KeptBytes()
  }

  /// All new bytes, in the order in which they were put.
  private var memory: UnsafeMutableRawPointer?
  private var count = 0, capacity = 0
  /// The run that was put last, which ends where the bytes do; without one its count is 0.
  private var lastOffset: UInt64 = 0, lastCount = 0
  private var isSorted = true
  /// Whether something was put since they were put in order.
  private var hasNews = false
  /// The other runs.
  private var runs: [Run] = []
  private var rare: Rare?

  /// No bytes.
  package init() {}

  deinit { memory?.deallocate() }

  /// Bytes that stay wherever they stand outside of frames: delimiters.
  package var kept: KeptBytes {
    get { rare?.kept ?? KeptBytes() }
    set { madeRare().kept = newValue }
  }

  private mutating func madeRare() -> Rare {
    if let rare { return rare }
    let made = Rare()
    rare = made
    return made
  }

  /// Memory that they take.
  package var byteCount: Int {
    capacity + runs.capacity * MemoryLayout<Run>.stride + (rare.map { $0.heads.count * Self.costOfHead } ?? 0)
  }
  static let costOfHead = 16
  private static let least = 64

  /// Has `new` stand at `offset`. Of two frames at one place the first one counts.
  package mutating func put(_ new: [UInt8], at offset: UInt64) {
    new.withUnsafeBytes { put($0, at: offset) }
  }

  /// The same for bytes that are borrowed.
  @inline(__always)
  mutating func put(_ new: UnsafeRawBufferPointer, at offset: UInt64) {
    guard let source = new.baseAddress, !new.isEmpty else { return }
    if lastCount > 0, lastOffset &+ UInt64(lastCount) == offset {
      lastCount &+= new.count
    } else {
      begin(offset, new.count)
    }
    if capacity &- count < new.count { grow(new.count) }
    if let memory { (memory + count).copyMemory(from: source, byteCount: new.count) }
    count &+= new.count
    hasNews = true
  }

  /// Begins a run.
  @inline(never)
  private mutating func begin(_ offset: UInt64, _ length: Int) {
    endRun()
    if let last = runs.last, offset < last.end { isSorted = false }
    (lastOffset, lastCount) = (offset, length)
  }

  /// Puts the last run to the others.
  private mutating func endRun() {
    guard lastCount > 0 else { return }
    runs.append(Run(offset: lastOffset, start: count - lastCount, count: lastCount))
    lastCount = 0
  }

  @inline(never)
  private mutating func grow(_ more: Int) {
    var wanted = max(Self.least, capacity)
    while wanted - count < more { wanted *= 2 }
    let bigger = UnsafeMutableRawPointer.allocate(byteCount: wanted, alignment: 16)
    if let memory {
      bigger.copyMemory(from: memory, byteCount: count)
      memory.deallocate()
    }
    (memory, capacity) = (bigger, wanted)
  }

  /// Has the first `count` bytes at `offset` stay what they are.
  package mutating func keepHead(at offset: UInt64, count: Int) {
    madeRare().heads.append((offset, min(count, Self.longestHead)))
    hasNews = true
  }
  private static let longestHead = 256

  /// Orders what was put.
  package mutating func finish() {
    guard hasNews else { return }
    hasNews = false
    rare?.heads.sort { $0.offset < $1.offset }
    guard !isSorted else { return }
    endRun()
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
  static func clear(_ bytes: inout [UInt8], _ range: Range<Int>, keeping kept: KeptBytes) {
    bytes.withUnsafeMutableBytes { all in
      let part = UnsafeMutableRawBufferPointer(rebasing: all[range])
      if kept.isEmpty {
        part.initializeMemory(as: UInt8.self, repeating: CharacterShape.byte)
      } else {
        for i in part.indices where !kept.contains(part[i]) { part[i] = CharacterShape.byte }
      }
    }
  }

  /// Puts headers of cut frames into `range` of `new`, which is at `offset` of the stream; `old` has its old bytes at the same places.
  @inline(__always)
  func put(heads old: [UInt8], into new: inout [UInt8], _ range: Range<Int>, at offset: Int64) {
    guard let rare else { return }
    Self.put(rare.heads, old, into: &new, range, at: offset)
  }

  @inline(never)
  private static func put(
    _ heads: [(offset: UInt64, count: Int)], _ old: [UInt8], into new: inout [UInt8], _ range: Range<Int>,
    at offset: Int64
  ) {
    var head = first(of: heads, behind: offset - Int64(longestHead))
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
    let end = offset + Int64(range.count)
    guard end > 0 else { return }
    let first = UInt64(max(0, offset)), last = UInt64(end)
    if !runs.isEmpty {
      var i = place(first)
      while i < runs.count, runs[i].offset < last {
        put(runs[i], into: &new, range, first, last, at: offset)
        i += 1
      }
    }
    if lastCount > 0, lastOffset < last, lastOffset &+ UInt64(lastCount) > first {
      let run = Run(offset: lastOffset, start: count - lastCount, count: lastCount)
      put(run, into: &new, range, first, last, at: offset)
    }
  }

  @inline(__always)
  private func put(
    _ run: Run, into new: inout [UInt8], _ range: Range<Int>, _ first: UInt64, _ last: UInt64, at offset: Int64
  ) {
    let from = max(first, run.offset), to = min(last, run.end)
    guard from < to, let memory else { return }
    let target = range.lowerBound + Int(Int64(from) - offset), length = Int(to - from)
    // SAFETY: a run lies within the bytes that were put; the slice has as many.
    let source = UnsafeRawBufferPointer(start: memory + run.start + Int(from - run.offset), count: length)
    new.withUnsafeMutableBytes { new in
      UnsafeMutableRawBufferPointer(rebasing: new[target..<target + length]).copyMemory(from: source)
    }
  }

  /// Asks the processor for the replacements of the bytes from `offset` on, where there is one run, as there is as a rule.
  @inline(__always)
  func prefetch(at offset: Int64) {
    guard lastCount > 0, runs.isEmpty, let memory else { return }
    let from = offset - Int64(lastOffset)
    guard from >= 0, from < Int64(lastCount) else { return }
    let place = memory + (count - lastCount) + Int(from)
    imdump_prefetch(place)
    imdump_prefetch(place + min(64, lastCount - Int(from) - 1))
    imdump_prefetch(place + min(128, lastCount - Int(from) - 1))
  }

  private static func first(of heads: [(offset: UInt64, count: Int)], behind offset: Int64) -> Int {
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

/// A set of bytes, in as many bits as there are.
package struct KeptBytes: Sendable, ExpressibleByArrayLiteral {
  private var bits = InlineArray<4, UInt64>(repeating: 0)

  /// No bytes.
  package init() {}

  /// The bytes `elements`.
  package init(arrayLiteral elements: UInt8...) {
    for byte in elements { insert(byte) }
  }

  /// Adds a byte.
  package mutating func insert(_ byte: UInt8) { bits[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }

  /// Adds the bytes of another set.
  package mutating func formUnion(_ other: KeptBytes) { for i in bits.indices { bits[i] |= other.bits[i] } }

  /// Whether it has no byte.
  package var isEmpty: Bool { bits[0] | bits[1] | bits[2] | bits[3] == 0 }

  /// Whether it has `byte`.
  package func contains(_ byte: UInt8) -> Bool { bits[Int(byte >> 6)] >> UInt64(byte & 63) & 1 == 1 }
}
