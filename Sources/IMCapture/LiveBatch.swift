import CPcap
import IMWire

/// The batch a live capture is filling: libpcap calls back per packet, and the packet is copied behind the one before,
/// because its place in the kernel's ring is given back at once.
struct LiveBatch: ~Copyable {
  /// A batch is handed out when it has this many bytes.
  static var byteCount: Int { 1_048_576 }

  private let handle: OpaquePointer
  private let linkType: UInt16
  private let nanosecondsPerUnit: Int64
  private let bytes: UnsafeMutableRawPointer
  private let capacity: Int
  private var used = 0

  /// The records of the batch.
  var records = RecordBatch()
  /// Packets later than this moment are counted and left out.
  var stoppedAt = Int64.max
  /// Packets libpcap gave, the left out ones included.
  var seen: UInt64 = 0
  /// Packets libpcap gave although the batch was full.
  var overrun: UInt64 = 0

  /// A batch for packets of at most `snapLength` bytes from `handle`.
  init(handle: OpaquePointer, linkType: UInt16, nanoseconds: Bool, snapLength: Int) {
    self.handle = handle
    self.linkType = linkType
    nanosecondsPerUnit = nanoseconds ? 1 : 1_000
    capacity = Self.byteCount + snapLength
    bytes = .allocate(byteCount: capacity + PacketRecord.slack, alignment: 16)
    bytes.initializeMemory(as: UInt8.self, repeating: 0, count: capacity + PacketRecord.slack)
  }

  deinit { bytes.deallocate() }

  /// Forgets the packets handed out.
  mutating func clear() {
    used = 0
    records.count = 0
  }

  /// Hands the batch to `body`.
  func hand(to body: (RawSpan, Span<PacketRecord>) -> Void) {
    // SAFETY: `slack` bytes follow `used`, and the memory lives as long as self.
    let span = RawSpan(_unsafeStart: UnsafeRawPointer(bytes), byteCount: used &+ PacketRecord.slack)
    let first = UnsafePointer(records.records)
    body(span, Span(_unsafeStart: first, count: records.count))
  }

  /// Copies one packet; stops the dispatch when the batch is full.
  mutating func take(_ header: UnsafePointer<pcap_pkthdr>, _ packet: UnsafePointer<UInt8>) {
    seen &+= 1
    // The kernel's part of a second is below 10⁹, whatever its unit.
    let time = Timestamp(
      seconds: Int64(header.pointee.ts.tv_sec), fraction: Int64(header.pointee.ts.tv_usec) &* nanosecondsPerUnit)
    guard time.nanoseconds <= stoppedAt else {
      records.statistics.afterStop &+= 1
      return
    }
    records.number &+= 1
    // libpcap keeps to the snapshot length, and a dispatch ends when less room is left than that.
    let captured = min(Int(header.pointee.caplen), capacity &- used)
    (bytes + used).copyMemory(from: packet, byteCount: captured)
    records.append(
      at: used, time: time, captured: UInt32(truncatingIfNeeded: captured), original: header.pointee.len,
      linkType: linkType, interface: 0)
    records.statistics.delivered &+= 1
    used &+= captured
    if used >= Self.byteCount || records.count == RecordBatch.capacity { pcap_breakloop(handle) }
  }

  /// Whether a dispatch may add packets.
  var hasRoom: Bool { used < Self.byteCount && records.count < RecordBatch.capacity }
}

/// What libpcap calls with each packet; `user` is the `LiveBatch`.
func takePacket(
  _ user: UnsafeMutablePointer<UInt8>?, _ header: UnsafePointer<pcap_pkthdr>?, _ packet: UnsafePointer<UInt8>?
) {
  guard let user, let header, let packet else { return }
  let batch = UnsafeMutableRawPointer(user).assumingMemoryBound(to: LiveBatch.self)
  if batch.pointee.hasRoom {
    batch.pointee.take(header, packet)
  } else {
    // libpcap ends a dispatch at the packet that asked for it; should a version not, the loss is counted.
    batch.pointee.overrun &+= 1
  }
}
