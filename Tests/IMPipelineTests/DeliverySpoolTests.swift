import Foundation
import IMTestSupport
import Testing

@testable import IMDelivery
@testable import IMPipeline

/// The folder for what cannot be delivered: against a list in memory, over restarts, and with files that nobody here wrote.
@Suite struct DeliverySpoolTests {
  private static func folder(_ body: (String) throws -> Void) throws {
    let path = NSTemporaryDirectory() + "imdump-spool-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }

  /// Opens a spool again. A program that another test is just starting may still have the lock, until it runs.
  private static func open(_ path: String, _ limit: Int64) throws -> DeliverySpool {
    for _ in 0..<10_000 {
      do throws(DeliverySpool.SpoolError) { return try DeliverySpool(path, maximumBytes: limit) } catch {
        guard error.words == "in use by another run" else { throw error }
      }
      _ = poll(nil, 0, 2)
    }
    return try DeliverySpool(path, maximumBytes: limit)
  }

  private static let ways = ["a", "b"].map { DeliverySpool.way([$0]) }

  /// Random calls against a list, with the spool opened again now and then.
  @Test func itIsAListThatSurvives() throws {
    try Self.folder { path in
      var random = SeededRandom(5)
      let limit: Int64 = 20_000
      var model: [(way: String, entry: DeliverySpool.Entry, size: Int64)] = []
      var spool: DeliverySpool? = try DeliverySpool(path, maximumBytes: limit)
      var dropped = 0
      for step in 0..<400 {
        let way = Self.ways.randomElement(using: &random) ?? ""
        switch Int.random(in: 0..<10, using: &random) {
        case 0:
          // The lock goes with the process's last reference.
          spool = nil
          spool = try Self.open(path, limit)
        case 1..<6:
          let entry = DeliverySpool.Entry(
            key: "k\(step)",
            body: [UInt8](repeating: UInt8(step & 127), count: Int.random(in: 0..<3_000, using: &random)),
            environment: step % 3 == 0 ? ["IMDUMP_ALERT_STATE=firing", "IMDUMP_ALERT_NAME=x y"] : [])
          // What a file has: four parts with their lengths.
          let size =
            4 * 4 + 14 + entry.key.utf8.count + entry.body.count
            + entry.environment.reduce(0) { $0 + $1.utf8.count + 1 }
          #expect(spool?.append(entry, way: way) == true)
          while model.reduce(0, { $0 + $1.size }) + Int64(size) > limit {
            model.removeFirst()
            dropped += 1
          }
          model.append((way, entry, Int64(size)))
        default:
          let first = spool?.first(of: way)
          #expect(first?.entry == model.first { $0.way == way }?.entry)
          guard let first else { continue }
          spool?.remove(name: first.name)
          model.remove(at: model.firstIndex { $0.way == way } ?? 0)
        }
        #expect(spool?.count == model.count)
        for way in Self.ways { #expect(spool?.count(of: way) == model.count { $0.way == way }) }
        let sizes = try FileManager.default.contentsOfDirectory(atPath: path).map {
          (try FileManager.default.attributesOfItem(atPath: path + "/" + $0)[.size] as? Int64) ?? 0
        }
        #expect(sizes.reduce(0, +) == model.reduce(0) { $0 + $1.size })
      }
      #expect(dropped > 10)
    }
  }

  @Test func oneProcessAtATime() throws {
    try Self.folder { path in
      let spool = try DeliverySpool(path, maximumBytes: 1 << 20)
      #expect(throws: DeliverySpool.SpoolError(words: "in use by another run")) {
        try DeliverySpool(path, maximumBytes: 1)
      }
      #expect(spool.count == 0)
      #expect(throws: DeliverySpool.SpoolError.self) { try DeliverySpool(path + "/none", maximumBytes: 1) }
    }
  }

  /// Names, links, pipes, large files and files of nonsense: none is delivered, none is deleted, nothing waits.
  @Test func filesOfOthersAreLeftAlone() throws {
    try Self.folder { path in
      let way = Self.ways[0]
      let good = try {
        let spool = try DeliverySpool(path, maximumBytes: 1 << 20)
        #expect(spool.append(DeliverySpool.Entry(key: "good", body: [1, 2]), way: way))
        return try #require(spool.first(of: way)).name
      }()
      func name(_ number: Int) -> String { String(format: "%018d", number) + "-\(way).alert" }
      let files = FileManager.default
      try Data([1, 2, 3]).write(to: URL(filePath: path + "/" + name(2)))
      try Data(count: 1 << 20).write(to: URL(filePath: path + "/" + name(3)))
      try files.createSymbolicLink(atPath: path + "/" + name(4), withDestinationPath: path + "/" + good)
      mkfifo(path + "/" + name(5), 0o600)
      for other in ["x.alert", "1-\(way).alert", "00000000000000000a-\(way).alert", good + ".new"] {
        try Data("other".utf8).write(to: URL(filePath: path + "/" + other))
      }
      let before = try Set(files.contentsOfDirectory(atPath: path))
      let spool = try Self.open(path, 4 << 20)
      #expect(spool.first(of: way)?.entry.key == "good")
      spool.remove(name: good)
      #expect(spool.first(of: way) == nil)
      #expect(try Set(files.contentsOfDirectory(atPath: path)) == before.subtracting([good]))
      #expect(spool.append(DeliverySpool.Entry(key: "next", body: []), way: way))
      #expect(spool.first(of: way)?.entry.key == "next")
    }
  }

  /// Whatever bytes a file has: no trap, and an environment that is only ours.
  @Test func bytesOfOthers() {
    var random = SeededRandom(11)
    let sound = DeliveryMessage(
      parts: ["imdump alert 1", "k", "{}", DeliveryMessage.list(["IMDUMP_ALERT_A=1", "LD_PRELOAD=/x.so", "PATH=/x"])]
        .map {
          Array($0.utf8)
        }
    ).bytes
    #expect(
      DeliverySpool.entry(sound[...])
        == DeliverySpool.Entry(key: "k", body: Array("{}".utf8), environment: ["IMDUMP_ALERT_A=1"]))
    for _ in 0..<20_000 {
      var bytes = sound
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let place = Int.random(in: bytes.indices, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.removeSubrange(place...)
        default: bytes.insert(contentsOf: bytes[place...].prefix(40), at: place)
        }
        if bytes.isEmpty { bytes = [0] }
      }
      let entry = DeliverySpool.entry(bytes[...])
      #expect(entry?.environment.allSatisfy { $0.hasPrefix("IMDUMP_ALERT_") } ?? true)
      #expect((entry?.key.utf8.count ?? 0) <= 3 * 256)
    }
  }
}
