import Foundation
import Glibc
import IMTestSupport
import IMWire
import Testing

/// The command under floods: what it holds stays below `--mem`, and a sound connection among a flood is read to its end.
///
/// A long run makes them of the size that `docs/reliability.md` speaks of, and takes the command that `IMDUMP_COMMAND`
/// names: one built for speed.
@Suite(.serialized) struct FloodTests {
  static let server = Endpoint(address: IPAddress(v4: 0xcb00_710a), port: 8_080)

  /// Writes a capture of `count` SYNs from as many sources, 100,000 a second, with a sound chat of 1,000 messages among
  /// them.
  private static func write(_ count: UInt32, to path: String) throws {
    guard let file = fopen(path, "w") else { throw CocoaError(.fileWriteUnknown) }
    defer { fclose(file) }
    var header = CaptureBuilder().pcap()
    fwrite(&header, 1, header.count, file)
    var micros: Int64 = 1_700_000_000_000_000
    var record: [UInt8] = []
    func put(_ bytes: [UInt8]) {
      record.removeAll(keepingCapacity: true)
      for value in [UInt32(micros / 1_000_000), UInt32(micros % 1_000_000), UInt32(bytes.count), UInt32(bytes.count)] {
        record.append(little: value)
      }
      record += bytes
      fwrite(record, 1, record.count, file)
      micros += 10
    }
    var syn = FloodPacket(.syn, sourcePort: 4_000, destinationPort: server.port)
    let chat = HonestChat(1_000, server: server).packets
    var said = 0
    for i in 0..<count {
      syn.set(from: 0x0a00_0000 + i, to: 0xcb00_710a, sequence: i &* 977)
      put(syn.bytes)
      while said < chat.count, said * Int(count) < Int(i + 1) * chat.count {
        put(chat[said])
        said += 1
      }
    }
  }

  /// What decoding costs at its worst: a long run says it of 100 MB of each kind of traffic.
  @Test(arguments: AdversarialTraffic.allCases) func dearTraffic(_ traffic: AdversarialTraffic) throws {
    let path = "/tmp/imdump-dear-\(getpid()).pcap"
    defer { unlink(path) }
    guard let file = fopen(path, "w") else { throw CocoaError(.fileWriteUnknown) }
    var header = CaptureBuilder().pcap()
    fwrite(&header, 1, header.count, file)
    var record: [UInt8] = []
    traffic.write(LongRun.isWanted ? 100_000_000 : 200_000) { time, bytes in
      let micros = time.microseconds
      record.removeAll(keepingCapacity: true)
      for value in [UInt32(micros / 1_000_000), UInt32(micros % 1_000_000), UInt32(bytes.count), UInt32(bytes.count)] {
        record.append(little: value)
      }
      record += bytes
      fwrite(record, 1, record.count, file)
    }
    fclose(file)
    let ended = try Self.run(["stats", "--json", "-q", "-K", path])
    #expect(ended.status == 0)
    #expect(ended.peak <= max(256 + 64, ended.peakBefore), "\(ended.peak) MiB")
    guard LongRun.isWanted else { return }
    #expect(ended.cpu < 30)
    print("100 MB, \(traffic): \(ended.cpu) s of CPU, \(ended.peak) MiB")
  }

  /// How a run went.
  struct Ended {
    var status: Int32 = -1
    var output: [UInt8] = []
    var seconds = 0.0
    /// Seconds of CPU.
    var cpu = 0.0
    /// The most memory it had, in MiB. The kernel counts what the tests' process had when it began, too: `peakBefore`.
    var peak = 0
    var peakBefore = 0
  }

  private static func run(_ arguments: [String]) throws -> Ended {
    let program = Command.program.path
    let output = "/tmp/imdump-flood-\(getpid()).out"
    defer { unlink(output) }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var words = ([program] + arguments).map { strdup($0) } + [nil]
    defer { words.forEach { free($0) } }
    var environment = Command.environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { environment.forEach { free($0) } }
    var pid: pid_t = 0
    var own = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &own)
    let begun = ContinuousClock.now
    guard posix_spawn(&pid, program, &actions, nil, &words, &environment) == 0 else {
      throw CocoaError(.fileNoSuchFile)
    }
    var status: Int32 = 0
    var usage = rusage()
    wait4(pid, &status, 0, &usage)
    let time = ContinuousClock.now - begun
    return Ended(
      status: status, output: [UInt8](try Data(contentsOf: URL(filePath: output))),
      seconds: Double(time.components.seconds) + Double(time.components.attoseconds) / 1e18,
      cpu: Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime),
      peak: usage.ru_maxrss / 1_024, peakBefore: own.ru_maxrss / 1_024 + 1)
  }

  private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

  @Test func halfOpenConnections() throws {
    let path = "/tmp/imdump-flood-\(getpid()).pcap"
    defer { unlink(path) }
    try Self.write(LongRun.isWanted ? 1_000_000 : 60_000, to: path)
    let limit = LongRun.isWanted ? 256 : 8
    for arguments in [["stats", "--json", "-q"], ["messages", "--json", "-q"], ["-q", "--format", "ecs", "-r"]] {
      let ended = try Self.run(
        Array(arguments.prefix(1)) == ["-q"]
          ? ["--mem", "\(limit)M"] + arguments + [path] : arguments + ["--mem", "\(limit)M", path])
      #expect(ended.status == 0, "\(arguments)")
      #expect(ended.peak <= max(limit + 64, ended.peakBefore), "\(arguments): \(ended.peak) MiB")
      if LongRun.isWanted {
        #expect(ended.seconds <= 10, "\(arguments)")
        print("flood of 1,000,000: imdump \(arguments.joined(separator: " ")): \(ended.seconds) s, \(ended.peak) MiB")
      }
      let text = String(decoding: ended.output, as: UTF8.self)
      if arguments[0] == "messages" {
        #expect(text.split(separator: "\n").count { $0.contains("\"acked\"") } == 1_000)
      } else {
        #expect(text.contains("\"half_open\":"), "\(arguments)")
      }
      if arguments[0] == "stats" { #expect(text.contains("\"acked\":1000,")) }
    }
  }
}
