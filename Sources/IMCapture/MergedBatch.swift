import Glibc
import IMWire

/// Packets of several files in one buffer, in the order of their turns.
struct MergedBatch: ~Copyable {
  /// Bytes of packets that one batch holds.
  static let capacity = 256 << 10

  private let bytes: UnsafeMutableRawPointer
  private let capacity: Int
  private let records: UnsafeMutablePointer<PacketRecord>
  private let limit: Int
  private var byteCount = 0
  /// Packets in the batch.
  private(set) var count = 0
  /// Where the bytes of each packet begin in its capture file, unpacked.
  private(set) var offsets: [UInt64] = []

  /// A batch of at most `limit` packets with `capacity` bytes.
  init(limit: Int, capacity: Int) {
    self.limit = capacity == 0 ? 0 : min(max(1, limit), RecordBatch.capacity)
    self.capacity = capacity
    bytes = .allocate(byteCount: capacity + PacketRecord.slack, alignment: 16)
    bytes.initializeMemory(as: UInt8.self, repeating: 0, count: capacity + PacketRecord.slack)
    records = .allocate(capacity: max(1, self.limit))
  }

  deinit {
    bytes.deallocate()
    records.deallocate()
  }

  /// Whether nothing is ever copied into it.
  var isUnused: Bool { capacity == 0 }

  /// Whether there is room for no other packet.
  var isFull: Bool { count >= limit }

  /// Forgets the packets.
  mutating func clear() {
    count = 0
    byteCount = 0
    offsets.removeAll(keepingCapacity: true)
  }

  /// Copies packets of the batch of `file`, as many as there is room for; gives their number.
  mutating func append(_ source: UnsafePointer<PacketRecord>, _ range: Range<Int>, _ file: CaptureFile) -> Int {
    let base = file.batchOffset ?? 0
    for i in range {
      var record = source[i]
      let length = Int(record.capturedLength)
      guard count < limit, capacity - byteCount >= length else { return i - range.lowerBound }
      offsets.append(base &+ UInt64(record.offset))
      memcpy(bytes + byteCount, file.bytes + Int(record.offset), length)
      record.offset = UInt32(truncatingIfNeeded: byteCount)
      (records + count).initialize(to: record)
      byteCount += length
      count += 1
    }
    return range.count
  }

  /// Hands the packets to `body`.
  func withBatch(_ body: (RawSpan, Span<PacketRecord>) -> Void) {
    // SAFETY: the buffer has `slack` initialized bytes after `capacity`, and lives as long as self, as the records do.
    let span = RawSpan(_unsafeStart: UnsafeRawPointer(bytes), byteCount: byteCount + PacketRecord.slack)
    body(span, Span(_unsafeStart: UnsafePointer(records), count: count))
  }
}
