import CPcap

/// The kernel's counts of a capture, widened: libpcap's have 32 bits and wrap.
struct LiveCounters {
  /// Packets accepted by the filter, those then dropped included.
  private(set) var received: UInt64?
  /// Packets dropped because the ring was full.
  private(set) var dropped: UInt64?
  /// Packets the interface dropped.
  private(set) var droppedByInterface: UInt64?

  private var last = pcap_stat()

  /// Asks again.  Must be called at least once in 2³² packets.
  mutating func update(_ handle: OpaquePointer) {
    var now = pcap_stat()
    guard pcap_stats(handle, &now) == 0 else { return }
    received = (received ?? 0) &+ UInt64(now.ps_recv &- last.ps_recv)
    dropped = (dropped ?? 0) &+ UInt64(now.ps_drop &- last.ps_drop)
    // The interface's own count begins anew with an interface that takes its place.
    let grown = Int32(bitPattern: now.ps_ifdrop &- last.ps_ifdrop)
    droppedByInterface = (droppedByInterface ?? 0) &+ UInt64(max(0, grown))
    last = now
  }

  /// Packets that were put into the ring.
  var accepted: UInt64? {
    guard let received, let dropped else { return nil }
    return received &- dropped
  }
}
