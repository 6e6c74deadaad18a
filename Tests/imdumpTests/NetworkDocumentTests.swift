import Foundation
import IMTestSupport
import Testing

/// Clients' networks in the documents of the command.
@Suite struct NetworkDocumentTests {
  private static func table(_ text: String, _ body: (String) throws -> Void) throws {
    let path = NSTemporaryDirectory() + "imdump-networks-\(UUID().uuidString).csv"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(text.utf8).write(to: URL(filePath: path))
    try body(path)
  }

  @Test(arguments: [[], ["--log-lean"]])
  func clientsHaveTheirNetworks(_ options: [String]) throws {
    let text = "192.0.2.0/24,Lab,64500,Example\n192.0.2.77/32,One phone\n198.51.100.0/24,,AS64501\n"
    try Self.table(text) { path in
      let rules = "Samples/alerts/im.yml"
      var seen: [String: Set<String>] = [:]
      for sample in ["tjp-weak-network.pcap", "tjp-clean-chat.pcap"] {
        let result = try Command.run(
          ["-q", "--format", "ecs", "--message-log", "all", "--rules", rules, "--networks", path, "-r"]
            + ["Samples/\(sample)"] + options)
        for line in result.output.split(separator: "\n") {
          let document = try #require(JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
          guard let client = document["client"] as? [String: Any] else { continue }
          let address = try #require(client["ip"] as? String)
          let system = client["as"] as? [String: Any]
          let name = (client["geo"] as? [String: Any])?["name"] as? String
          let found = [
            name ?? "", (system?["number"] as? Int).map(String.init) ?? "",
            (system?["organization"] as? [String: Any])?["name"] as? String ?? "",
          ]
          let expected =
            address == "192.0.2.77"
            ? ["One phone", "", ""]
            : address.hasPrefix("192.0.2.")
              ? ["Lab", "64500", "Example"] : address.hasPrefix("198.51.100.") ? ["", "64501", ""] : ["", "", ""]
          #expect(found == expected, "\(address)")
          let dataset = (document["event"] as? [String: Any])?["dataset"] as? String ?? ""
          seen[dataset, default: []].insert(found[0] + found[1])
        }
      }
      for dataset in ["imdump.message", "imdump.connection"] { #expect(seen[dataset]?.count == 4, "\(dataset)") }
      #expect(seen["imdump.weird"]?.contains("One phone") == true)
    }
  }

  @Test func aMistakeInTheTableIsTold() throws {
    try Self.table("192.0.2.0/24,Lab\nnot a network,x\n") { path in
      let result = try Command.run(
        ["-q", "--format", "ecs", "-r", "Samples/tjp-clean-chat.pcap", "--networks", path])
      #expect(result.status == 64)
      #expect(result.errors.hasPrefix("imdump: \(path):2: 'not a network' is not a prefix"))
      #expect(result.output == "")
    }
    let none = try Command.run(["--format", "ecs", "-r", "Samples/tjp-clean-chat.pcap", "--networks", "none.csv"])
    #expect(none.status == 64)
  }
}
