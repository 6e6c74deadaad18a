import Foundation
import IMTestSupport
import Testing

/// `imdump profile test -v`: problems have a packet, a place, bytes and the line that refused; walks name the lines of the page.
@Suite struct ProfileWalkTests {
  /// Each step of a walk names a line of the profile on which that step stands.
  @Test(arguments: [("smpp", "smpp-gateway.pcap"), ("mqtt", "mqtt-mosquitto.pcap"), ("jt808", "jt808-terminals.pcap")])
  func walksNameTheLinesOfThePage(_ profile: String, _ sample: String) throws {
    let page = try Command.run(["profile", "show", profile]).output
      .split(separator: "\n", omittingEmptySubsequences: false)
    let run = try Command.run(["profile", "test", profile, "Samples/\(sample)", "-v"])
    var steps = 0
    for line in run.output.split(separator: "\n") {
      guard let comma = line.range(of: ", line ", options: .backwards), line.hasPrefix("        "),
        let number = Int(line[comma.upperBound...])
      else { continue }
      let name = line[..<comma.lowerBound].split(separator: " ").dropFirst(2).first { !$0.isEmpty } ?? ""
      // Loading the variable is done by others: the step only passes over it.
      let isVariable = name == "skip" && page[number - 1].contains("into: level")
      #expect(isVariable || page[number - 1].contains(name), "\(line): \(page[number - 1])")
      steps += 1
    }
    #expect(steps > 5, "\(run.output)")
  }

  @Test func problemsHaveTheirPlace() throws {
    let run = try Command.run(["profile", "test", "smpp", "Samples/smpp-gateway.pcap"])
    // tshark: packet 89 has a command 0x00000a0a at byte 3201 of the client's stream.
    #expect(
      run.output.hasPrefix(
        "packet 89, #1 192.0.2.31:41000 > 203.0.113.20:2775, offset 3201: unknown_type 0xa0a\n\t0x0000:  0000 0014 0000 0a0a"
      ), "\(run.output)")
    #expect(run.status == 1)
  }

  /// A page that wants more of a body than there is: the step that refuses is named with its line.
  @Test func theStepThatRefusesIsNamed() throws {
    let scratch = try Scratch()
    let page = """
      profile: short
      version: 1
      ports: [3101]
      header: { length: 16, magic: { offset: 4, bytes: 00100001 } }
      length: { offset: 0, size: 4, counts: { from: 0 } }
      fields: { type: { offset: 8, size: 4 } }
      types:
        7: { name: auth, role: control, body: [{ skip: 2 }, { string: { maximum: 4 } }] }
        2: { name: heartbeat, role: heartbeat, length: 0, body: none }
      """
    let path = try scratch.file("short.yaml", page.utf8)
    let run = try Command.run(["profile", "test", path, "Samples/goim-room.pcap"])
    #expect(run.status == 1)
    #expect(run.output.contains("step 2 of type 'auth', string, at byte 18"), "\(run.output)")
    #expect(run.output.contains("(line 8 of the profile)"), "\(run.output)")
  }

  /// A profile that fits nothing in WebSocket: the first message is shown, not the HTTP request.
  @Test func theFirstMessageIsShown() throws {
    let run = try Command.run(["profile", "test", "phoenix", "Samples/ocpp-charging.pcap"])
    #expect(run.status == 1 && run.output.contains("first WebSocket message"), "\(run.output)")
    #expect(!run.output.contains("GET /"), "\(run.output)")
  }

  /// A profile that reads the number of answers from the wrong position: all frames fit, but few are answered.
  @Test func answersWithoutANumberAreReported() throws {
    let scratch = try Scratch()
    let page = """
      profile: calls
      version: 1
      framing: { kind: message }
      content: json
      fields: { type: { at: "0" }, sequence: { at: "1" } }
      types:
        2: { name: call, role: message, answered: true }
        3: { name: result, role: acknowledgment, answers: [call], number: "7" }
        4: { name: error, role: acknowledgment, answers: [call], number: "7" }
      """
    let path = try scratch.file("calls.yaml", page.utf8)
    let run = try Command.run(["profile", "test", path, "Samples/ocpp-charging.pcap"])
    #expect(run.status == 1 && run.output.contains("result: none of 12 answers has a number"), "\(run.output)")
    #expect(!run.output.contains("all of it fits"), "\(run.output)")
    // A number that no request has: the frames fit, but answer nothing.
    let other = try scratch.file("other.yaml", page.replacingOccurrences(of: "\"7\"", with: "\"0\"").utf8)
    let orphans = try Command.run(["profile", "test", other, "Samples/ocpp-charging.pcap"])
    #expect(
      orphans.status == 1 && orphans.output.contains("call: 0 of 16 answered, but 14 acknowledgments answered nothing"),
      "\(orphans.output)")
  }
}
