import IMOutput
import IMTerminal
import IMTestSupport
import Testing

@testable import IMPipeline
@testable import IMSystem

/// What `imdump doctor` makes of what it finds.
@Suite struct DoctorTests {
  @Test func aSmallerRingIsTold() {
    let asked = 16 << 20
    #expect(ringFinding("eth0", asked, asked: asked)?.state == .ok)
    // Whole blocks may be a little less than what was asked for.
    #expect(ringFinding("eth0", asked - 131_072, asked: asked)?.state == .ok)
    #expect(ringFinding("eth0", nil, asked: asked) == nil)
    let small = ringFinding("eth0", 4 << 20, asked: asked)
    #expect(small?.state == .note)
    #expect(
      small?.text == "eth0 has a ring buffer of 4 MiB; 16 MiB were requested, but the kernel has no memory for them")
  }

  @Test func theCopyThatMayCaptureIsBesideTheCommand() {
    #expect(CapturingCopy.path(for: "/usr/bin/imdump") == "/usr/lib/imdump/imdump")
    #expect(CapturingCopy.path(for: "/bin/imdump") == "/lib/imdump/imdump")
    // The copy itself has none, so it does not start itself over and over.
    #expect(CapturingCopy.path(for: "/usr/lib/imdump/imdump") == nil)
    #expect(CapturingCopy.path(for: "imdump") == nil && CapturingCopy.path(for: "") == nil)
  }

  @Test func rightsAreTold() {
    let status = "Name:\timdump\nCapPrm:\t0000000000000000\nCapEff:\t0000000000003000\n"
    #expect(effectiveCapabilities(status) == 0x3000)
    #expect(effectiveCapabilities("CapEff:\tzz\n") == nil && effectiveCapabilities(nil) == nil)
    let both = rightsFinding(effective: 0x3000, isRoot: true)
    #expect(both.state == .ok && both.text == "root, cap_net_raw and cap_net_admin")
    let none = rightsFinding(effective: 0x1000, isRoot: false)
    #expect(none.state == .problem && none.advice?.contains("setcap cap_net_raw+ep") == true)
    #expect(rightsFinding(effective: nil, isRoot: true).state == .note)
    // A copy that this user may run, and one that they may not.
    let member = rightsFinding(effective: 0, isRoot: false, copy: "/bin/sh")
    #expect(member.state == .ok && member.text.hasSuffix("captures as /bin/sh"))
    let stranger = rightsFinding(effective: 0, isRoot: false, copy: "/nowhere/imdump")
    #expect(stranger.state == .problem && stranger.advice?.contains("group imdump") == true)
  }

  @Test(
    arguments: [
      ("\u{1b}[24;3R", 3), ("\u{1b}[1;80R", 80), ("x\u{1b}[A\u{1b}[2;5R", 5), ("\u{1b}[2R", nil), ("\u{1b}[;5R", nil),
      ("\u{1b}[2;0R", nil), ("\u{1b}[2;-1R", nil), ("\u{1b}[2;99999999999999999999R", nil), ("R", nil),
      ("\u{1b}R", nil),
      ("\u{1b}[2;5R ", nil), ("", nil),
    ] as [(String, Int?)])
  func cursorReports(_ text: String, _ column: Int?) {
    #expect(TerminalWidths.column(Array(text.utf8)) == column)
  }

  @Test func anyBytesAreNoTrap() {
    var random = SeededRandom(31)
    let bytes = Array("\u{1b}[;R0123456789-".utf8)
    for _ in 0..<20_000 {
      let text = (0..<Int(random.next() % 12)).map { _ in random.one(of: bytes) }
      if let column = TerminalWidths.column(text) { #expect(column > 0) }
    }
  }

  @Test func linesKeepToTheWidth() {
    let findings = [
      Finding.ok("capture", "eth0 opens: EN10MB, nanosecond timestamps"),
      .problem(
        "ring", "a text that is much longer than the line has room for, in several parts", advice: "do this, or that"),
    ]
    for width in [40, 60, 80] {
      let lines = findings.lines(width: width)
      #expect(lines.allSatisfy { cells($0) <= width }, "\(lines)")
      #expect(lines.first?.hasPrefix("ok      capture") == true)
      #expect(lines.contains { $0.contains("-> do this") })
    }
    #expect(findings.lines(width: nil).count == 3)
  }
}
