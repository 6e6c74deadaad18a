import Foundation
import Glibc
import IMCapture
import IMDescriptors
import IMWire
import Testing

@testable import IMFiles
@testable import IMPipeline
@testable import IMRun

/// Files that follow one another: which packets stand in which. `Scripts/check-live` holds them against tcpdump's.
@Suite struct CaptureOutputTests {
  /// Runs `body` with the path of an empty folder.
  private func inFolder(_ body: (String) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "imdump-files-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try body(folder.path)
  }

  /// Writes packets of 10 bytes, the first one full of 0, at these seconds; how many belong to the run.
  private func write(_ seconds: [Int64], _ output: CaptureOutput) throws(CaptureError) -> Int {
    var bytes: [UInt8] = [], records: [PacketRecord] = []
    for (i, second) in seconds.enumerated() {
      records.append(
        PacketRecord(
          timestamp: Timestamp(nanoseconds: second * 1_000_000_000), number: UInt64(i + 1), offset: UInt32(bytes.count),
          capturedLength: 10, originalLength: 10, linkType: 1, interface: 0))
      bytes += [UInt8](repeating: UInt8(truncatingIfNeeded: i), count: 10)
    }
    return try output.write(records.span, bytes.span.bytes)
  }

  /// The first byte of each packet in each file.
  private func files(_ folder: String) throws -> [String: [UInt8]] {
    var found: [String: [UInt8]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let source = try CaptureFile(path: folder + "/" + name)
      found[name] = []
      while try source.nextBatch({ bytes, records in
        for i in records.indices {
          found[name]?.append(bytes.unsafeLoad(fromByteOffset: Int(records[i].offset), as: UInt8.self))
        }
      }) {}
    }
    return found
  }

  private func rotation(bytes: UInt64? = nil, seconds: Int64? = nil, count: Int? = nil) -> RotationOptions {
    var options = RotationOptions()
    options.byteCount = bytes
    options.seconds = seconds
    options.fileCount = count
    return options
  }

  @Test func packetsStandInTheFilesOfTheirTimes() throws {
    try inFolder { folder in
      let output = try CaptureOutput(path: folder + "/%s", rotation: rotation(seconds: 10))
      // Back in time: in the file that is open. A long silence: no files for it.
      #expect(try write([1_003, 1_009, 1_010, 1_008, 1_019, 5_000_000], output) == 6)
      try output.close()
      #expect(try files(folder) == ["1003": [0, 1], "1010": [2, 3, 4], "5000000": [5]])
    }
  }

  @Test func theRunEndsBehindSoManyFiles() throws {
    try inFolder { folder in
      let output = try CaptureOutput(path: folder + "/%s", rotation: rotation(seconds: 10, count: 2))
      #expect(try write([1_003, 1_010, 1_020, 1_021], output) == 2)
      try output.close()
      #expect(try files(folder) == ["1003": [0], "1010": [1]])
    }
  }

  @Test func theClockEndsAFileWithoutAPacket() throws {
    try inFolder { folder in
      let output = try CaptureOutput(path: folder + "/%s", rotation: rotation(seconds: 10, count: 2))
      #expect(try write([1_003], output) == 1)
      // Not before a second has passed: a packet of before may still come.
      #expect(try output.advance(to: Timestamp(seconds: 1_010, fraction: 999_999_999)))
      #expect(try write([1_009], output) == 1)
      #expect(try output.advance(to: Timestamp(seconds: 1_011, fraction: 0)))
      #expect(try output.advance(to: Timestamp(seconds: 1_021, fraction: 0)) == false)
      #expect(try files(folder) == ["1003": [0, 0], "1010": []])
    }
  }

  @Test func theFirstFileIsWrittenAgain() throws {
    try inFolder { folder in
      // A header and two packets are 76 bytes.
      let output = try CaptureOutput(path: folder + "/f", rotation: rotation(bytes: 60, count: 3))
      #expect(try write([0, 0, 0], output) == 3)
      try output.flush()
      let first = open(folder + "/f0", O_RDONLY)
      defer { close(first) }
      #expect(try write([0, 0, 0, 0, 0], output) == 5)
      try output.close()
      // 0 1 | 2 0 | 1 2 | 3 4, and the fourth has the name of the first.
      #expect(try files(folder) == ["f0": [3, 4], "f1": [2, 0], "f2": [1, 2]])
      // Who had the first one open still has it whole.
      var status = stat()
      #expect(fstat(first, &status) == 0 && status.st_size == 76 && status.st_nlink == 0)
    }
  }

  @Test func noLinkIsFollowed() throws {
    try inFolder { folder in
      let victim = folder + "/victim"
      try "untouched".write(toFile: victim, atomically: true, encoding: .utf8)
      #expect(symlink(victim, folder + "/f1") == 0)
      let output = try CaptureOutput(path: folder + "/f", rotation: rotation(bytes: 10))
      #expect(throws: CaptureError(.ioError, folder + "/f1", "is not a file that can be replaced")) {
        _ = try write([0, 0, 0], output)
      }
      #expect(try String(contentsOfFile: victim, encoding: .utf8) == "untouched")
    }
  }

  /// A folder that is renamed takes its files with it.
  @Test func filesStayInTheFolderThatWasOpened() throws {
    try inFolder { parent in
      let folder = parent + "/a"
      #expect(mkdir(folder, 0o700) == 0)
      let output = try CaptureOutput(path: folder + "/f", rotation: rotation(bytes: 10))
      #expect(try write([0], output) == 1)
      #expect(rename(folder, parent + "/b") == 0 && mkdir(folder, 0o700) == 0)
      #expect(try write([0], output) == 1)
      try output.close()
      #expect(try files(parent + "/b").keys.sorted() == ["f", "f1"])
      #expect(try files(folder).isEmpty)
    }
  }
}
