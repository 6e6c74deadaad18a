import Foundation
import IMTestSupport
import Testing

/// Documents in files: what stands in which, held against what the command prints without files.
@Suite struct LogFolderTests {
  private static let sample = "Samples/tjp-weak-network.pcap"
  private static let options = ["-q", "--format", "ecs", "--message-log", "all", "--sensor", "test", "-r", sample]

  /// The lines of each file in a folder that the command has filled, by name.
  private static func files(_ options: [String]) throws -> (files: [String: [String]], result: Command.Result) {
    let folder = NSTemporaryDirectory() + "imdump-logs-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let result = try Command.run(options + ["--log-dir", folder])
    var files: [String: [String]] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
      let text = try String(contentsOfFile: "\(folder)/\(name)", encoding: .utf8)
      #expect(text.hasSuffix("}\n"), "\(name) ends in the middle of a line")
      files[name] = text.split(separator: "\n").map(String.init)
    }
    return (files, result)
  }

  /// A file's dataset and number.
  private static func parts(_ name: String) throws -> (dataset: String, number: Int) {
    let match = try #require(name.wholeMatch(of: /imdump\.([a-z]+)\.[0-9A-Z]{26}-(\d+)\.ndjson/), "\(name)")
    return (String(match.1), try #require(Int(match.2)))
  }

  /// The documents by dataset, in the order of the files, without the first line of each.
  private static func documents(_ files: [String: [String]]) throws -> [String: [String]] {
    var documents: [String: [String]] = [:]
    for (name, lines) in try files.sorted(by: { try parts($0.key).number < parts($1.key).number }) {
      // Only files can tell that nothing was lost.
      documents[try parts(name).dataset, default: []] += lines.dropFirst().map {
        $0.replacingOccurrences(of: ",\"failed\":0,\"dropped\":0", with: "")
      }
    }
    return documents
  }

  /// What the command prints without files, by dataset.
  private static func printed(_ more: [String] = []) throws -> [String: [String]] {
    let lines = try Command.run(options + more).output.split(separator: "\n").map(String.init)
    return Dictionary(grouping: lines.filter { !$0.contains("capture_start") }) { line in
      line.firstMatch(of: /"dataset":"imdump\.([a-z]+)"/).map { String($0.1) } ?? ""
    }
  }

  /// The documents that a choice takes are those of all messages whose outcome it names, and those of its sessions.
  @Test(arguments: ["errors", "slow=300ms", "errors+slow=300ms", "errors+slow=1s+sample=1/2"])
  func theMessageLogTakesWhatItNames(_ choice: String) throws {
    // Ids hold the run's, which depends on the options.
    func messages(_ which: String) throws -> [String] {
      try Command.run(Self.options.map { $0 == "all" ? which : $0 }).output.split(separator: "\n")
        .filter { $0.contains("\"dataset\":\"imdump.message\"") }
        .map { String($0).replacing(/[0-9A-Z]{26}/, with: "run").replacing(",\"sampled\":0.5", with: "") }
    }
    let all = try messages("all"), taken = Set(try messages(choice))
    #expect(!taken.isEmpty && taken.count < all.count)
    let slow = choice.contains("slow=1s") ? 1_000.0 : choice.contains("slow") ? 300 : .infinity
    for line in all {
      let fate = line.firstMatch(of: /"fate":"([a-z_]+)"/).map { String($0.1) }
      let roundTrip = line.firstMatch(of: /"rtt_ms":([0-9.]+)/).flatMap { Double($0.1) } ?? 0
      let isNamed = choice.contains("errors") && fate != "acked" && fate != "unacknowledged" || roundTrip >= slow
      if isNamed || !choice.contains("sample") { #expect(taken.contains(line) == isNamed, "\(line.prefix(400))") }
    }
    // Whoever adds documents up needs to know what each stands for: only those of the sample stand for others.
    let sampled = try Command.run(Self.options.map { $0 == "all" ? choice : $0 }).output.split(separator: "\n")
      .filter { $0.contains("\"sampled\":0.5") }
    #expect(sampled.isEmpty != choice.contains("sample"))
    #expect(sampled.allSatisfy { $0.contains("\"fate\":\"acked\"") })
  }

  /// All files together stay below the limit; what is there are the last documents of each dataset.
  @Test func allFilesTogether() throws {
    let (files, result) = try Self.files(Self.options + ["--log-size", "3k", "--log-total", "60k"])
    #expect(result.status == 0 && result.errors == "")
    #expect(files.values.joined().reduce(0) { $0 + $1.utf8.count + 1 } <= 60 << 10)
    let documents = try Self.documents(files), printed = try Self.printed()
    #expect(documents["message"]?.isEmpty == false)
    for (dataset, lines) in documents {
      #expect(printed[dataset]?.suffix(lines.count) == lines[...], "\(dataset)")
    }
  }

  @Test(arguments: [
    ["--log-total", "1M"], ["--log-dir", "x", "--log-total", "1M"], ["--log-dir", "x", "--ship", "http://127.0.0.1:1"],
    ["--ship", "http://127.0.0.1:1"], ["--otlp", "http://127.0.0.1:1"], ["--otlp-queue", "x"], ["--otlp-headers", "x"],
  ])
  func optionsThatDoNotGoTogether(_ options: [String]) throws {
    #expect(try Command.run(Self.options + options).status == 64)
  }

  /// What is wrong with an address or a file of headers is told before a packet is captured.
  @Test(arguments: [
    ["--otlp", "collector:4318"], ["--otlp", "http://user:secret@host"],
    ["--otlp", "http://127.0.0.1:1", "--otlp-headers", "/none"], ["--otlp", "http://127.0.0.1:1", "--log-dir", "x"],
    ["--otlp", "http://127.0.0.1:1", "--format", "ecs"],
    ["--otlp", "http://127.0.0.1:1", "--log-field", "type"], ["--otlp", "http://127.0.0.1:1", "--log-total", "1M"],
  ])
  func aReceiverThatCannotBe(_ options: [String]) throws {
    let folder = NSTemporaryDirectory() + "imdump-queue-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let result = try Command.run(["-q", "-i", "lo", "--otlp-queue", folder] + options)
    #expect(result.status == 64 && !result.errors.contains("secret"))
  }

  @Test(arguments: [[], ["--log-size", "20k"], ["--log-minutes", "1"], ["--log-size", "3k", "--log-minutes", "1"]])
  func theFilesHaveTheDocumentsThatArePrinted(_ limits: [String]) throws {
    let (files, result) = try Self.files(Self.options + limits)
    #expect(result.status == 0)
    #expect(result.output == "" && result.errors == "")
    #expect(try Self.documents(files) == Self.printed())
    for (name, lines) in files {
      let first = try #require(lines.first)
      #expect(first.hasPrefix("{\"@timestamp\":\"2025-10-09T08:53:20."))
      // What tells this file from every other stands in the bytes by which a shipper knows it.
      #expect(first.prefix(200).contains("\"imdump\":{\"log\":{\"file\":\"\(name)\"}"))
      #expect(first.contains("\"action\":\"capture_start\""))
      #expect(
        lines.dropFirst().allSatisfy { $0.contains("\"dataset\":\"imdump.\((try? Self.parts(name))?.dataset ?? "")\"") }
      )
      if limits.first == "--log-size" {
        let most = limits[1] == "20k" ? 20_480 : 3_072
        let size = lines.reduce(0) { $0 + $1.utf8.count + 1 }
        #expect(size <= most || lines.count == 2, "\(name) has \(size) bytes")
      }
      // A minute's documents stand together; times of messages are those of their first copies.
      if limits == ["--log-minutes", "1"], try Self.parts(name).dataset == "summary" {
        #expect(Set(lines.dropFirst().map { $0.prefix(40) }).count == 1)
      }
    }
    for (_, group) in Dictionary(grouping: try files.keys.map(Self.parts), by: \.dataset) {
      #expect(group.map(\.number).sorted() == Array(1...group.count))
    }
    #expect(try Self.files(Self.options + limits).files == files)
  }

  @Test func theOldestAreTakenAway() throws {
    let all = try Self.files(Self.options + ["--log-size", "20k"]).files
    let kept = try Self.files(Self.options + ["--log-size", "20k", "--log-files", "2"]).files
    let last = try Dictionary(grouping: all.keys, by: { try Self.parts($0).dataset }).values.flatMap { names in
      try names.sorted { try Self.parts($0).number < Self.parts($1).number }.suffix(2)
    }
    #expect(kept == all.filter { last.contains($0.key) })
    #expect(kept.count < all.count)
  }

  @Test(arguments: ["text", "json"])
  func linesArePrintedBesides(_ format: String) throws {
    let filter = ["-Y", "type == data"]
    let options = ["-q", "--format", format, "-r", Self.sample] + filter
    let alone = try Command.run(options).output
    let (files, result) = try Self.files(options + ["--message-log", "all", "--sensor", "test"])
    #expect(result.output == alone && !alone.isEmpty)
    #expect(try Self.documents(files)["message"] == Self.printed(filter)["message"])
  }

  @Test func filesOfOtherRunsStay() throws {
    let folder = NSTemporaryDirectory() + "imdump-logs-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    let other = "imdump.message.00000000000000000000000000-1.ndjson"
    try Data("{}\n".utf8).write(to: URL(filePath: "\(folder)/\(other)"))
    for capture in [Self.sample, "Samples/tjp-clean-chat.pcap"] {
      let words = ["-q", "--format", "ecs", "-r", capture, "--log-dir", folder, "--log-files", "1", "--log-size", "5k"]
      #expect(try Command.run(words).status == 0)
    }
    let names = try FileManager.default.contentsOfDirectory(atPath: folder)
    #expect(names.contains(other))
    #expect(names.filter { $0.hasPrefix("imdump.connection.") }.count == 2)
  }

  @Test(arguments: [
    ["--log-size", "10k"], ["--log-files", "3"], ["--log-minutes", "5"], ["--log-dir", "Package.swift"],
    ["--log-dir", "none/there"], ["--log-dir", "/tmp", "--log-minutes", "0"],
    ["--log-dir", "/tmp", "--log-files", "0"],
    ["--log-dir", "/tmp", "--log-size", "0"],
  ])
  func whatCannotBeIsSaid(_ options: [String]) throws {
    let result = try Command.run(["-q", "--format", "ecs", "-r", Self.sample] + options)
    #expect(result.status == 64)
    #expect(result.errors.contains(options.contains("0") ? options[2] : options[0]))
    #expect(result.output == "")
  }
}
