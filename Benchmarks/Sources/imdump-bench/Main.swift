import Glibc
import IMPipeline

/// What Scripts/bench-browse runs.
@main struct Main {
  private static let usage = """
    usage: imdump-bench capture FILE MESSAGES SESSIONS RATE [FAST]
           imdump-bench marks FOLDER MESSAGES [--single-context]
           imdump-bench host CAPTURE STORE FIRST SIZE MILLISECONDS LOG

    """

  static func main() {
    let words = Array(CommandLine.arguments.dropFirst())
    do {
      switch words.first {
      case "capture" where words.count >= 5:
        var traffic = Traffic()
        traffic.messages = Int(words[2]) ?? 0
        traffic.sessions = Int(words[3]) ?? 1
        traffic.rate = max(1, Int(words[4]) ?? 1)
        traffic.fast = words.count > 5 ? Int(words[5]) : nil
        exit(traffic.write(words[1]) ? 0 : 74)
      case "marks" where words.count >= 3:
        try marks(folder: words[1], messages: Int(words[2]) ?? 0, isSingleToo: words.contains("--single-context"))
      case "host" where words.count >= 7:
        exit(
          try Host.run(
            capture: words[1], store: words[2], first: Int(words[3]) ?? 0, size: max(1, Int(words[4]) ?? 1),
            pause: Double(words[5]) ?? 1, log: words[6]))
      default:
        warn(usage)
        exit(64)
      }
    } catch {
      warn("imdump-bench: \(error)")
      exit(70)
    }
  }

  private static func marks(folder: String, messages: Int, isSingleToo: Bool) throws {
    let (large, small) = (folder + "/large.pcap", folder + "/small.pcap")
    var traffic = Traffic()
    traffic.messages = messages
    guard traffic.write(large) else { exit(74) }
    (traffic.messages, traffic.sessions, traffic.rate) = (5_000, 50, 1_000)
    guard traffic.write(small) else { exit(74) }
    try WritingMarks.run(folder: folder, capture: large, small: small, isSingleToo: isSingleToo)
    let store = folder + "/apart.db"
    try SessionMarks.run(store: store)
    try FrameMarks.run(store: store)
    try ScrollMarks.run(store: store)
  }
}
