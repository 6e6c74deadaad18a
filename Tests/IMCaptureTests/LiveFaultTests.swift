import Glibc
import IMCapture
import IMDescriptors
import Testing

/// Runs `ip` with arguments; whether it succeeded.
@discardableResult private func ip(_ arguments: String...) -> Bool {
  var process: pid_t = 0
  var list: [UnsafeMutablePointer<CChar>?] = (["ip"] + arguments).map { strdup($0) }
  list.append(nil)
  defer { for text in list { free(text) } }
  guard posix_spawnp(&process, "ip", nil, nil, list, environ) == 0 else { return false }
  var status: Int32 = 0
  return waitpid(process, &status, 0) == process && status == 0
}

/// Makes a pair of virtual interfaces for `body`, which gets the name of one; nil when that is not permitted.
private func withPair<T>(_ name: String, _ body: (String) throws -> T) rethrows -> T? {
  guard ip("link", "add", name, "type", "veth", "peer", "name", name + "p") else { return nil }
  defer { ip("link", "del", name) }
  ip("link", "set", name, "up")
  ip("link", "set", name + "p", "up")
  return try body(name)
}

/// Whether interfaces can be made and captured on; the test is skipped otherwise.
private func mayMakeInterfaces() -> Bool {
  withPair("imt\(getpid() % 100_000)q") { (try? LiveCapture(device: $0)) != nil } ?? false
}

@Suite(.serialized, .enabled(if: mayMakeInterfaces(), "making virtual interfaces is not permitted here"))
struct LiveFaultTests {
  /// Down and up are events, deletion is an error, and the capture works in between.
  @Test func downUpGone() throws {
    let result: Void? = try withPair("imt\(getpid() % 100_000)") { try downUpGone($0) }
    #expect(result != nil)
  }

  private func downUpGone(_ name: String) throws {
    let capture = try LiveCapture(device: name)
    func nextEvents() throws -> [CaptureEvent] {
      for _ in 0..<30 {
        #expect(try capture.nextBatch { _, _ in })
        let events = capture.takeEvents()
        if !events.isEmpty { return events }
      }
      return []
    }
    ip("link", "set", name, "down")
    #expect(try nextEvents() == [.interfaceDown(name)])
    ip("link", "set", name, "up")
    #expect(try nextEvents() == [.interfaceUp(name)])
    ip("link", "del", name)
    var reading = Reading()
    read(capture, &reading)
    #expect(reading.error == CaptureError(.deviceGone, "capture on \(name)", "the interface disappeared"))
  }
}
