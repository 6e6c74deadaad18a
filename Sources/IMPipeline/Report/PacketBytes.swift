import IMDescriptors
import IMReport
import IMRun
import IMWire

/// Counts the bytes of packets over time, whether or not they are decoded. A report creates one; no option asks for it.
final class PacketBytes: RunFeature {
  private(set) var series = TimeBuckets<TransportBucket>()
  /// The second that is being counted, and its bytes: most packets are of the same second as the previous one.
  private var second = Int64.min, bytes: UInt64 = 0

  init() {}

  func take(_ records: Span<PacketRecord>, _ bytes: RawSpan) throws(CaptureError) -> Int {
    count(records)
    return records.count
  }

  /// Counts packets.
  func count(_ records: Span<PacketRecord>) {
    for i in records.indices {
      let seconds = records[i].timestamp.seconds
      if seconds != second {
        flush()
        second = seconds
      }
      bytes &+= UInt64(max(records[i].capturedLength, records[i].originalLength))
    }
  }

  /// The bytes since the last call, in steps of a second or more.
  func takeSeries() -> TimeBuckets<TransportBucket> {
    flush()
    defer { series = TimeBuckets() }
    return series
  }

  private func flush() {
    if bytes > 0 { series.count(bytes: bytes, at: Timestamp(seconds: second, fraction: 0)) }
    bytes = 0
  }
}
