/// Memory for the bytes of all streams of a capture: large blocks, from whose beginnings chunks are taken.
///
/// Nothing is moved, and nothing is given back before all of it is: with the collector, and with the last `StreamContent`.
/// The bytes of a filled chunk do not change.
final class StreamMemory: @unchecked Sendable {
  // One collector takes and fills chunks; what it hands out is only read.

  private static var blockCount: Int { 4 << 20 }
  private var blocks: [UnsafeMutableRawPointer] = []
  private var next: UnsafeMutableRawPointer?
  private var left = 0

  init() {}

  deinit { for block in blocks { block.deallocate() } }

  /// A chunk of `count` bytes, which have no value yet.
  func take(_ count: Int) -> UnsafeMutableRawPointer {
    if let next, count <= left {
      self.next = next + count
      left -= count
      return next
    }
    let size = max(Self.blockCount, count)
    let block = LargeMemory.allocate(size)
    blocks.append(block)
    next = block + count
    left = size - count
    return block
  }
}

/// Bytes of a stream as its collector has them. The memory of all streams lives as long as one of these.
package struct StreamContent: RandomAccessCollection, @unchecked Sendable {
  private let memory: StreamMemory
  private let bytes: UnsafeRawBufferPointer

  /// Bytes in a chunk of `memory`.
  init(_ bytes: UnsafeRawBufferPointer, of memory: StreamMemory) {
    self.bytes = bytes
    self.memory = memory
  }

  /// 0.
  package var startIndex: Int { 0 }
  /// How many bytes these are.
  package var endIndex: Int { bytes.count }

  /// The byte at `index`.
  package subscript(index: Int) -> UInt8 {
    precondition(bytes.indices.contains(index), "an index of a stream's bytes is below their count")
    return bytes[index]
  }

  /// Calls `body` with the bytes, which it must not keep.
  package func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
    try withExtendedLifetime(memory) { try body(bytes) }
  }

  /// The same, as collections ask for it.
  package func withContiguousStorageIfAvailable<Result>(
    _ body: (UnsafeBufferPointer<UInt8>) throws -> Result
  ) rethrows -> Result? {
    try withExtendedLifetime(memory) { try bytes.withMemoryRebound(to: UInt8.self, body) }
  }
}
