import Foundation
import IMShip
import Testing

@testable import IMDelivery

/// Which files `imdump ship` finds, and which of them were gone before they were sent.
@Suite struct ShipFilesTests {
  /// A folder whose files end with the test.
  private final class Folder {
    let path = NSTemporaryDirectory() + "imdump-ship-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    func write(_ name: String, _ lines: Int) throws {
      try String(repeating: "{\"name\":\"\(name)\"}\n", count: lines).write(
        toFile: "\(path)/\(name)", atomically: true, encoding: .utf8)
    }

    func move(_ name: String, to other: String) throws {
      try FileManager.default.moveItem(atPath: "\(path)/\(name)", toPath: "\(path)/\(other)")
    }

    func remove(_ name: String) throws { try FileManager.default.removeItem(atPath: "\(path)/\(name)") }
  }

  @Test func aFileThatIsGoneIsLostOnce() throws {
    let folder = try Folder()
    try folder.write("a.ndjson", 3)
    try folder.write("b.ndjson", 3)
    let files = ShipFiles([folder.path], form: .ecs)
    try files.scan(ShipState())
    #expect(files.pendingBytes == UInt64(2 * 3 * "{\"name\":\"a.ndjson\"}\n".utf8.count))
    try folder.move("a.ndjson", to: "c.ndjson")
    try files.scan(ShipState())
    #expect(files.lost.files == 0 && files.files.map(\.name).sorted() == ["b.ndjson", "c.ndjson"])
    try folder.remove("c.ndjson")
    try files.scan(ShipState(), isSending: true)
    #expect(files.lost.files == 1 && files.files.count == 2)
    try files.scan(ShipState())
    #expect(files.lost.files == 1 && files.files.map(\.name) == ["b.ndjson"])
  }

  /// What a batch holds is sent though its file is gone.
  @Test func whatIsInMemoryIsNotLost() throws {
    let folder = try Folder()
    try folder.write("a.ndjson", 3)
    let files = ShipFiles([folder.path], form: .ecs)
    try files.scan(ShipState())
    var batch = ShipBatch(form: .ecs)
    files.fill(&batch, limit: 1 << 20)
    #expect(files.state.map { [$0.lines, $0.held] } == [[0, 3]])
    try folder.remove("a.ndjson")
    // One that appears meanwhile comes behind those of the batch.
    try folder.write("b.ndjson", 1)
    try files.scan(ShipState(), isSending: true)
    #expect(files.lost.files == 0 && files.files.map(\.name) == ["a.ndjson", "b.ndjson"])
    files.advance(batch.progress)
    #expect(files.state.map { [$0.lines, $0.held] } == [[3, 0], [0, 0]])
    try files.scan(ShipState())
    #expect(files.lost.files == 0 && files.files.map(\.name) == ["b.ndjson"])
  }

  /// An earlier process held lines of a file, of which nothing was sent, and the file is gone: its first line is in every file.
  @Test(arguments: [(UInt64(0), UInt64(4), UInt64(3)), (2, 4, 4), (0, 0, 0)])
  func whatAnEarlierProcessHeldIsLost(_ lines: UInt64, _ held: UInt64, _ lost: UInt64) throws {
    let folder = try Folder()
    try folder.write("a.ndjson", 3)
    var state = ShipState()
    state.files = [
      ShipState.File(
        name: "gone.ndjson", identity: FileIdentity(inode: 1, first: 2), offset: 10, tail: 0, lines: lines, held: held,
        size: 90),
      ShipState.File(name: "sent.ndjson", identity: FileIdentity(inode: 3, first: 4), offset: 90, tail: 0, size: 90),
    ]
    let files = ShipFiles([folder.path], form: .ecs)
    try files.scan(state)
    #expect(files.lost.files == 1 && files.lost.lines == lost)
    try files.scan(state)
    #expect(files.lost.files == 1 && files.lost.lines == lost)
    // Of files that were not named, nothing is known.
    let named = ShipFiles([folder.path + "/a.ndjson"], form: .ecs)
    try named.scan(state)
    #expect(named.lost.files == 0)
  }
}
