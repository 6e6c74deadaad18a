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
    kept.remove(1, 2)
    kept.remove(1, 7)
    #expect(kept.byteCount == 250)
    #expect(kept.removeFirst { $0.series == 0 && $0.number == 2 } == Self.file(0, 2))
    #expect(kept.removeFirst { _ in false } == Self.file(0, 1))
    #expect(kept.removeFirst { _ in false } == Self.file(1, 1, 50))
    #expect(kept.removeFirst { _ in true } == nil && kept.byteCount == 0)
  }

  /// A folder that is written until its limit is passed, with a state of `imdump ship` or without one.
  @Test(arguments: [nil, [:], ["imdump.message.run-1.ndjson": UInt64(0), "imdump.message.run-2.ndjson": 100]])
  func theFolderStaysBelowItsLimit(_ sent: [String: UInt64]?) throws {
    let path = NSTemporaryDirectory() + "imdump-total-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    var options = LogOptions(folder: path)
    (options.byteCount, options.totalByteCount) = (100, 300)
    let folder = try LogFolder(options, run: "run")
    if let sent {
      var state = ShipState()
      state.files = sent.map {
        ShipState.File(name: $0.key, identity: FileIdentity(inode: 1, first: 2), offset: $0.value, tail: 3)
      }
      try FileManager.default.createDirectory(atPath: path + "/.ship", withIntermediateDirectories: true)
      try state.text.write(toFile: path + "/.ship/state", atomically: true, encoding: .utf8)
    }
    // Two documents fill a file.
    let document = [UInt8](repeating: UInt8(ascii: "x"), count: 49) + [10]
    for _ in 0..<8 { document.withUnsafeBytes { folder.write(.dataset(.message), $0) } }
    folder.turn()
    let names = try FileManager.default.contentsOfDirectory(atPath: path).filter { $0.hasSuffix(".ndjson") }.sorted()
    let isSecondSent = sent?["imdump.message.run-2.ndjson"] != nil
    #expect(names == [isSecondSent ? 1 : 2, 3, 4].map { "imdump.message.run-\($0).ndjson" })
    // Only where the state says that nothing of a file was sent, its documents are known to be lost.
    #expect(folder.losses.dropped == (sent == [:] ? 2 : 0))
  }
}
