import Foundation
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine
@testable import IMStore

/// A store in its own folder that a writer has made of messages, and its tables as read with plain SQL.
struct MadeStore {
  let folder: Scratch
  let path: String

  /// A writer, and the store that it has begun.
  static func begun(
    captures: [StoreOptions.Capture] = [StoreOptions.Capture(path: "a.pcap", byteCount: 1_000)],
    _ change: (inout StoreOptions) -> Void = { _ in }
  ) throws -> (store: MadeStore, writer: StoreWriter) {
    let store = try MadeStore()
    var options = StoreOptions(captures: captures, writer: "imdump test")
    change(&options)
    let writer = try StoreWriter(store.path, Sent.plans, options)
    return (store, writer)
  }

  /// An empty file.
  private init() throws {
    folder = try Scratch(isInMemory: true)
    path = try folder.file("a.db", [])
  }

  /// The store of these messages, which are written in one batch.
  init(
    _ messages: [Sent], captures: [StoreOptions.Capture] = [StoreOptions.Capture(path: "a.pcap", byteCount: 1_000)],
    isWhole: Bool = true, _ change: (inout StoreOptions) -> Void = { _ in },
    batch more: (inout StoreBatch) -> Void = { _ in }
  ) throws {
    let (store, writer) = try Self.begun(captures: captures, change)
    var batch = StoreBatch()
    for message in messages { batch.add(message.facts) }
    more(&batch)
    try writer.write(batch)
    try writer.finish(isWhole: isWhole)
    self = store
  }

  /// Adds another store to this one, as `imdump index --append` does; returns how many messages were added.
  @discardableResult
  func add(_ other: MadeStore) throws -> Int64 {
    try StoreMerge(path, called: "a.db").add(other.path)
  }

  var reader: StoreReader { get throws { try StoreReader(path) } }

  /// The rows of a statement's result: columns separated by a bar, `-` for NULL.
  func rows(_ sql: String) throws -> [String] {
    var statement = try Connection(path, .reading).prepare(sql, "test")
    let columns = Int32(statement.columns.count)
    var rows: [String] = []
    while try statement.step() {
      rows.append((0..<columns).map { Self.text(statement.row[$0]) }.joined(separator: "|"))
    }
    return rows
  }

  private static func text(_ value: StoreRows.Value) -> String {
    switch value {
    case .null: "-"
    case .integer(let value): "\(value)"
    case .real(let value): "\(value)"
    case .text(let bytes), .blob(let bytes): String(decoding: bytes, as: UTF8.self)
    }
  }

  /// Changes the file without its writer.
  func run(_ sql: String) throws { try Connection(path, .changing).run(sql, "test") }

  /// The bytes of the file.
  var bytes: [UInt8] { get throws { [UInt8](try Data(contentsOf: URL(filePath: path))) } }
}

extension StoreReader {
  /// The numbers of the messages that match a selection.
  func ids(_ choice: PageChoice = PageChoice()) throws -> [Int64] {
    try messages(after: 0, choice, count: 1_000).map(\.id)
  }
}
