import Dispatch
import Glibc
import IMCapture
import IMDescriptors
import IMWire
import Synchronization
import Testing

/// Whether this process may capture on the loopback; the tests that need it are skipped otherwise.
private let mayCapture = (try? LiveCapture(device: "lo")) != nil

/// A UDP socket on the loopback that sends to itself.
final class Loopback: Sendable {
  let descriptor: Int32
  let port: UInt16
  let isDone = Atomic<Bool>(false)

  init() {
    descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    port = withUnsafeMutableBytes(of: &address) { [descriptor] bytes in
      let generic = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
      precondition(bind(descriptor, generic, length) == 0 && getsockname(descriptor, generic, &length) == 0)
      precondition(connect(descriptor, generic, length) == 0)
      return UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    }
  }

  deinit { close(descriptor) }

  /// Sends until `isDone`.
  func flood() { while !isDone.load(ordering: .relaxed) { send(100) } }

  func send(_ count: Int) {
    for number in 0..<count {
      _ = withUnsafeBytes(of: UInt32(number)) { Glibc.send(descriptor, $0.baseAddress, 4, Int32(MSG_DONTWAIT)) }
    }
  }
}

private func seconds() -> Double {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return Double(now.tv_sec) + Double(now.tv_nsec) / 1e9
}

@Suite(.serialized, .enabled(if: mayCapture, "lo is down, or nobody here may capture on it")) struct LiveTests {
  /// Every packet sent before the stop is handed out, though the kernel has not finished its block.
  @Test(arguments: [1, 10, 1_000, 30_000]) func drainsAfterStop(count: Int) throws {
    let loopback = Loopback()
    var options = LiveOptions()
    options.filter = "udp port \(loopback.port)"
    let capture = try LiveCapture(device: "lo", options: options)
    loopback.send(count)
    capture.stop()
    let start = seconds()
    loopback.send(50)
    var reading = Reading()
    read(capture, &reading)
    #expect(reading.error == nil)
    #expect(reading.packets.count == count)
    #expect(reading.packets.map(\.number) == (0..<count).map { UInt64($0 + 1) })
    let wanted: [UInt8?] = (0..<count).map { number in UInt8(truncatingIfNeeded: number) }
    #expect(reading.packets.map { $0.bytes.suffix(4).first } == wanted)
    #expect(seconds() - start < 1)
    let statistics = reading.statistics
    #expect(statistics.droppedByKernel == 0)
    #expect(statistics.received == statistics.delivered + statistics.afterStop)
    #expect(statistics.filteredOut == nil)
    #expect(reading.interfaces.map(\.name) == ["lo"])
    #expect(reading.interfaces.map(\.linkType) == [1])
  }

  /// Ends within a second while packets come as fast as they can.
  @Test func endsUnderLoad() throws {
    let loopback = Loopback()
    var options = LiveOptions()
    options.filter = "udp port \(loopback.port)"
    let capture = try LiveCapture(device: "lo", options: options)
    // A thread of its own: those of tasks may all be taken by other tests.
    let flood = DispatchGroup()
    DispatchQueue(label: "flood").async(group: flood) { loopback.flood() }
    let start = seconds()
    var stopped = 0.0, count: UInt64 = 0
    while try capture.nextBatch({ _, records in count += UInt64(records.count) }) {
      if stopped == 0, count > 20_000 || seconds() - start > 10 {
        capture.stop()
        stopped = seconds()
      }
    }
    #expect(seconds() - stopped < 1)
    loopback.isDone.store(true, ordering: .relaxed)
    flood.wait()
    let statistics = capture.statistics
    #expect(count > 1_000)
    #expect(statistics.delivered == count)
    let known = statistics.delivered + statistics.afterStop + (statistics.droppedByKernel ?? 0)
    #expect(statistics.received == known)
  }

  /// A quiet line gives empty batches, so that the caller can look at its clock.
  @Test func quietLine() throws {
    var options = LiveOptions()
    options.filter = "udp port 1 and ether[0] = 77"
    let capture = try LiveCapture(device: "lo", options: options)
    let start = seconds()
    for _ in 0..<3 {
      var count = 0
      #expect(try capture.nextBatch { count = $1.count })
      #expect(count == 0)
    }
    #expect(seconds() - start < 1)
  }

  @Test func anyDevice() throws {
    let loopback = Loopback()
    var options = LiveOptions()
    options.filter = "udp port \(loopback.port)"
    let capture = try LiveCapture(device: "any", options: options)
    loopback.send(20)
    capture.stop()
    var reading = Reading()
    read(capture, &reading)
    #expect(reading.packets.count == 20)
    #expect(reading.interfaces[0].linkType == 276)
    // The protocol stands first in that header, and the type of packet at 10: 0 is one for this machine.
    #expect(reading.packets.allSatisfy { Array($0.bytes[0..<2]) == [0x08, 0x00] && $0.bytes[10] == 0 })
  }

  @Test func rejections() {
    #expect(throws: CaptureError(.noDevice, "capture on nosuch0", "no such device")) {
      try LiveCapture(device: "nosuch0")
    }
    var options = LiveOptions()
    options.filter = "tcp prot 5"
    do throws(CaptureError) {
      _ = try LiveCapture(device: "lo", options: options)
      Issue.record("a bad filter was taken")
    } catch {
      #expect(error.code == .badFilter)
    }
  }

  @Test func devices() throws {
    let loopback = try captureDevices().first { $0.name == "lo" }
    #expect(loopback?.isLoopback == true)
    #expect(loopback?.isUp == true)
    #expect(loopback?.addresses.contains(IPAddress(v4: 0x7f00_0001)) == true)
  }
}
