import Foundation
import IMCommandLine
import IMTestSupport
import Testing

/// Command lines drawn by lot, read as getopt(1) of util-linux reads them, which is glibc's `getopt_long`.
///
/// Left out is what is meant to be otherwise: a value that begins with a dash and is a word of its own, an empty value behind
/// an equals sign, and names that are abbreviated.
@Suite struct WitnessTests {
  /// Writes down what is set, in the order in which it is.
  struct Log: Command {
    static var about: About { About("log", "Write down.") }
    var events: [String] = []
    var operands: [String] = []

    static var table: [Option<Self>] {
      ["-a", "-b", "-n", "--all", "--bold"].map { name in .custom(name, "") { log, _ in log.events.append(name) } }
        + ["-r", "-w", "--read", "--write"].map { name in
          .custom(name + " <value>", "") { log, word in log.events.append("\(name) \(word)") }
        } + [.list("<word> ...", \.operands, "")]
    }
    func run() -> Int32 { 0 }
  }

  private static let path = "/usr/bin/getopt"

  /// One line of `getopt`: options and their values, `--`, operands, each a word in single quotes.
  private static func witness(_ words: [String]) throws -> (events: [String], operands: [String])? {
    let run = try Program.run(path, ["-o", "abnr:w:", "-l", "all,bold,read:,write:", "--"] + words)
    guard run.ending == .exit(0) else { return nil }
    // The words that are drawn have neither blanks nor quotes.
    var parts = run.output.split(whereSeparator: { $0 == " " || $0 == "\n" }).map { $0.filter { $0 != "'" } }[...]
    var events: [String] = []
    while let part = parts.popFirst(), part != "--" {
      let takesValue = ["-r", "-w", "--read", "--write"].contains(part)
      events.append(takesValue ? "\(part) \(parts.popFirst() ?? "")" : part)
    }
    return (events, Array(parts))
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: path)))
  func readsWhatGetoptReads() throws {
    let pool = [
      "-a", "-ab", "-n", "-ra", "-r", "-w", "-abr", "-abrx=y", "-nwr", "-z", "-az", "--all", "--bold", "--read",
      "--write",
      "--read=x", "--write=--all", "--all=x", "--none", "--", "-", "x", "y=z", "all", "-b-", "-a=", "--read=a=b",
    ]
    var generator = SplitMix(seed: 25)
    var compared = (read: 0, refused: 0)
    for _ in 0..<400 {
      let words = (0..<Int.random(in: 0...6, using: &generator)).compactMap { _ in pool.randomElement(using: &generator)
      }
      let reading = read(words, as: .command(Log.self))
      switch reading {
      case .run(let command as Log):
        let wanted = try #require(try Self.witness(words), "getopt refuses \(words)")
        #expect(command.events == wanted.events, "\(words)")
        #expect(command.operands == wanted.operands, "\(words)")
        compared.read += 1
      case .refusal(let refusal):
        // Here we differ on purpose.
        if refusal.message.contains("begins with a dash") { continue }
        #expect(try Self.witness(words) == nil, "\(words): \(refusal.message)")
        compared.refused += 1
      default: Issue.record("\(words): \(reading)")
      }
    }
    #expect(compared.read > 50 && compared.refused > 50)
  }
}

/// Random numbers that are the same in every run (Steele, Lea and Flood, 2014).
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ z >> 30) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ z >> 27) &* 0x94d0_49bb_1331_11eb
    return z ^ z >> 31
  }
}
