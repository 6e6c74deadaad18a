import Foundation
import IMTestSupport
import Testing

/// The library's example does what its page shows.
@Suite struct ExampleTests {
  @Test(.enabled(if: loopbackIsUp)) func twoPeopleSayHello() throws {
    let result = try Peer.withServer([]) { port in
      try Peer.run(["127.0.0.1", port], program: "endpoint-example")
    }
    #expect(result.status == 0)
    let lines = result.output.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
    let life = lines.filter { $0.hasPrefix("ann's message is ") }.map { $0.dropFirst("ann's message is ".count) }
    // Bob marks it as read before he asks for more, so that the receipt that he has it may come after it, and says nothing.
    #expect(
      life.filter { $0 != "retrying" && $0 != "delivered" } == ["created", "sending", "sent", "accepted", "read"])
    #expect(lines.contains("bob reads from ann: Hello, Bob"))
    #expect(lines.contains("message_acked_total 2.0"))
  }

  /// What the page shows is the program.
  @Test func thePageShowsTheProgram() throws {
    let program = try String(contentsOf: Peer.folder.appending(path: "Samples/endpoint/main.swift"), encoding: .utf8)
    let page = try String(contentsOf: Peer.folder.appending(path: "docs/endpoint.md"), encoding: .utf8)
    #expect(page.contains("```swift\n\(program)```\n"))
    #expect(program.split(separator: "\n", omittingEmptySubsequences: false).count <= 61)
  }
}
