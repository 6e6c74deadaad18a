import Foundation
import Glibc
import IMCapture
import IMDocuments
import IMEngine
import IMOutput
import IMTestSupport
import Testing

@testable import IMDelivery
@testable import IMPipeline
@testable import IMRun
@testable import IMSystem

/// However the packets of a capture come, in batches of whatever size and by reads of whatever size, each command writes the
/// same bytes.
@Suite struct SameAnswerTests {
  /// What a command writes.
  enum Format: CaseIterable {
    case text, elements, json, documents, stats, statsJSON, messages, messagesJSON, streams, streamsJSON

    /// Those that together tell all that the engine finds.
    static let fewest = [Format.elements, .json, .documents, .statsJSON, .messagesJSON, .streamsJSON]
  }

  static let batches = [1, 2, 7, 64, 1_024].map { ReadingSteps(packets: $0) }
  /// Reads that end anywhere in a record.
  static let reads = [ReadingSteps(bytes: 499), ReadingSteps(bytes: 4_096, packets: 3)]

  /// All of them in a long run; else two, which take turns.
  private func steps(_ turn: Int) -> [ReadingSteps] {
    LongRun.isWanted ? Self.batches + Self.reads : [Self.batches[turn % 5], Self.reads[turn / 5 % 2]]
  }

  @Test(arguments: try Samples.captures()) func samples(_ name: String) throws {
    for (turn, format) in Format.allCases.enumerated() {
      try expectSame(Samples.path(name), format, steps(turn + name.count), name)
    }
  }

  @Test(arguments: UInt64(0)..<UInt64(LongRun.times(4, of: 500))) func drawn(_ group: UInt64) throws {
    for seed in group * 4..<group * 4 + 4 {
      let path = "/tmp/imdump-drawn-\(getpid())-\(seed).pcap"
      try Data(DrawnCapture.capture(seed).pcap()).write(to: URL(fileURLWithPath: path))
      defer { unlink(path) }
      for (turn, format) in (LongRun.isWanted ? Format.allCases : Format.fewest).enumerated() {
        try expectSame(path, format, steps(turn + Int(seed)), "seed \(seed)")
      }
    }
  }

  private func expectSame(_ path: String, _ format: Format, _ steps: [ReadingSteps], _ name: String) throws {
    let whole = try Self.output(path, format, ReadingSteps())
    for steps in steps {
      let parts = try Self.output(path, format, steps)
      guard parts != whole else { continue }
      let (a, b) = (whole.split(separator: "\n"), parts.split(separator: "\n"))
      let place = zip(a, b).enumerated().first { $0.element.0 != $0.element.1 }?.offset ?? min(a.count, b.count)
      Testing.Issue.record(
        """
        \(name), \(format), batches of \(steps.packets), reads of \(steps.bytes), line \(place + 1):
        \(place < a.count ? a[place] : "nothing")
        \(place < b.count ? b[place] : "nothing")
        """)
    }
  }

  // MARK: Runs

  private static let plans = try? loadProfiles([])
  private static let decode = DecodeOptions()

  private static func output(_ path: String, _ format: Format, _ steps: ReadingSteps) throws -> String {
    var input = InputOptions()
    input.files = [path]
    input.steps = steps
    var report = ReportOptions()
    report.isQuiet = true
    let run = Run(embedded: input, plans: try #require(plans), decode: decode, report: report)
    var name = [CChar]("/tmp/imdump-answer-XXXXXX".utf8CString)
    let descriptor = mkstemp(&name)
    unlink(name)
    defer { close(descriptor) }
    let output = Output(descriptor: descriptor, name: "output")
    switch format {
    case .text: _ = try printFrames(run, output, format: .text, style: TextStyle())
    case .elements:
      var style = TextStyle()
      style.verbosity = 2
      style.showsText = true
      _ = try printFrames(run, output, format: .text, style: style)
    case .json: _ = try printFrames(run, output, format: .json, style: TextStyle())
    case .documents:
      var documents = DocumentOptions()
      documents.messageLog = .all
      documents.sensor = "test"
      let choices = RunChoices(alerts: AlertOptions(), documents: documents, metrics: MetricsOptions())
      _ = try printDocuments(run, output, choices: choices)
    case .stats: _ = printStats(run, output, isJSON: false)
    case .statsJSON: _ = printStats(run, output, isJSON: true)
    case .messages, .messagesJSON:
      _ = try printMessages(
        run, output, isJSON: format == .messagesJSON, style: TextStyle(), choice: MessageChoice())
    case .streams, .streamsJSON:
      _ = printStreams(
        input, .ignoresSignals, .none, output, report: report, isJSON: format == .streamsJSON, folder: nil)
    }
    var bytes = [UInt8](repeating: 0, count: Int(output.byteCount))
    #expect(pread(descriptor, &bytes, bytes.count, 0) == bytes.count)
    return String(decoding: bytes, as: UTF8.self)
  }
}
