import Foundation
import Testing

/// `imdump doctor` as a person runs it.
@Suite struct DoctorCommandTests {
  private static func checks(_ output: String) throws -> [String: [String: Any]] {
    try output.split(separator: "\n").reduce(into: [:]) { checks, line in
      let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      checks[try #require(object["check"] as? String)] = object
    }
  }

  @Test func anInterfaceThatIsNotThereIsAProblem() throws {
    let run = try Command.run(["doctor", "-i", "imdump-none0", "--json"])
    // Whoever may not capture hears that first.
    #expect(run.status == 66 || run.status == 77)
    let checks = try Self.checks(run.output)
    #expect(checks["capture"]?["state"] as? String == "problem")
    let version = try Command.run(["--version"]).output.split(separator: " ").last ?? ""
    let told = try #require(checks["version"]?["text"] as? String)
    #expect(told.contains("imdump \(version.filter { $0 != "\n" }),"))
  }

  /// The status is that of a capture on the same interface.
  @Test func theStatusIsThatOfACapture() throws {
    let doctor = try Command.run(["doctor", "-i", "imdump-none0"])
    let capture = try Command.run(["-i", "imdump-none0", "-c", "1", "-q"])
    #expect(doctor.status == capture.status)
    #expect(doctor.output.contains("PROBLEM capture"))
  }

  @Test func theLocaleIsLookedAt() throws {
    for (locale, state) in [("C.UTF-8", "ok"), ("xx_XX.UTF-8", "note"), ("C", "note")] {
      let run = try Command.run(["doctor", "--json"], environment: ["LC_ALL": locale])
      #expect(try Self.checks(run.output)["locale"]?["state"] as? String == state, "\(locale)")
    }
  }

  /// A terminal of its own, which gives every character `width` cells: what differs from that is told, and the line is left
  /// empty.
  @Test func theTerminalIsAsked() throws {
    let told = try Terminal.run(["doctor", "-i", "imdump-none0"]) { _ in 1 }
    #expect(told.contains("张 takes 1 instead of 2"))
    #expect(!told.contains("⣿ takes"))
    let silent = try Terminal.run(["doctor", "-i", "imdump-none0"]) { _ in nil }
    #expect(silent.contains("not measured"))
  }
}
