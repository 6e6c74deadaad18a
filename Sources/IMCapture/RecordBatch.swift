import IMDescriptors
import IMWire

/// The records of the batch being made, in memory that is reused, and the counts of the whole capture.
struct RecordBatch: ~Copyable {
  /// Records one batch can hold; a 64 KiB read of the smallest records gives 4,096.
  static var capacity: Int { 4_096 }

  /// Records that this batch shall hold.
  let limit: Int

  /// The records; the first `count` are of this batch.
  let records: UnsafeMutablePointer<PacketRecord>
  /// Records in this batch.
  var count = 0
  /// The number of the last record seen, filtered out or not.
  var number: UInt64 = 0
  /// The time of the last record seen.
  var time = Timestamp(nanoseconds: 0)
  private var hiddenFinder = HiddenFinder()
  /// Counts of all batches so far.
  var statistics = CaptureStatistics()

  /// A batch of at most `limit` records, the first of which gets the number after `base`.
  init(limit: Int = Self.capacity, base: UInt64 = 0) {
    self.limit = min(max(1, limit), Self.capacity)
    records = .allocate(capacity: self.limit)
    number = base
  }

  deinit { records.deallocate() }

  /// Adds one record whose bytes were proved to be in the buffer. The caller has checked `count < limit`.
  @inline(__always)
  mutating func append(
    at offset: Int, time: Timestamp, captured: UInt32, original: UInt32, linkType: UInt16, interface: UInt16
  ) {
    var appender = appender
    appender.append(
      PacketRecord(
        timestamp: time, number: number, offset: UInt32(truncatingIfNeeded: offset), capturedLength: captured,
        originalLength: original, linkType: linkType, interface: interface))
    take(appender)
  }

  /// Takes note of a packet that the filter has left out.
  @inline(never)
  mutating func leaveOut(
    _ packet: UnsafeRawPointer, captured: UInt32, original: UInt32, linkType: UInt16, _ program: PacketFilter.Program
  ) {
    let kind = hiddenFinder.kind(packet, captured: captured, original: original, linkType: linkType, program)
    if let kind { statistics.hidden[kind] &+= 1 }
  }

  /// Where the next records go, as a value that a loop can keep in registers; `take` makes them the batch's.
  @inline(__always)
  var appender: Appender {
    Appender(
      next: records + count, end: records + limit, byteCount: statistics.deliveredBytes,
      truncated: statistics.truncated)
  }

  /// Makes the records that were appended the batch's.
  @inline(__always)
  mutating func take(_ appender: Appender) {
    count = appender.next - records
    statistics.deliveredBytes = appender.byteCount
    statistics.truncated = appender.truncated
  }

  /// The part of a batch that each record changes.
  struct Appender {
    fileprivate var next: UnsafeMutablePointer<PacketRecord>
    fileprivate let end: UnsafeMutablePointer<PacketRecord>
    fileprivate var byteCount: UInt64, truncated: UInt64

    /// Whether there is room for another record.
    @inline(__always)
    var hasRoom: Bool { next < end }

    /// Adds a record; there is room.
    @inline(__always)
    mutating func append(_ record: PacketRecord) {
      next.initialize(to: record)
      next += 1
      byteCount &+= UInt64(record.capturedLength)
      truncated &+= record.capturedLength < record.originalLength ? 1 : 0
    }
  }
}

/// How far a walk over the buffered bytes came, and why it stopped there.
struct Walk {
  /// Why a walk stopped.
  enum End {
    /// The batch has no room for another record.
    case full
    /// The next element, named in words, needs this many bytes from `next` on.
    case needs(Int, StaticString)
    /// The next element is wrong: what, with the words for the message up to the offset, and those after it.
    case damaged(CaptureError.Code, String, String)
    /// The filter does not compile for the next packet's link type.
    case failed(CaptureError)
  }

  /// Where the first element stands that was not used.
  var next: Int
  /// Why the walk stopped.
  var end: End
}

extension UnsafeRawPointer {
  /// Four bytes at `offset` in the capture's byte order.  The caller has proved that they are there.
  @inline(__always) func u32(_ offset: Int, swapped: Bool) -> UInt32 {
    let value = loadUnaligned(fromByteOffset: offset, as: UInt32.self)
    return swapped ? value.byteSwapped : value
  }

  /// Two bytes at `offset` in the capture's byte order.  The caller has proved that they are there.
  @inline(__always) func u16(_ offset: Int, swapped: Bool) -> UInt16 {
    let value = loadUnaligned(fromByteOffset: offset, as: UInt16.self)
    return swapped ? value.byteSwapped : value
  }

  /// Eight bytes at `offset` in the capture's byte order.  The caller has proved that they are there.
  @inline(__always) func u64(_ offset: Int, swapped: Bool) -> UInt64 {
    let value = loadUnaligned(fromByteOffset: offset, as: UInt64.self)
    return swapped ? value.byteSwapped : value
  }
}
