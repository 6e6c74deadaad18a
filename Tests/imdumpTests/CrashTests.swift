import Foundation
import IMTestSupport
import Testing

/// What imdump says of a fault of its own, and of files that cannot be read.
struct CrashTests {
  @Test(arguments: [(SIGILL, "SIGILL"), (SIGSEGV, "SIGSEGV"), (SIGABRT, "SIGABRT")])
  func aFaultIsOneLineAndTheSignal(number: Int32, name: String) throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let errors = Program.scratchFile()
    defer { for descriptor in ends + [errors] { close(descriptor) } }
    let run = try Program(
      Command.program.path, ["stats", "-"], environment: Command.environment, input: ends[0], errors: errors)
    let capture = try [UInt8](
      Data(contentsOf: Command.folder.appending(path: "Samples/tjp-clean-chat.pcap")).prefix(1_000))
    #expect(write(ends[1], capture, capture.count) == capture.count)
    // Reading, it has given up what it does not need.
    let status = "/proc/\(run.id)/status"
    let deadline = Date.now + 60
    while try !String(contentsOfFile: status, encoding: .utf8).contains("Seccomp:\t2"), Date.now < deadline {
      usleep(1_000)
    }
    kill(run.id, number)
    #expect(run.wait() == .signal(number))
    let text = Program.text(of: errors)
    let line = /imdump: an error in imdump itself \([0-9.]+, (SIG[A-Z]+).*\)\. .*Please report this line\n/
    #expect(text.wholeMatch(of: line)?.1 == name[...], "\(text)")
  }

  /// A file's name is quoted in errors, and may come from a stranger's archive.
  @Test func aNameCommandsNoTerminal() throws {
    let result = try Command.run(["stats", "a\u{1b}[31m\u{202e}b.pcap"])
    #expect(result.errors.hasPrefix("imdump: a\\x1b[31m\\xe2\\x80\\xaeb.pcap: "), "\(result.errors)")
    #expect(result.status == 66)
  }
}
