import Foundation
import IMTestSupport
import Testing

/// `imdump export`: what it writes decodes to the messages that were chosen.
@Suite struct ExportTests {
  /// The lines of `messages --json`, without their connections' numbers, sorted.
  private static func messages(_ arguments: [String]) throws -> [String] {
    let run = try Command.run(["messages", "-q", "--json"] + arguments)
    return run.output.split(separator: "\n").map { line in
      String(line[(line.firstIndex(of: ",") ?? line.startIndex)...])
    }.sorted()
  }

  private static func isSubset(_ some: [String], of all: [String]) -> Bool {
    var counts = Dictionary(all.map { ($0, 1) }, uniquingKeysWith: +)
    return some.allSatisfy { line in
      counts[line, default: 0] -= 1
      return counts[line, default: 0] >= 0
    }
  }

  @Test(arguments: try Samples.captures(), ["o.pcapng", "o.pcap"]) func chosenMessagesStayWhatTheyWere(
    _ sample: String, _ name: String
  ) throws {
    let folder = try Scratch()
    let (path, copy) = (Samples.path(sample), folder.path(name))
    for filter in ["fate == unanswered", "retries > 0 or fate != acked", "len >= 0"] {
      let run = try Command.run(["export", path, "-Y", filter, "-w", copy])
      #expect(run.status == 0 && run.output.isEmpty, "\(run.errors)")
      let chosen = try Self.messages([path, "-Y", filter])
      if chosen.isEmpty {
        #expect(run.errors.contains("has no packets"), "\(filter)")
      } else {
        #expect(try Self.isSubset(chosen, of: Self.messages([copy])), "\(filter)")
        #expect(run.errors.contains("decoded again: the same"), "\(filter): \(run.errors)")
      }
    }
    // Everything: the same messages and no others.
    #expect(try Self.messages([copy]) == Self.messages([path]))
  }

  /// tcpdump counts 157 of the sample's 306 packets for this connection's host.
  @Test func aConnectionIsWhole() throws {
    let folder = try Scratch()
    let path = "Samples/tjp-clean-chat.pcap"
    let run = try Command.run(["export", path, "--conn", "1", "-w", folder.path("o.pcapng")])
    #expect(run.errors.contains("1 connection, 157 of 306 packets"), "\(run.errors)")
    let lines = try Command.run(["-q", "--print", folder.path("o.pcapng")]).output
    #expect(lines == (try Command.run(["-q", "--print", path, "host", "192.0.2.21"]).output))
  }

  /// That no answer came is known by time that other connections show. The connection's own packets end 12 s behind its message.
  @Test func timeGoesOn() throws {
    let folder = try Scratch()
    let (path, copy) = ("Samples/tjp-weak-network.pcap", folder.path("o.pcap"))
    let run = try Command.run(["export", path, "-Y", "fate == unanswered and conn == 3", "-w", copy])
    #expect(run.errors.contains("decoded again: the same message"), "\(run.errors)")
    // The copy ends when the capture does.
    func end(_ path: String) throws -> String {
      let stats = try Command.run(["stats", path]).errors
      return String(stats.firstMatch(of: /captured .* to ([0-9:]+)/)?.1 ?? "")
    }
    #expect(try end(copy) == end(path))
  }

  /// A session that goes on elsewhere comes with its other connections.
  @Test func aSessionsConnectionsComeAlong() throws {
    let folder = try Scratch()
    let path = "Samples/tjp-weak-network.pcap"
    let run = try Command.run(["export", path, "--session", "22509", "-w", folder.path("o.pcapng")])
    #expect(run.errors.contains("decoded again: the same"))
    let all = try Self.messages([path, "-Y", "session == 22509"])
    #expect(try !all.isEmpty && Self.messages([folder.path("o.pcapng"), "-Y", "session == 22509"]) == all)
  }

  /// A range cuts, and what it changes is said.
  @Test func aRangeKeepsOpenings() throws {
    let folder = try Scratch()
    let (path, copy) = ("Samples/tjp-clean-chat.pcap", folder.path("o.pcapng"))
    let run = try Command.run(["export", path, "--from", "2025-10-09 16:54:00", "-w", copy])
    #expect(run.status == 0, "\(run.errors)")
    let stats = try Command.run(["stats", "--json", "-q", copy]).output
    // Both connections' handshakes stand in front of the range.
    #expect(stats.contains("\"connection_attempts\":2,") && stats.contains("\"connection_success\":2,"), "\(stats)")
    #expect(
      try Command.run(["-q", "--print", copy, "-Y", "type == data"]).output.split(separator: "\n").allSatisfy {
        $0 >= "16:54:00"
      })
  }

  /// A time to the second means all of that second, whichever option or filter takes it.
  @Test func timesAreThoseThatTextShows() throws {
    let folder = try Scratch()
    let path = Samples.path("tjp-weak-network.pcap")
    let environment = ["TZ": "UTC"]
    let lines = try Command.run(["messages", "-q", path], environment: environment).output.split(separator: "\n")
    func chosen(_ from: String, _ to: String) throws -> Int {
      let run = try Command.run(
        ["export", path, "--from", from, "--to", to, "-w", folder.path("o.pcapng")], environment: environment)
      let words = try #require(run.errors.firstMatch(of: /(\d+) messages? chosen/), "\(run.errors)")
      return try #require(Int(words.1))
    }
    func within(_ times: ClosedRange<String>) -> Int { lines.count { times.contains(String($0.prefix(15))) } }
    #expect(try chosen("08:53:29", "08:53:48") == within("08:53:29.000000"..."08:53:48.999999"))
    #expect(try chosen("08:53", "08:53") == within("08:53:00.000000"..."08:53:59.999999"))
    #expect(try chosen("2025-10-09 08:53:29.210", "08:53:29.210") == within("08:53:29.210000"..."08:53:29.210999"))
    #expect(within("08:53:29.000000"..."08:53:48.999999") > within("08:53:29.000000"..."08:53:48.000000"))
    let filtered = try Command.run(
      ["messages", "-q", path, "-Y", #"ts >= "08:53:29" and ts < "08:53:49""#], environment: environment)
    #expect(filtered.output.split(separator: "\n").count == within("08:53:29.000000"..."08:53:48.999999"))
    // Of a pipe the day is not known before its first packet.
    let piped = try Command.run(["messages", "-", "-Y", #"ts >= "08:53:29""#], input: "Samples/tjp-weak-network.pcap")
    #expect(piped.status == 64 && piped.errors.contains("expected a time such as"))
  }

  @Test func whatCannotBeExported() throws {
    let folder = try Scratch()
    let copy = folder.path("o.pcapng")
    let sample = try Data(contentsOf: Command.folder.appending(path: "Samples/tjp-clean-chat.pcap"))
    let own = try folder.file("own.pcap", sample)
    func run(_ arguments: [String], input: String? = nil) throws -> (Int32, String) {
      let run = try Command.run(["export"] + arguments, input: input)
      return (run.status, run.errors)
    }
    #expect(try run([own, "-w", copy]).1.contains("choose what to export"))
    #expect(try run([own, "--lost"]).1.contains("-w"))
    #expect(try run(["-", "--lost", "-w", copy], input: "Samples/tjp-clean-chat.pcap").0 == 64)
    #expect(
      try run([own, "--lost", "-w", own]) == (74, "imdump: \(own): is the input capture; name another file\n"))
    #expect(try Data(contentsOf: URL(filePath: own)) == sample)
    #expect(try run([own, "--from", "today", "-w", copy]).0 == 64)
    // The time of a ladder, which would be a moment of 1970.
    #expect(try run([own, "--from", "8.9", "-w", copy]).1.contains("use --conn with +8.9"))
    #expect(try run([own, "--from", "2", "--to", "1", "-w", copy]).0 == 64)
    #expect(try run([folder.path("none.pcap"), "--lost", "-w", copy]).0 == 66)
    #expect(try run([own, "--conn", "1", "-w", folder.path("none/o.pcap")]).0 == 74)
  }

  /// The packet of a chosen message says so.
  @Test func packetsHaveComments() throws {
    let folder = try Scratch()
    let copy = folder.path("o.pcapng")
    _ = try Command.run(["export", "Samples/tjp-weak-network.pcap", "--lost", "-w", copy])
    let text = String(decoding: try Data(contentsOf: URL(filePath: copy)), as: UTF8.self)
    #expect(text.contains("imdump: data seq 14209862: unanswered, cause peer"))
  }
}
