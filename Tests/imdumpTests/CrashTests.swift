import Foundation
import Testing

/// What imdump says of a fault of its own, and of files that cannot be read.
struct CrashTests {
  @Test(arguments: [(SIGILL, "SIGILL"), (SIGSEGV, "SIGSEGV"), (SIGABRT, "SIGABRT")])
  func aFaultIsOneLineAndTheSignal(number: Int32, name: String) throws {
    let process = Process()
    process.executableURL = Command.program
    process.arguments = ["stats", "-"]
    process.environment = Command.environment
    let (input, errors) = (Pipe(), Pipe())
    process.standardInput = input
    process.standardError = errors
    process.standardOutput = FileHandle.nullDevice
    try process.run()
    let capture = Command.folder.appending(path: "Samples/tjp-clean-chat.pcap")
    try input.fileHandleForWriting.write(contentsOf: Data(contentsOf: capture).prefix(1_000))
    // Reading, it has given up what it does not need.
    let status = "/proc/\(process.processIdentifier)/status"
    let deadline = Date.now + 60
    while process.isRunning, try !String(contentsOfFile: status, encoding: .utf8).contains("Seccomp:\t2") {
      if Date.now > deadline { break }
      usleep(1_000)
    }
    kill(process.processIdentifier, number)
    process.waitUntilExit()
    #expect(process.terminationReason == .uncaughtSignal)
    #expect(process.terminationStatus == number)
    let text = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
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
