import Foundation
import Testing

@testable import IMStore

/// What a reader reads at once is of one moment, whatever is written meanwhile.
@Suite struct SnapshotTests {
  @Test func whatIsReadAtOnceIsOfOneMoment() throws {
    let path = NSTemporaryDirectory() + "imdump-snapshot-\(UUID().uuidString).db"
    defer { for end in ["", "-wal", "-shm"] { unlink(path + end) } }
    let writer = try Connection(path, .writing)
    try writer.run("PRAGMA journal_mode = WAL; CREATE TABLE t (n); INSERT INTO t VALUES (1)", "test")
    let reader = StoreReader(try Connection(path, .reading))
    func count() throws(StoreError) -> Int64? { try reader.database.number("SELECT count(*) FROM t", "test") }
    func add() throws(StoreError) { try writer.run("INSERT INTO t VALUES (2)", "test") }

    let seen = try reader.atOnce { () throws(StoreError) in
      let before = try count()
      try add()
      return [before, try reader.atOnce(count), try count()]
    }
    #expect(seen == [1, 1, 1])
    #expect(try count() == 2)
    // One that fails has ended all the same.
    #expect(throws: StoreError.self) {
      try reader.atOnce { () throws(StoreError) in try reader.database.run("no statement", "test") }
    }
    try add()
    #expect(try count() == 3 && !reader.database.isInTransaction)
  }
}
