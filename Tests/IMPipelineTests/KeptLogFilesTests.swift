import Foundation
import IMDocuments
import IMShip
import Testing

@testable import IMFiles
@testable import IMPipeline

/// Which log files go when they have no more room together.
@Suite struct KeptLogFilesTests {
  private static func file(_ series: Int, _ number: Int, _ byteCount: UInt64 = 100) -> KeptLogFiles.File {
    KeptLogFiles.File(series: series, number: number, byteCount: byteCount, documents: 1)
  }

  @Test func whatWasShippedGoesFirst() {
    var kept = KeptLogFiles()
    for file in [Self.file(0, 1), Self.file(1, 1, 50), Self.file(0, 2), Self.file(1, 2)] { kept.add(file) }
    #expect(kept.byteCount == 350)
    #expect(kept.remove(1, 2) == Self.file(1, 2))
    #expect(kept.remove(1, 7) == nil)
    #expect(kept.byteCount == 250)
    #expect(kept.removeFirst { $0.series == 0 && $0.number == 2 } == Self.file(0, 2))
    #expect(kept.removeFirst { _ in false } == Self.file(0, 1))
    #expect(kept.removeFirst { _ in false } == Self.file(1, 1, 50))
    #expect(kept.removeFirst { _ in true } == nil && kept.byteCount == 0)
  }

  /// What `imdump ship` has of a file, and how many of its documents are lost with it.
  struct Sent: Sendable {
    var number: Int, offset: UInt64 = 0, lines: UInt64 = 0, held: UInt64 = 0
  }

  /// A folder that is written until its limit is passed, with a state of `imdump ship` or without one. Two documents fill a file.
  @Test(
    arguments: [
      (nil, 0), ([], 2), ([Sent(number: 1), Sent(number: 2, offset: 100, lines: 2)], 0),
      ([Sent(number: 1, offset: 50, lines: 1)], 1), ([Sent(number: 1, offset: 50, lines: 1, held: 1)], 0),
      ([Sent(number: 1, held: 1)], 1), ([Sent(number: 1, offset: 50, lines: 9, held: UInt64(Int64.max))], 0),
    ] as [([Sent]?, UInt64)])
  func theFolderStaysBelowItsLimit(_ sent: [Sent]?, _ lost: UInt64) throws {
    let path = NSTemporaryDirectory() + "imdump-total-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var options = LogOptions(folder: path)
    (options.byteCount, options.totalByteCount) = (100, 300)
    let folder = try LogFolder(options, run: "run")
    if let sent {
      var state = ShipState()
      state.files = sent.map {
        ShipState.File(
          name: "imdump.message.run-\($0.number).ndjson", identity: FileIdentity(inode: 1, first: 2), offset: $0.offset,
          tail: 3, lines: $0.lines, held: $0.held)
      }
      try FileManager.default.createDirectory(atPath: path + "/.ship", withIntermediateDirectories: true)
      try state.text.write(toFile: path + "/.ship/state", atomically: true, encoding: .utf8)
    }
    let document = [UInt8](repeating: UInt8(ascii: "x"), count: 49) + [10]
    for _ in 0..<8 { document.withUnsafeBytes { folder.write(.dataset(.message), $0) } }
    folder.turn()
    let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".ndjson") }.sorted()
    let isSecondSent = sent?.contains { $0.number == 2 } == true
    #expect(names == [isSecondSent ? 1 : 2, 3, 4].map { "imdump.message.run-\($0).ndjson" })
    // Without a state nobody ships the files, and nothing is lost.
    #expect(folder.losses.dropped == lost)
  }

  /// `--log-files` loses documents, too. The line with which each file begins is in all of them.
  @Test func whatTheNumberOfFilesLosesIsCounted() throws {
    let path = NSTemporaryDirectory() + "imdump-count-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var options = LogOptions(folder: path)
    (options.byteCount, options.fileCount) = (150, 2)
    let folder = try LogFolder(options, run: "run")
    let line = String(repeating: "x", count: 49) + "\n"
    folder.firstLine = { _ in line }
    var state = ShipState()
    // The first line and one document were sent.
    state.files = [
      ShipState.File(
        name: "imdump.message.run-1.ndjson", identity: FileIdentity(inode: 1, first: 2), offset: 100, tail: 3, lines: 2)
    ]
    try FileManager.default.createDirectory(atPath: path + "/.ship", withIntermediateDirectories: true)
    try state.text.write(toFile: path + "/.ship/state", atomically: true, encoding: .utf8)
    for _ in 0..<8 { Array(line.utf8).withUnsafeBytes { folder.write(.dataset(.message), $0) } }
    let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".ndjson") }.sorted()
    #expect(names == [3, 4].map { "imdump.message.run-\($0).ndjson" })
    #expect(folder.losses.dropped == 3)
  }
}
