import Foundation
import Testing

/// `--format ecs` of the commands about messages, figures and streams: the documents that a capture has, and no others.
@Suite struct CommandDocumentTests {
  /// A document: its dataset, the number of its message, and all but what depends on the run's name, as text.
  private struct Document {
    let dataset: String?
    let sequence: Int?
    let text: String

    init(_ object: [String: Any]) throws {
      let own = try #require(object["imdump"] as? [String: Any])
      let run = try #require((own["run"] as? [String: Any])?["id"] as? String)
      dataset = (object["data_stream"] as? [String: Any])?["dataset"] as? String
      sequence = (own["msg"] as? [String: Any])?["sequence"] as? Int
      text = try Store.text(object).replacing(run, with: "RUN")
    }
  }

  private static func documents(_ arguments: [String]) throws -> [Document] {
    try Store.objects(arguments + ["--format", "ecs", "-q"]).map { try Document($0) }
  }

  @Test(arguments: ["tjp-weak-network.pcap", "tjp-damage.pcap", "mqtt-mosquitto.pcap", "proxy-balancer.pcap"])
  func eachCommandHasItsDatasets(_ sample: String) throws {
    let path = "Samples/" + sample
    let all = try Self.documents(["-r", path, "--message-log", "all"])
    for (command, dataset) in [("messages", "message"), ("streams", "connection")] {
      let wanted = all.filter { $0.dataset == "imdump." + dataset }.map(\.text)
      #expect(!wanted.isEmpty)
      #expect(try Self.documents([command, path]).map(\.text) == wanted, "\(command)")
    }
    let figures = try Self.documents(["stats", path])
    #expect(Set(figures.map(\.dataset)) == ["imdump.summary", "imdump.capture"])
    let summaries = all.filter { $0.dataset == "imdump.summary" }.map(\.text)
    #expect(figures.filter { $0.dataset == "imdump.summary" }.map(\.text) == summaries)
  }

  /// Documents and the list of their fields name the same version.
  @Test func theListHasTheVersionOfTheDocuments() throws {
    let list = try Command.run(["schema", "--json"])
    let object = try #require(try JSONSerialization.jsonObject(with: Data(list.output.utf8)) as? [String: Any])
    let version = try #require(object["schema"] as? String)
    for document in try Store.objects(["stats", "Samples/tjp-clean-chat.pcap", "--format", "ecs", "-q"]) {
      #expect((document["imdump"] as? [String: Any])?["schema"] as? String == version)
    }
  }

  /// A choice of messages has the documents of the messages that it prints.
  @Test(arguments: ["--lost", "--retried", "--damaged"], ["tjp-weak-network.pcap", "tjp-damage.pcap"])
  func choicesChooseDocuments(_ choice: String, _ sample: String) throws {
    let listed = try Store.objects(["messages", "Samples/" + sample, choice, "--json", "-q"])
    let documents = try Self.documents(["messages", "Samples/" + sample, choice])
    #expect(documents.count == listed.count)
    #expect(documents.compactMap(\.sequence).sorted() == listed.compactMap { $0["seq"] as? Int }.sorted())
  }

  @Test func whatHasNoDocumentsIsRefused() throws {
    let path = "Samples/tjp-clean-chat.pcap"
    for arguments in [
      ["messages", path, "--by", "session"], ["stats", path, "--per", "10s"], ["stats", path, "-Y", "seq == 1"],
      ["streams", path, "--write", "/tmp"],
    ] {
      let result = try Command.run(arguments + ["--format", "ecs"])
      #expect(result.status == 64 && result.output.isEmpty, "\(arguments)")
    }
  }
}
