import IMWire
import Testing

@testable import IMStore

/// Host names that a store caches.
@Suite struct NameCacheTests {
  private static let now: Int64 = 1_760_000_000

  private static func entry(_ key: String, _ name: String?, at: Int64 = now) -> NameCache.Entry {
    NameCache.Entry(key: key, name: name, source: "dns", at: at)
  }

  @Test func whatWasLearntLastIsKnown() throws {
    let store = try MadeStore([])
    let entries = [Self.entry("192.0.2.1", "one"), Self.entry("192.0.2.2", nil), Self.entry("2001:db8::1", "'; DROP")]
    let cache = try #require(try NameCache(store.path))
    try cache.add([])
    try cache.add(entries)
    try cache.add([Self.entry("192.0.2.1", "one again", at: Self.now + 1)])
    // Another process reads the same.
    for cache in [cache, try #require(try NameCache(store.path))] {
      let found = try cache.entries(of: ["192.0.2.1", "192.0.2.2", "2001:db8::1", "192.0.2.9", ""], at: Self.now + 1)
      #expect(found["192.0.2.1"] == Self.entry("192.0.2.1", "one again", at: Self.now + 1))
      #expect(found["192.0.2.2"] == entries[1] && found["2001:db8::1"] == entries[2] && found.count == 3)
    }
    #expect(try store.rows("SELECT count(*) FROM name_cache") == ["3"])
  }

  /// A name is valid for a week, and the absence of a name for an hour.
  @Test(
    arguments: [
      ("one", 0, true), ("one", 604_799, true), ("one", 604_800, false), (nil, 0, true), (nil, 3_599, true),
      (nil, 3_600, false), ("one", -60, true),
    ] as [(String?, Int64, Bool)])
  func namesHaveALifetime(_ name: String?, _ age: Int64, _ isKnown: Bool) throws {
    let store = try MadeStore([])
    let cache = try #require(try NameCache(store.path))
    try cache.add([Self.entry("192.0.2.1", name)])
    #expect(try cache.entries(of: ["192.0.2.1"], at: Self.now + age).isEmpty == !isKnown)
  }

  /// No stored time of a name causes a trap.
  @Test(
    arguments: [
      ("-9223372036854775808", false), ("9223372036854775807", true), ("'yesterday'", false), ("x'00'", false),
    ])
  func timesMayBeAnything(_ at: String, _ isKnown: Bool) throws {
    let store = try MadeStore([])
    try store.run("INSERT INTO name_cache VALUES ('192.0.2.1', 'one', 'dns', \(at))")
    let cache = try #require(try NameCache(store.path))
    #expect(try cache.entries(of: ["192.0.2.1"], at: Self.now).isEmpty == !isKnown)
    try cache.add([Self.entry("192.0.2.1", "two")])
    #expect(try cache.entries(of: ["192.0.2.1"], at: Self.now)["192.0.2.1"]?.name == "two")
  }

  /// A store that is being written, or is incomplete, has no cache.
  @Test func anUnfinishedStoreHasNone() throws {
    let cut = try MadeStore([], isWhole: false)
    #expect(try NameCache(cut.path) == nil)
    let (store, writer) = try MadeStore.begun()
    #expect(try NameCache(store.path) == nil)
    try writer.finish(isWhole: true)
    #expect(try NameCache(store.path) != nil)
  }
}
