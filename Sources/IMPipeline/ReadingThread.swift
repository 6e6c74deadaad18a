import Dispatch
import IMCapture
import IMEngine
import IMWire

/// Reads a capture and prepares its packets on a thread of its own, a few batches ahead of the engine.
///
/// The engine gets the same batches in the same order as without it, so the output is the same to the byte.
final class ReadingThread {
  /// One batch, copied out of the source's buffer, and what the source had counted when it handed it out.
  private final class Slab {
    var bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 0, alignment: 16)
    let records = UnsafeMutablePointer<PacketRecord>.allocate(capacity: Slab.capacity)
    var count = 0
    let packets = PreparedPackets(capacity: Slab.capacity)
    var statistics = CaptureStatistics()
    /// `nil` for a batch; else the source has ended, with an error or without.
    var end: Result<Void, CaptureError>?

    /// Records in a batch, at most.
    static let capacity = 4_096

    deinit {
      bytes.deallocate()
      records.deallocate()
    }

    /// Copies a batch.
    func take(_ source: RawSpan, _ given: Span<PacketRecord>) {
      // What stands in front of the first packet was used before.
      let first = given.isEmpty ? 0 : Int(given[0].offset)
      let size = source.byteCount - first
      if bytes.count < size {
        bytes.deallocate()
        bytes = .allocate(byteCount: size, alignment: 16)
      }
      source.withUnsafeBytes { bytes.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[first...])) }
      count = given.count
      for i in given.indices {
        var record = given[i]
        record.offset -= UInt32(truncatingIfNeeded: first)
        (records + i).initialize(to: record)
      }
    }

    func with<R>(_ body: (RawSpan, Span<PacketRecord>) -> R) -> R {
      // SAFETY: `take` has filled both, slack included, and the memory lives as long as self.
      let start = UnsafeRawPointer(bytes.baseAddress ?? UnsafeMutableRawPointer(records))
      return body(
        RawSpan(_unsafeStart: start, byteCount: bytes.count),
        Span(_unsafeStart: UnsafePointer(records), count: count))
    }
  }

  /// What both threads use: a ring of slabs, each of which one of them has at a time.
  private final class Ring: @unchecked Sendable {
    let slabs = (0..<4).map { _ in Slab() }
    // A semaphore must not be let go below the value it was made with.
    let free = DispatchSemaphore(value: 0)
    let full = DispatchSemaphore(value: 0)
    let ended = DispatchSemaphore(value: 0)

    init() { for _ in slabs { free.signal() } }
  }

  private let ring = Ring()
  private var next = 0
  private(set) var hasEnded = false
  /// What the source had counted when the last batch was handed out.
  private(set) var statistics = CaptureStatistics()

  /// Begins to read `source`, which nobody else may use until `end()` has returned.
  init(_ source: any PacketSource, _ preparer: PacketPreparer) {
    let ring = ring
    let source = Handed(source)
    DispatchQueue(label: "imdump.reading").async { Self.read(source.value, preparer, ring) }
  }

  /// A source on its way to the thread that reads it.
  private struct Handed: @unchecked Sendable {
    let value: any PacketSource
    init(_ value: any PacketSource) { self.value = value }
  }

  private static func read(_ source: any PacketSource, _ preparer: PacketPreparer, _ ring: Ring) {
    var place = 0
    var end: Result<Void, CaptureError>?
    while end == nil {
      ring.free.wait()
      let slab = ring.slabs[place % ring.slabs.count]
      place += 1
      do throws(CaptureError) {
        let more = try source.nextBatch { bytes, records in
          slab.take(bytes, records)
          slab.with { preparer.prepare($0, $1, into: slab.packets) }
        }
        if !more { end = .success(()) }
      } catch {
        end = .failure(error)
      }
      slab.statistics = source.statistics
      slab.end = end
      ring.full.signal()
    }
    ring.ended.signal()
  }

  /// Hands the next batch to `body`; false when there will be no more. Throws what ended the source.
  func nextBatch(_ body: (RawSpan, Span<PacketRecord>, PreparedPackets) -> Void) throws(CaptureError) -> Bool {
    guard !hasEnded else { return false }
    ring.full.wait()
    let slab = ring.slabs[next % ring.slabs.count]
    statistics = slab.statistics
    if let end = slab.end {
      hasEnded = true
      try end.get()
      return false
    }
    slab.with { body($0, $1, slab.packets) }
    next += 1
    ring.free.signal()
    return true
  }

  /// Waits until the thread has ended; the source was told to stop, or has ended.
  func end() {
    while !hasEnded { _ = try? nextBatch { _, _, _ in } }
    ring.ended.wait()
  }
}
