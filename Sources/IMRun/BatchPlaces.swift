package import IMEngine
package import IMWire

/// Where the bytes of the batch that the engine has in hand stand in their capture.
///
/// A frame that lies in one packet is read in place, in the batch's own bytes, so where it stands in them says where it stands in the
/// capture. One that was put together of several packets, unpacked or deciphered is read elsewhere: it has no place.
package struct BatchPlaces {
  /// A packet that was written to a capture file by this run.
  package struct Packet {
    /// Where its bytes begin in the batch, and where they end.
    fileprivate let first: Int, end: Int
    /// Where they begin in the file.
    fileprivate let offset: UInt64
    /// The number of that file among the run's captures, from 0; `nil` where the packet's number has it.
    fileprivate let capture: UInt32?

    /// A packet with the bytes `first..<end` of the batch, which begin at `offset` of the file with the number `capture`.
    package init(first: Int, end: Int, offset: UInt64, capture: UInt32?) {
      (self.first, self.end, self.offset, self.capture) = (first, end, offset, capture)
    }
  }

  /// The address of the batch's first byte, which is compared and never read, and how many there are.
  private var start: UInt = 0
  private var count = 0
  /// Where the first byte stands in a capture that is read.
  private var offset: UInt64?
  /// The packets of a batch that this run has written, in the order of the batch.
  private var packets: [Packet] = []

  /// No batch.
  package init() {}

  /// A batch is in hand that stands at `offset` of the capture that is read.
  package mutating func begin(_ bytes: RawSpan, at offset: UInt64?) {
    begin(bytes, [])
    self.offset = offset
  }

  /// A batch is in hand whose packets were read of several captures, and are at `offsets` of these.
  package mutating func begin(_ bytes: RawSpan, _ records: Span<PacketRecord>, at offsets: [UInt64]) {
    begin(bytes, [])
    packets.reserveCapacity(records.count)
    for i in 0..<min(records.count, offsets.count) {
      let first = Int(records[i].offset)
      packets.append(
        Packet(first: first, end: first + Int(records[i].capturedLength), offset: offsets[i], capture: nil))
    }
  }

  /// A batch is in hand whose packets this run has written.
  package mutating func begin(_ bytes: RawSpan, _ packets: [Packet]) {
    (start, count) = bytes.withUnsafeBytes { (UInt(bitPattern: $0.baseAddress), $0.count) }
    offset = nil
    self.packets = packets
  }

  /// Where a frame stands in its capture, and in which, where this run has written it; `nil` where that is not known.
  @inline(__always)
  package func place(of frame: borrowing Frame, in bytes: RawSpan) -> (capture: UInt32?, offset: UInt64)? {
    let address = bytes.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } &+ UInt(bitPattern: frame.start)
    let first = Int(bitPattern: address &- start), end = first &+ frame.count
    guard first >= 0, first <= end, end <= count else { return nil }
    if let offset { return (nil, offset &+ UInt64(first)) }
    return packets.isEmpty ? nil : place(first, end)
  }

  /// The same in the packet that has these bytes of the batch.
  @inline(never)
  private func place(_ first: Int, _ end: Int) -> (capture: UInt32?, offset: UInt64)? {
    var (low, high) = (0, packets.count)
    while low < high {
      let middle = (low + high) / 2
      if packets[middle].end <= first { low = middle + 1 } else { high = middle }
    }
    guard low < packets.count, packets[low].first <= first, end <= packets[low].end else { return nil }
    return (packets[low].capture, packets[low].offset + UInt64(first - packets[low].first))
  }
}
