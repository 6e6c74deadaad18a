import Foundation
import Testing

@testable import IMDelivery
@testable import IMPipeline

/// What delivers alerts: programs that misbehave end, and nobody waits for them. Time is an argument; processes are real.
@Suite(.serialized) struct DeliveryTests {
  /// A program that does not read its input must not end the tests, as it does not end a run.
  init() { signal(SIGPIPE, SIG_IGN) }

  /// Tends a lane at one moment until `body` is true, for as long as a machine may need.
  private func tend(
    _ lane: inout DeliveryLane, at now: Double, _ said: inout [String], until body: (DeliveryLane) -> Bool
  ) -> Bool {
    var lines: [String] = []
    defer { said += lines }
    for _ in 0..<10_000 {
      lane.tend(now: now) { text, _ in lines.append(text) }
      if body(lane) { return true }
      _ = poll(nil, 0, 2)
    }
    return false
  }

  private func job(_ script: String, isPost: Bool = false, input: [UInt8] = []) -> DeliveryLane.Job {
    DeliveryLane.Job(
      words: ["/bin/sh", "-c", script], environment: ["PATH=/usr/bin:/bin"], input: input, isPost: isPost)
  }

  @Test func aProgramGetsItsInput() {
    var lane = DeliveryLane(name: "hook", width: 2)
    var said: [String] = []
    lane.add(job("test \"$(cat)\" = alert", input: Array("alert".utf8)))
    #expect(tend(&lane, at: 0, &said) { $0.isIdle })
    #expect(lane.counts.done == 1)
    #expect(said == [])
  }

  @Test(arguments: [("exit 3", "hook: ended with status 3"), ("kill -KILL $$", "hook: ended by signal 9")])
  func aProgramFails(_ script: String, _ words: String) {
    var lane = DeliveryLane(name: "hook", width: 2)
    var said: [String] = []
    lane.add(job(script))
    #expect(tend(&lane, at: 0, &said) { $0.isIdle })
    #expect(lane.counts.failed == 1)
    #expect(said == [words])
  }

  @Test(
    arguments: [
      "sleep 60", "sleep 60 & sleep 60 & wait", "while :; do echo flood; done",
      "trap '' TERM; while :; do sleep 0.1; done",
      "exec <&-; sleep 60",
    ])
  func aProgramEndsWhenItsTimeIsOver(_ script: String) {
    var lane = DeliveryLane(name: "hook", width: 2)
    var said: [String] = []
    lane.add(job(script, input: [UInt8](repeating: 65, count: 500_000)))
    #expect(tend(&lane, at: 0, &said) { $0.isRunning })
    #expect(tend(&lane, at: 9.9, &said) { !$0.isIdle })
    // Asked to end at ten seconds, ended at eleven.
    lane.tend(now: 10) { text, _ in said.append(text) }
    #expect(tend(&lane, at: 11, &said) { $0.isIdle })
    #expect(lane.counts.timedOut == 1)
    #expect(said == ["hook: timed out"])
  }

  @Test func whatIsLeftOfItsGroupEndsWithIt() throws {
    let note = NSTemporaryDirectory() + "imdump-left-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: note) }
    var lane = DeliveryLane(name: "hook", width: 2)
    var said: [String] = []
    lane.add(job("sleep 60 & echo $! > \(note)"))
    #expect(tend(&lane, at: 0, &said) { $0.isIdle })
    let pid = try #require(Int32(try String(contentsOfFile: note, encoding: .utf8).trimmingCharacters(in: .newlines)))
    // Whoever inherits it reaps it, or has not yet.
    let isGone = (0..<5_000).contains { _ in
      let state = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
      if state.map({ $0.split(separator: ")").last?.hasPrefix(" Z") ?? true }) ?? true { return true }
      _ = poll(nil, 0, 2)
      return false
    }
    #expect(isGone)
  }

  @Test func twoRunAtOnceAndTheOldestAreDropped() {
    var lane = DeliveryLane(name: "hook", width: 2)
    var said: [String] = []
    lane.add(job("sleep 60"))
    lane.add(job("sleep 60"))
    lane.tend(now: 0) { text, _ in said.append(text) }
    for number in 0..<150 { lane.add(job("exit \(number % 2)")) }
    #expect(lane.counts.dropped == 50)
    lane.tend(now: 10) { text, _ in said.append(text) }
    #expect(tend(&lane, at: 11, &said) { $0.isIdle })
    #expect(lane.counts == DeliveryLane.Counts(done: 50, failed: 50, timedOut: 2, dropped: 50))
  }

  /// What the other end answers, how often it is tried, and what is said.
  @Test(
    arguments: [
      ("printf 200", 1, "", 1), ("printf 204", 1, "", 1), ("printf 400", 1, "url: answered 400", 0),
      ("printf 503", 3, "url: answered 503", 0), ("printf 000; exit 7", 3, "url: cannot be reached (curl: 7)", 0),
    ])
  func aPostIsTriedAgain(_ script: String, _ tries: Int, _ words: String, _ done: Int) throws {
    let note = NSTemporaryDirectory() + "imdump-tries-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: note) }
    var lane = DeliveryLane(name: "url", width: 1)
    var said: [String] = []
    lane.add(job("echo try >> \(note); \(script)", isPost: true))
    // The pauses are at most 1.5 and 3 s.
    for now in [0.0, 2, 6] {
      #expect(tend(&lane, at: now, &said) { !$0.isRunning })
    }
    #expect(lane.isIdle)
    #expect(try String(contentsOfFile: note, encoding: .utf8) == String(repeating: "try\n", count: tries))
    #expect(said == (words.isEmpty ? [] : [words]))
    #expect(lane.counts.done == done)
  }

  /// A post that has to be tried again holds back those behind it, of the same alert and of others.
  @Test func aPostIsNotOvertaken() throws {
    let note = NSTemporaryDirectory() + "imdump-order-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: note) }
    var lane = DeliveryLane(name: "url", width: 1)
    var said: [String] = []
    // The first try of the first one fails.
    let first = job("echo a >> \(note); test $(wc -l < \(note)) -gt 1 && printf 200 || printf 503", isPost: true)
    lane.add(first)
    for word in ["b", "c"] { lane.add(job("echo \(word) >> \(note); printf 200", isPost: true)) }
    #expect(tend(&lane, at: 0, &said) { !$0.isRunning })
    #expect(tend(&lane, at: 2, &said) { $0.isIdle })
    #expect(try String(contentsOfFile: note, encoding: .utf8) == "a\na\nb\nc\n")
    #expect(lane.counts == DeliveryLane.Counts(done: 3))
  }

  /// Of two programs about one alert the second waits for the first; one about another alert does not. The first one waits for a file that only
  /// the last one makes.
  @Test func programsOfAnAlertRunOneAfterAnother() throws {
    let note = NSTemporaryDirectory() + "imdump-keys-\(UUID().uuidString)"
    defer { for end in ["", ".go"] { try? FileManager.default.removeItem(atPath: note + end) } }
    var lane = DeliveryLane(name: "hook", width: 2)
    var said: [String] = []
    for (script, key) in [
      ("while ! test -e \(note).go; do :; done; echo firing >> \(note)", "x"), ("echo resolved >> \(note)", "x"),
      ("echo other >> \(note); touch \(note).go", "y"),
    ] {
      var job = job(script)
      job.key = key
      lane.add(job)
    }
    #expect(tend(&lane, at: 0, &said) { $0.isIdle })
    #expect(try String(contentsOfFile: note, encoding: .utf8) == "other\nfiring\nresolved\n")
  }

  /// Too many requests are tried again, when the other end wishes, but not in hours.
  @Test(arguments: [("429 7", 7.0), ("503 20", 20.0), ("429 100000", 300.0), ("429", 0.5), ("425 nonsense", 0.5)])
  func theOtherEndSaysWhen(_ answer: String, _ wait: Double) throws {
    let note = NSTemporaryDirectory() + "imdump-later-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: note) }
    var lane = DeliveryLane(name: "url", width: 1)
    var said: [String] = []
    lane.add(
      job("echo try >> \(note); test $(wc -l < \(note)) -gt 1 && printf 204 || printf '\(answer)'", isPost: true))
    #expect(tend(&lane, at: 0, &said) { !$0.isRunning })
    lane.tend(now: wait - 0.01) { text, _ in said.append(text) }
    #expect(!lane.isRunning && !lane.isIdle)
    #expect(tend(&lane, at: max(wait, 1.5), &said) { $0.isIdle })
    #expect(try String(contentsOfFile: note, encoding: .utf8) == "try\ntry\n")
    #expect(lane.counts == DeliveryLane.Counts(done: 1) && said == [])
  }

  /// What cannot be delivered is handed over, in order, with all that waits behind it; what is refused is not.
  @Test func whatCannotBeDeliveredIsHandedOver() {
    var lane = DeliveryLane(name: "url", width: 1)
    var kept: [String] = []
    func over(_ job: DeliveryLane.Job, _ outcome: DeliveryLane.Outcome) -> Bool {
      guard outcome != .done, outcome != .failed else { return false }
      kept.append(job.key)
      return true
    }
    for (key, script) in [("no", "printf 400"), ("a", "printf 503"), ("b", "printf 200"), ("c", "printf 200")] {
      var job = job(script, isPost: true)
      job.key = key
      lane.add(job)
    }
    var now = 0.0
    for _ in 0..<4 {
      for _ in 0..<10_000 {
        lane.tend(now: now, over: over) { _, _ in }
        if !lane.isRunning { break }
        _ = poll(nil, 0, 2)
      }
      now += 5
    }
    #expect(kept == ["a", "b", "c"] && lane.isIdle)
    #expect(lane.counts == DeliveryLane.Counts(failed: 1, spooled: 3))
    // At the end what runs is handed over before what waits.
    kept = []
    for (key, script) in [("d", "exec sleep 60"), ("e", "printf 200"), ("f", "printf 200")] {
      var job = job(script, isPost: true)
      job.key = key
      lane.add(job)
    }
    lane.tend(now: now, over: over) { _, _ in }
    lane.giveUp(now: now, over: over)
    for _ in 0..<10_000 where !lane.isIdle {
      lane.tend(now: now + 2, over: over) { _, _ in }
      _ = poll(nil, 0, 2)
    }
    #expect(kept == ["d", "e", "f"])
  }

  /// The first lines of what a program says of its failure, in one line that a terminal can take.
  @Test(
    arguments: [
      ("echo no such host >&2; exit 3", "hook: ended with status 3: no such host"),
      ("printf 'a\\n\\nb\\r\\nc\\nd\\n' >&2; exit 1", "hook: ended with status 1: a / b / c"),
      ("printf '\\033[31mred\\000' >&2; exit 1", "hook: ended with status 1: \\x1b[31mred\\x00"),
      ("echo fine >&2", ""),
      (
        "head -c 300000 /dev/zero | tr '\\0' x >&2; exit 2",
        "hook: ended with status 2: \(String(repeating: "x", count: 200))..."
      ),
    ])
  func aProgramSaysWhy(_ script: String, _ words: String) {
    var lane = DeliveryLane(name: "hook", width: 2)
    var said: [String] = []
    lane.add(job(script))
    #expect(tend(&lane, at: 0, &said) { $0.isIdle })
    #expect(said == (words.isEmpty ? [] : [words]))
  }

  @Test func aMessageSurvivesItsWay() {
    let message = DeliveryMessage("alert", "firing", DeliveryMessage.list(["a=1", "b=c d", ""]), "")
    let again = DeliveryMessage(decoding: message.bytes[...])
    #expect(again == message)
    #expect(again?.list(2) == ["a=1", "b=c d", ""])
    for count in 0..<message.bytes.count {
      // A cut message is none, or a shorter one.
      if let part = DeliveryMessage(decoding: message.bytes[..<count]) { #expect(part.parts.count < 4) }
    }
    #expect(DeliveryMessage(decoding: [255, 255, 255, 255, 0]) == nil)
  }

  @Test func curlReadsWhatWasMeant() {
    let text = DeliveryRun.curl("http://h/p?a=\"b", "{\"a\":\"x\\ny\"}")
    #expect(text.contains("url = \"http://h/p?a=\\\"b\"\n"))
    #expect(text.contains("data-raw = \"{\\\"a\\\":\\\"x\\\\ny\\\"}\"\n"))
  }

  @Test(
    arguments: [
      ("https://me:secret@hooks.example/T0/B0/key", "https://hooks.example"),
      ("http://127.0.0.1:9093/", "http://127.0.0.1:9093"),
      ("https://h?token=x@y", "https://h"),
    ])
  func anAddressIsShownWithoutItsSecrets(_ address: String, _ shown: String) {
    #expect(DeliveryRun.shown(address) == shown)
  }
}
