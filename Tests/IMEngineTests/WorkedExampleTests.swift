import Foundation
import IMProfile
import IMTestSupport
import IMWire
import Testing

@testable import IMEngine

/// The first worked example of docs/profiles.md, applied to a conversation.
@Suite struct WorkedExampleTests {
  private static func profile(_ name: String) throws -> String {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let text = try String(contentsOf: folder.appending(path: "docs/profiles.md"), encoding: .utf8)
    let block = try #require(text.components(separatedBy: "```yaml\n").first { $0.hasPrefix("profile: \(name)\n") })
    return block.components(separatedBy: "```")[0]
  }

  private static func frame(_ json: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.append(big: UInt32(json.utf8.count))
    return bytes + Array(json.utf8)
  }

  @Test func aLengthAndJSON() throws {
    let plan = try ProfileCompiler.compile(Self.profile("rooms"), source: "docs/profiles.md")
    var talk = Talk(port: 7_000)
    func ask(_ kind: String, _ id: Int, code: Int?) {
      talk.say(.clientToServer, Self.frame(#"{"cmd":"\#(kind)","id":\#(id),"room":"a","text":"\"id\":9"}"#))
      if let code { talk.say(.serverToClient, Self.frame(#"{"result":{"code":\#(code)},"id":\#(id),"cmd":"reply"}"#)) }
    }
    ask("login", 1, code: 200)
    ask("send", 2, code: 202)
    ask("send", 3, code: 403)
    ask("ping", 4, code: 200)
    ask("send", 5, code: nil)
    let run = Run(talk.packets, plans: [plan])
    run.expectLedgerAddsUp()
    #expect(run.frames.count == 9)
    let finished = run.heard.finished
    #expect(finished.filter { $0.fate == .acked }.map(\.sequence).sorted() == [1, 2, 4])
    #expect(finished.filter { $0.fate == .rejected }.map(\.sequence) == [3])
    #expect(finished.count { $0.fate != .acked && $0.fate != .rejected } == 1)
  }
}
