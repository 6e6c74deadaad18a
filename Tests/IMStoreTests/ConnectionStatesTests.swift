import IMTestSupport
import Testing

@testable import IMStore

/// States of connections reach their rows, whichever of the two comes first.
@Suite struct ConnectionStatesTests {
  private static func database(_ rows: some Sequence<UInt32>) throws -> Connection {
    let database = try Connection(":memory:", .writing)
    try database.run("CREATE TABLE connection (id INTEGER PRIMARY KEY, state TEXT)", "test")
    try add(rows, to: database)
    return database
  }

  private static func add(_ rows: some Sequence<UInt32>, to database: Connection) throws {
    var add = try database.prepare("INSERT INTO connection (id) VALUES (?1)", "test")
    for row in rows {
      add.bind(1, Int64(row))
      try add.run()
    }
  }

  /// Adds a row with the state that waits for it, as rows of connections are written.
  private static func add(
    _ serial: UInt32, taking states: inout ConnectionStates, to database: Connection
  ) throws {
    var add = try database.prepare("INSERT INTO connection VALUES (?1, ?2)", "test")
    add.bind(1, Int64(serial))
    add.bind(2, states.take(serial)?.rawValue)
    try add.run()
  }

  /// The states of rows; empty for one that has none.
  private static func read(_ database: Connection) throws -> [UInt32: String] {
    var found: [UInt32: String] = [:]
    var read = try database.prepare("SELECT id, state FROM connection", "test")
    while try read.step() {
      found[UInt32(read.row.number(0) ?? 0)] = read.row.text(1) ?? ""
    }
    return found
  }

  /// As many states come between two writings as a capture of many short connections has: each is there.
  @Test func noneIsLost() throws {
    let count: UInt32 = 150_000
    let database = try Self.database(1...count)
    var states = try ConnectionStates(database)
    var expected: [UInt32: String] = [:]
    for serial in 1...count {
      let state = ConnectionState.allCases[Int(serial) % ConnectionState.allCases.count]
      states.note(serial, state)
      expected[serial] = state.rawValue
    }
    #expect(states.count == Int(count))
    try states.flush()
    #expect(states.count == 0)
    let isSame = try Self.read(database) == expected
    #expect(isSame)
  }

  /// Drawn orders of states and rows, against a model: the last state that was told of a connection is in its row.
  @Test(arguments: 1...20) func anyOrder(_ seed: UInt64) throws {
    var random = SeededRandom(seed)
    let database = try Self.database([UInt32]())
    var states = try ConnectionStates(database)
    var told: [UInt32: ConnectionState] = [:]
    var rows: Set<UInt32> = []
    for _ in 0..<400 {
      let serial = UInt32(random.next() % 40)
      switch random.next() % 5 {
      case 0 where !rows.contains(serial):
        try Self.add(serial, taking: &states, to: database)
        rows.insert(serial)
      case 1: try states.flush()
      default:
        let state = random.one(of: ConnectionState.allCases)
        states.note(serial, state)
        told[serial] = state
      }
    }
    try states.flush()
    var expected: [UInt32: String] = [:]
    for row in rows { expected[row] = told[row]?.rawValue ?? "" }
    #expect(try Self.read(database) == expected)
  }

  /// States of connections that never have a row are not kept for good; the latest ones are.
  @Test func memoryIsBounded() throws {
    let database = try Self.database([UInt32]())
    var states = try ConnectionStates(database)
    for serial in UInt32(1)...100_000 { states.note(serial, .closed) }
    try states.flush()
    let late: [UInt32] = [1, 99_999, 100_000]
    for serial in late { try Self.add(serial, taking: &states, to: database) }
    try states.flush()
    #expect(try Self.read(database) == [1: "", 99_999: "closed", 100_000: "closed"])
  }
}
