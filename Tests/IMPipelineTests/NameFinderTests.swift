import Foundation
import IMBrowser
import IMStore
import Testing

@testable import IMBrowse

/// Names of addresses: from a file, from what is kept, and from who knows.
@Suite struct NameFinderTests {
  /// Answers of itself, and counts what it is asked.
  private final class Witness: NameResolving {
    var asked: [String] = []
    var isSilent = false

    func names(of addresses: [String], isOver: () -> Bool) -> [String: ResolvedName] {
      #expect(addresses.count <= NameResolver.batchCount)
      asked += addresses
      return Dictionary(
        addresses.map { ($0, isSilent ? .unknown : $0.hasSuffix("7") ? .nameless : .named("host of \($0)")) }
      ) { first, _ in first }
    }
  }

  /// A folder of its own, which goes with it.
  private final class Scratch {
    private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("names-\(UUID().uuidString)")

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(at: folder) }

    /// An empty file.
    func file(_ name: String) throws -> String {
      let file = folder.appendingPathComponent(name)
      try Data().write(to: file)
      return file.path
    }
  }

  private static func store(_ folder: Scratch, _ name: String) throws -> String {
    let path = try folder.file(name)
    let writer = try StoreWriter(path, [], StoreOptions(captures: [], writer: "test", sessionLimit: 1))
    try writer.finish(isWhole: true)
    return path
  }

  private static let addresses = (0..<10_000).map { "10.1.\($0 / 250).\($0 % 250)" }

  /// What a browser does: at most 100 batches of 10,000 addresses, each of which is asked for once, and never by who comes next.
  @Test func eachAddressIsAskedForOnce() throws {
    let folder = try Scratch()
    let path = try Self.store(folder, "a.db")
    let witness = Witness()
    var now: Int64 = 1_760_000_000
    func browse() throws -> (batches: Int, named: Int) {
      let cache: NameCache = try #require(try NameCache(path))
      var finder = NameFinder(file: ["10.1.0.3": "mine"], cache: cache, resolver: witness, now: { now })
      var book = NameRegistry()
      var batches = 0
      book.want(Self.addresses + ["alice", "49147"])
      while let request = book.nextRequest() {
        batches += 1
        _ = book.accept(request, finder.names(of: request.ids))
        book.want(Self.addresses.prefix(50))
      }
      finder.keep()
      #expect(book.name(of: "10.1.0.3") == "mine" && book.name(of: "10.1.0.4") == "host of 10.1.0.4")
      #expect(book.name(of: "10.1.0.7") == nil && book.name(of: "alice") == nil)
      return (batches, Self.addresses.filter { book.name(of: $0) != nil }.count)
    }
    let first = try browse()
    let wanted = Self.addresses.filter { $0 != "10.1.0.3" }
    #expect(first.batches <= 101 && witness.asked.sorted() == wanted.sorted())
    #expect(first.named == Self.addresses.filter { !$0.hasSuffix("7") }.count)
    witness.asked = []
    #expect(try browse() == first && witness.asked.isEmpty)
    // That there is no name counts for a shorter time.
    now += NameCache.negativeLifetime
    #expect(try browse() == first)
    #expect(witness.asked.sorted() == wanted.filter { $0.hasSuffix("7") }.sorted())
    witness.asked = []
    now += NameCache.lifetime
    #expect(try browse() == first && witness.asked.count == wanted.count)
  }

  /// What stands in the file is told before anybody is asked; where nobody has to be, there is one answer.
  @Test func theFileDoesNotWait() {
    let witness = Witness()
    var finder = NameFinder(
      file: ["10.1.0.1": "mine", "alice": "Alice"], cache: nil, resolver: witness, now: { 1_760_000_000 })
    var told: [(names: [String: String], asked: Int)] = []
    let names = finder.names(of: ["10.1.0.1", "10.1.0.2", "alice"], known: { told.append(($0, witness.asked.count)) })
    #expect(told.count == 1 && told.first?.asked == 0)
    #expect(told.first?.names == ["10.1.0.1": "mine", "alice": "Alice"])
    #expect(names == ["10.1.0.1": "mine", "alice": "Alice", "10.1.0.2": "host of 10.1.0.2"])
    _ = finder.names(of: ["10.1.0.1", "alice"], known: { told.append(($0, 0)) })
    _ = finder.names(of: ["10.1.0.3"], known: { told.append(($0, 0)) })
    #expect(told.count == 1)
  }

  /// What nobody has answered is not kept.
  @Test func silenceIsNoAnswer() throws {
    let folder = try Scratch()
    let path = try Self.store(folder, "b.db")
    let witness = Witness()
    witness.isSilent = true
    for _ in 0..<2 {
      var finder = NameFinder(file: [:], cache: try NameCache(path), resolver: witness, now: { 1_760_000_000 })
      #expect(finder.names(of: ["10.1.0.1", "fd00::1"]).isEmpty)
      finder.keep()
    }
    #expect(witness.asked == ["10.1.0.1", "fd00::1", "10.1.0.1", "fd00::1"])
  }

  /// A store that was not written to its end keeps nothing: it may still be written.
  @Test func aStoreThatIsWrittenKeepsNothing() throws {
    let folder = try Scratch()
    let path = try folder.file("c.db")
    let writer = try StoreWriter(path, [], StoreOptions(captures: [], writer: "test", sessionLimit: 1))
    let cache = try NameCache(path)
    #expect(cache.map { _ in true } == nil)
    try writer.finish(isWhole: false)
    let later = try NameCache(path)
    #expect(later.map { _ in true } == nil)
  }

  @Test(arguments: [
    ("10.0.0.1", true), ("::1", true), ("fd00::101", true), ("alice", false), ("49147", false), ("", false),
    ("10.0.0", false), ("fe80::1%eth0", false),
  ])
  func addressesAreToldFromNames(_ text: String, _ isAddress: Bool) {
    #expect(NameResolver.isAddress(text) == isAddress)
  }
}
