import Foundation
import Glibc
import Testing

@testable import IMFiles
@testable import IMPipeline

/// Lines in a file on a disk that has no room, and has some again. A pipe that nobody reads is such a disk.
@Suite struct LogFileTests {
  /// A pipe that refuses what it has no room for.
  private final class Disk {
    let reader: Int32, writer: Int32

    init() throws {
      var ends: [Int32] = [0, 0]
      try #require(pipe(&ends) == 0)
      for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
      (reader, writer) = (ends[0], ends[1])
    }

    deinit { close(reader) }

    /// Takes up to `count` bytes, which makes room.
    func take(_ count: Int) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: count)
      return Array(bytes[..<max(0, read(reader, &bytes, count))])
    }

    /// Takes all there is.
    func takeAll() -> [UInt8] {
      var all: [UInt8] = []
      while true {
        let bytes = take(1 << 16)
        if bytes.isEmpty { return all }
        all += bytes
      }
    }
  }

  /// `count` lines of so many bytes, each with its number.
  private static func lines(_ numbers: Range<Int>, of byteCount: Int) -> [UInt8] {
    numbers.flatMap { number -> [UInt8] in
      let text = Array("\(number) ".utf8)
      return text + [UInt8](repeating: UInt8(ascii: "x"), count: byteCount - text.count - 1) + [10]
    }
  }

  private static func numbers(_ bytes: [UInt8]) -> [Int] {
    bytes.split(separator: 10).compactMap { Int(String(decoding: $0.prefix { $0 != 32 }, as: UTF8.self)) }
  }

  @Test(arguments: [60, 4_096, 5_000, 63_000])
  func noPartOfALineIsLost(_ byteCount: Int) throws {
    let disk = try Disk()
    let file = LogFile(descriptor: disk.writer)
    var read: [UInt8] = [], dropped: UInt64 = 0, next = 0, hasFailed = false
    // More than the disk has room for, again and again; some is read in between, and at the end all.
    for round in 0..<40 {
      let count = max(1, 30_000 / byteCount)
      let outcome = Self.lines(next..<next + count, of: byteCount).withUnsafeBytes { file.append($0) }
      next += count
      dropped += outcome.dropped
      hasFailed = hasFailed || outcome.errno == EAGAIN
      if round % 3 == 2 { read += disk.take(8_192 * (round % 5)) }
    }
    read += disk.takeAll()
    let outcome = file.close()
    dropped += outcome.dropped
    read += disk.takeAll()
    #expect(hasFailed)
    #expect(outcome.errno == 0)
    #expect(read.last == 10)
    #expect(file.byteCount == read.count)
    let found = Self.numbers(read)
    #expect(read.split(separator: 10).allSatisfy { $0.count == byteCount - 1 })
    #expect(found == found.sorted() && Set(found).count == found.count)
    #expect(UInt64(next) == UInt64(found.count) + dropped)
    #expect(dropped > 0)
  }

  @Test func aDiskWithoutRoomLosesAllAndSaysSo() throws {
    let descriptor = open("/dev/full", O_WRONLY | O_CLOEXEC)
    try #require(descriptor >= 0)
    let file = LogFile(descriptor: descriptor)
    let outcome = Self.lines(0..<7, of: 50).withUnsafeBytes { file.append($0) }
    #expect(outcome.errno == ENOSPC)
    #expect(outcome.dropped == 7)
    #expect(file.byteCount == 0)
  }
}
