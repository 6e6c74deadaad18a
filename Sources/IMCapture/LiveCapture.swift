import CPcap
import Glibc
package import IMDescriptors
package import IMWire

/// A capture on a network interface, or on all of them (`any`).
///
/// It never waits in libpcap: it waits for the packet socket at most a tenth of a second, so a stop, a clock or a lost
/// interface is noticed on a quiet line too. After `stop()` it hands out every packet the kernel had accepted before,
/// those in an unfinished block of the ring included, and ends within a second.
package final class LiveCapture: PacketSource {
  /// Milliseconds the kernel keeps an unfinished block of packets.
  static var blockTime: Int32 { 100 }
  /// Milliseconds after which nothing can be left in an unfinished block: its timer may need two turns.
  private static var quietTime: Int64 { 2 * Int64(blockTime) + 60 }
  /// Milliseconds after which draining ends, whatever is left.
  private static var drainLimit: Int64 { 800 }
  /// Milliseconds between looks at the interface and the kernel's counts.
  private static var watchTime: Int64 { 250 }

  /// Why and since when the capture reads only what is left.
  private struct Drain {
    var began: Int64
    var isFrozen: Bool
    var error: CaptureError?
  }

  private let device: String
  private let handle: LiveHandle
  private let batch: UnsafeMutablePointer<LiveBatch>
  private let stopSwitch: ShutdownSignal
  private let waitsForInterface: Bool
  private let isPromiscuous: Bool
  /// Whether the interface is gone and another is waited for.
  private var isWaiting = false
  private var watch: InterfaceWatch
  private var lastLook: Int64
  private var counters = LiveCounters()
  private var events: [CaptureEvent] = []
  private var drain: Drain?
  private var hasEnded = false

  /// The one interface that is captured on.
  package let interfaces: [CaptureInterface]

  /// Opens `device` and begins to capture.
  ///
  /// The right to open packet sockets (`cap_net_raw`) is enough. Throws `.noPermission`, `.noDevice`, `.badFilter`,
  /// `.captureFailed`.
  package init(device: String, options: LiveOptions = LiveOptions(), stop: ShutdownSignal = ShutdownSignal())
    throws(CaptureError)
  {
    handle = try LiveHandle.open(device, options)
    watch = InterfaceWatch(device: device)
    if device == "any" {
      try handle.setFilterForAny(options.filter)
    } else if let filter = options.filter {
      try handle.setFilter(filter, device: device)
    }
    if watch.isLoopback { _ = imdump_ignore_outgoing(handle.descriptor) }
    try handle.begin(device: device)
    self.device = device
    stopSwitch = stop
    waitsForInterface = options.waitsForInterface
    isPromiscuous = options.isPromiscuous
    if let warning = handle.warning { events.append(.warning(warning)) }
    interfaces = [
      CaptureInterface(
        index: 0, name: device, linkType: handle.linkType, snapLength: UInt32(clamping: pcap_snapshot(handle.pointer)),
        resolution: handle.hasNanoseconds ? .nanoseconds : .microseconds)
    ]
    batch = .allocate(capacity: 1)
    batch.initialize(
      to: LiveBatch(
        handle: handle.pointer, linkType: handle.linkType, nanoseconds: handle.hasNanoseconds,
        snapLength: max(Int(pcap_snapshot(handle.pointer)), 262_144)))
    lastLook = milliseconds()
  }

  deinit {
    batch.deinitialize(count: 1)
    batch.deallocate()
  }

  /// See `PacketSource.nextBatch`.
  package func nextBatch(_ body: (RawSpan, Span<PacketRecord>) -> Void) throws(CaptureError) -> Bool {
    guard !hasEnded else { return false }
    batch.pointee.clear()
    if drain == nil, let moment = stopSwitch.stoppedAt {
      batch.pointee.stoppedAt = moment
      beginDrain(nil)
    }
    if let drain { return try nextLeft(drain, body) }
    dispatch()
    if batch.pointee.records.count == 0, drain == nil {
      wait(Self.blockTime)
      dispatch()
    }
    if isWaiting { lookForSuccessor() } else { lookAround() }
    batch.pointee.hand(to: body)
    return true
  }

  /// Packets come from no file.
  package var batchOffset: UInt64? { nil }

  /// Counts so far, the kernel's included.
  package var statistics: CaptureStatistics {
    counters.update(handle.pointer)
    var statistics = batch.pointee.records.statistics
    statistics.received = counters.received
    statistics.filteredOut = nil
    statistics.droppedByKernel = counters.dropped.map { $0 &+ batch.pointee.overrun }
    statistics.droppedByInterface = counters.droppedByInterface
    return statistics
  }

  /// What has happened to the interface since the last call.
  package func takeEvents() -> [CaptureEvent] {
    defer { events.removeAll() }
    return events
  }

  /// Ends the capture when the kernel's ring is empty.
  package func stop() { stopSwitch.stop() }

  /// Takes what is in the ring, until it is empty or the batch is full.
  private func dispatch() {
    let user = UnsafeMutableRawPointer(batch).assumingMemoryBound(to: UInt8.self)
    let result = pcap_dispatch(handle.pointer, -1, takePacket, user)
    guard result < 0, result != PCAP_ERROR_BREAK, drain == nil, !isWaiting else { return }
    let reason = String(cString: pcap_geterr(handle.pointer))
    let isGone = watch.look() == .gone || reason.contains("disappeared")
    if isGone { lose() } else { beginDrain(.live(.captureFailed, device, reason)) }
  }

  /// Waits until the socket has packets, at most `time` milliseconds.
  private func wait(_ time: Int32) {
    var request = pollfd(fd: handle.descriptor, events: Int16(POLLIN), revents: 0)
    let result = poll(&request, 1, time)
    // An interface that is down makes the socket report an error at once, again and again.
    if result > 0, request.revents & Int16(POLLIN) == 0 { usleep(10_000) }
  }

  /// Looks at the interface and the kernel's counts, four times a second.
  private func lookAround() {
    let now = milliseconds()
    guard now &- lastLook >= Self.watchTime else { return }
    lastLook = now
    counters.update(handle.pointer)
    switch watch.look() {
    case .unchanged: break
    case .wentDown: events.append(.interfaceDown(device))
    case .cameUp: events.append(.interfaceUp(device))
    case .gone: if drain == nil { lose() }
    }
  }

  /// The interface is gone: ends the capture, or waits for another.
  private func lose() {
    guard waitsForInterface else { return beginDrain(.live(.deviceGone, device, "the interface disappeared")) }
    isWaiting = true
    events.append(.interfaceGone(device))
  }

  /// Binds the socket to an interface that has taken the place of the lost one. What the old one brought is still in the
  /// ring, and comes first.
  private func lookForSuccessor() {
    guard let index = watch.successor else { return }
    guard imdump_bind_again(handle.descriptor, index, isPromiscuous ? 1 : 0) == 0 else { return }
    watch.turn(to: index)
    isWaiting = false
    lastLook = milliseconds()
    events.append(.interfaceBack(device))
  }

  /// From now on only what is in the ring is read; the kernel is told to accept nothing more.
  private func beginDrain(_ error: CaptureError?) {
    let isFrozen = imdump_accept_nothing(handle.descriptor) == 0
    counters.update(handle.pointer)
    drain = Drain(began: milliseconds(), isFrozen: isFrozen, error: error)
  }

  /// Hands out packets that are left; ends when there can be none, throwing what ended the capture if it was no stop.
  private func nextLeft(_ drain: Drain, _ body: (RawSpan, Span<PacketRecord>) -> Void) throws(CaptureError) -> Bool {
    while milliseconds() &- drain.began < Self.drainLimit {
      let late = batch.pointee.records.statistics.afterStop
      dispatch()
      if batch.pointee.records.count > 0 {
        batch.pointee.hand(to: body)
        return true
      }
      // All read; or so late that the packets come from after the stop; or nothing for as long as a block can live.
      if drain.isFrozen, milliseconds() &- drain.began >= 20 {
        counters.update(handle.pointer)
        if let accepted = counters.accepted, batch.pointee.seen >= accepted { break }
      }
      if !drain.isFrozen, batch.pointee.records.statistics.afterStop > late { break }
      if milliseconds() &- drain.began >= Self.quietTime { break }
      wait(20)
    }
    hasEnded = true
    if let error = drain.error { throw error }
    return false
  }
}

/// The monotonic clock, in milliseconds.
private func milliseconds() -> Int64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Int64(now.tv_sec) &* 1_000 &+ Int64(now.tv_nsec) / 1_000_000
}
