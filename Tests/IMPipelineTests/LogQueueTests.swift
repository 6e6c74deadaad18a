import Dispatch
import IMDocuments
import Synchronization
import Testing

@testable import IMFiles
@testable import IMPipeline

/// A queue in front of a disk that the test lets write, or not.
@Suite struct LogQueueTests {
  /// The disk: writes once for each time that `gate` is let go.
  private final class Disk: Sendable {
    let gate = DispatchSemaphore(value: 0)
    let written = Mutex<[String]>([])

    func queue(_ limit: Int) -> LogQueue {
      LogQueue(limit: limit) { dataset, lines in
        self.gate.wait()
        self.written.withLock {
          $0.append(dataset.map { "\($0.name):" + String(decoding: lines, as: UTF8.self) } ?? "turn")
        }
        return LogFolder.Losses()
      }
    }

    func open() { for _ in 0..<1_000 { gate.signal() } }
  }

  private func write(_ text: String, _ queue: LogQueue, _ dataset: LogSeries = .dataset(.message)) -> Bool {
    var text = text
    return text.withUTF8 { queue.write(dataset, UnsafeRawBufferPointer($0)) }
  }

  @Test func everythingInOrder() {
    let disk = Disk()
    let queue = disk.queue(1_000)
    #expect(write("a\n", queue))
    #expect(write("b\n", queue, .dataset(.connection)))
    queue.turn()
    #expect(write("c\n", queue))
    disk.open()
    queue.finish(within: 60)
    #expect(
      disk.written.withLock { $0 } == ["imdump.message:a\n", "imdump.connection:b\n", "turn", "imdump.message:c\n"])
    #expect(queue.losses.dropped == 0)
    #expect(queue.losses.failed == 0)
  }

  @Test func noRoomIsALossThatCounts() {
    let disk = Disk()
    let queue = disk.queue(10)
    #expect(write("12345678\n", queue))
    // It has its room until it is written, whether or not the thread has taken it.
    #expect(!write("1\n2\n3\n", queue))
    #expect(queue.losses.dropped == 3)
    #expect(queue.losses.failed == 1)
    disk.open()
    queue.finish(within: 60)
    #expect(disk.written.withLock { $0 } == ["imdump.message:12345678\n"])
  }

  @Test func aDiskThatHangsEndsTheWait() {
    let disk = Disk()
    let queue = disk.queue(1_000)
    #expect(write("a\n", queue))
    #expect(write("b\nc\n", queue))
    queue.finish(within: 0)
    // The first lines are being written, or wait like the others.
    #expect([2, 3].contains(queue.losses.dropped))
    disk.open()
  }
}
