import Foundation
import IMTestSupport
import Testing

/// `imdump transcript`: one line for each message, in the order in which they were sent.
@Suite struct TranscriptTests {
  @Test(arguments: try Samples.captures()) func everyMessageHasALine(_ sample: String) throws {
    let path = Samples.path(sample)
    let lines = try Command.run(["transcript", "-q", "-tt", path]).output.split(separator: "\n")
    let rows = try Store.objects(["stats", "-q", "--json", "--by", "direction", path])
    func sum(_ key: String) -> Int { rows.reduce(0) { $0 + ($1[key] as? Int ?? 0) } }
    #expect(lines.count == sum("messages"))
    #expect(lines.count { $0.contains("  [lost: ") } == sum("lost"))
    #expect(lines.count { $0.contains("  [rejected") } == sum("rejected"))
    let times = lines.compactMap { Double($0.prefix { $0 != " " }) }
    #expect(times.count == lines.count && times == times.sorted())
  }

  @Test func textIsText() throws {
    let path = Samples.path("mqtt-mosquitto.pcap")
    let all = try Command.run(["transcript", "-q", "-t", path]).output
    #expect(all.contains("writer > chat/zhang: 在地铁上 🚇  [answered after 0.057 ms]\n"), "\(all)")
    #expect(all.contains("server > reader (chat/zhang): 你好\n"))
    let some = try Command.run(["transcript", "-q", "-t", "--topic", "chat/+", "--session", "writer", path]).output
    #expect(!some.isEmpty && some.split(separator: "\n").allSatisfy { $0.hasPrefix("writer > chat/") })
    let text = try Command.run(["messages", "-q", "-A", "-Y", "type == publish", path]).output
    #expect(text.contains("\n\t你好\n") && !text.contains("\\x00"))
  }

  /// A time as text or JSON has it is a time for options.
  @Test func printedTimesAreTaken() throws {
    let path = Samples.path("tjp-weak-network.pcap")
    let wanted = try Command.run(["ladder", "-q", "--conn", "1", "--from", "1760000009.2", path]).output
    for time in [
      "1760000009200000", "1760000009200", "2025-10-09T08:53:29.2Z", "2025-10-09 16:53:29.2 +08:00",
      "2025-10-09 08:53:29.2 UTC", "2025-10-09 16:53:29.2 UTC+08:00", "16:53:29.200",
    ] {
      let run = try Command.run(["ladder", "-q", "--conn", "1", "--from", time, path], environment: ["TZ": "CST-8"])
      #expect(run.status == 0 && run.output == wanted && wanted.contains("14209862"), "\(time): \(run.errors)")
    }
  }
}
