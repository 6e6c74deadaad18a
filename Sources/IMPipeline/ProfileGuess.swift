import IMCapture
import IMDescriptors
import IMEngine
import IMInference
import IMOutput
import IMProfile
package import IMRun
package import IMSystem
import IMWire
import IMYAML

/// Makes a skeleton of a profile from captures, and prints it: `imdump profile new`.
///
/// What the page says is tested: it is compiled, and the captures are decoded with it. The status is `failure` where no framing
/// was found, or nothing was decoded.
package func guessProfile(
  _ input: InputOptions, port: UInt16?, name: String, report: ReportOptions
) throws(UsageError) -> ExitStatus {
  if let once = input.readOnce {
    throw UsageError(
      message: "profile new reads the capture twice; give a file, not \(once)")
  }
  let stopping = SignalHandlers()
  let sandbox = try Sandbox(input.sandbox, isLive: false)
  var collector = StreamCollector(options: SampleLimits.streams)
  let status = readStreams(input, stopping, into: &collector) { () throws(CaptureError) in
    InputFile.expect(input.files)
    try sandbox.enter(folders: [], mayWrite: false)
  }
  guard status != .usage, collector.packets > 0 || status == .success else { return status }
  var picker = SamplePicker(collector.finish(), port: port)
  guard let samples = picker.samples() else {
    logError(picker.complaint)
    return max(status, .failure)
  }
  let guess: Guess
  switch Guess.make(samples) {
  case .success(let found): guess = found
  case .failure(let refusal):
    let compressed =
      samples.compressedCount > 0
      ? "; \(count(UInt64(samples.compressedCount), "WebSocket message")) not analyzed, being compressed" : ""
    logError("port \(samples.port): \(refusal.reason)\(compressed)")
    return max(status, .failure)
  }
  var best: (page: String, outcome: ProfileSkeleton.Outcome)?
  for proof in guess.proofs where !stopping.stop.isStopped || best == nil {
    func page(_ outcome: ProfileSkeleton.Outcome?) -> String {
      guess.page(name: name, ports: [samples.port], notes: samples.notes, proof: proof, outcome: outcome)
    }
    do throws(ProfileError) {
      let plan = try ProfileCompiler.compile(page(nil), source: "\(name).yaml")
      let outcome = decode(input, plan, report)
      if let known = best, known.outcome.frames >= outcome.frames { continue }
      best = (page(outcome), outcome)
    } catch {
      // A page that does not compile is ours to mend, and of no use to anybody.
      logError("the skeleton is not a valid profile, which is a bug in imdump: \(error.description)")
      return .failure
    }
  }
  guard let best else { return max(status, .failure) }
  var out = ByteWriter()
  out.text(best.page)
  let output = Output.standard()
  output.drain(&out)
  if let error = output.error {
    if error.isBrokenPipe { return .success }
    logError(error.description)
    return .ioError
  }
  if stopping.stop.isStopped {
    logError("interrupted: the skeleton is based on what was read until then")
    return max(status, .interrupted)
  }
  if best.outcome.frames == 0 { logError("this skeleton decodes nothing in the capture: see its comments") }
  return max(status, best.outcome.frames == 0 ? .failure : .success)
}

/// The protocol that was found: positions of numbers in headers, or paths of members in contents.
private enum Guess {
  case header(GuessedProtocol)
  case content(GuessedContent)

  /// The reason why nothing was found.
  struct Refusal: Error {
    var reason: String
  }

  /// The guess from samples. Contents come first, since they prove a framing by themselves.
  static func make(_ samples: SamplePicker.Samples) -> Result<Guess, Refusal> {
    let streams = samples.streams
    if !samples.messages.isEmpty, let content = GuessedContent(messages: samples.messages) { return told(content) }
    if let content = GuessedContent(streams) {
      // A header before the content may contain types and numbers.
      if content.hasOtherHeader,
        let header = GuessedProtocol(streams, seconds: samples.seconds, content: content.found), header.type != nil
      {
        return .success(.header(header))
      }
      return told(content)
    }
    if let reason = GuessedContent.reasonAgainstText(streams), samples.byteCount >= 512 {
      return .failure(Refusal(reason: "\(count(UInt64(samples.byteCount), "byte")) of \(reason)"))
    }
    if let content = GuessedContent(streams, isBinary: true) { return told(content) }
    guard let header = GuessedProtocol(streams, seconds: samples.seconds) else {
      let bytes = count(UInt64(samples.byteCount), "byte")
      let connections = count(UInt64(samples.connections), "connection")
      return .failure(
        Refusal(
          reason: "no length, delimiter, line or content found that divides \(bytes) of \(connections) into frames"
            + (samples.byteCount < 512 ? ": too little data" : ": encrypted, compressed, or framed differently")))
    }
    if let refusal = ProfileSkeleton.refusal(header) { return .failure(Refusal(reason: refusal)) }
    return .success(.header(header))
  }

  private static func told(_ content: GuessedContent) -> Result<Guess, Refusal> {
    if let refusal = ContentSkeleton.refusal(content) { return .failure(Refusal(reason: refusal)) }
    return .success(.content(content))
  }

  /// The amounts of proof that types may need.
  var proofs: [ProfileSkeleton.Proof] {
    switch self {
    case .header(let guess): ProfileSkeleton.proofs(guess)
    case .content: [.none]
    }
  }

  /// The text of the profile.
  func page(
    name: String, ports: [UInt16], notes: [String], proof: ProfileSkeleton.Proof, outcome: ProfileSkeleton.Outcome?
  ) -> String {
    switch self {
    case .header(let guess):
      ProfileSkeleton.text(guess, name: name, ports: ports, notes: notes, proof: proof, outcome: outcome)
    case .content(let guess):
      ContentSkeleton.text(guess, name: name, ports: ports, notes: notes, outcome: outcome)
    }
  }
}

/// Decodes the whole input with `plan` alone.
private func decode(_ input: InputOptions, _ plan: ProtocolPlan, _ report: ReportOptions) -> ProfileSkeleton.Outcome {
  var quiet = report
  quiet.isQuiet = true
  let run = Run(embedded: input, plans: [plan], decode: DecodeOptions(), report: quiet)
  let driver = run.driver(run.engine())
  // What is wrong with the input was told when it was sampled.
  _ = run.lead(driver)
  let ledger = driver.engine.totals
  var frames: UInt64 = 0
  for kind in 0...64 {
    let totals = driver.engine.totals(plan: 0, kind: kind)
    frames += totals.frames[0] + totals.frames[1]
  }
  return ProfileSkeleton.Outcome(
    frames: frames, connections: UInt64(ledger.decodedConnections), allConnections: UInt64(ledger.connections),
    bytes: ledger.decodedBytes + ledger.damagedBytes + ledger.strayBytes + ledger.unreadBytes - ledger.carrierBytes,
    strayBytes: ledger.strayBytes + ledger.unreadBytes - ledger.carrierBytes)
}

/// How much of a capture is looked at.
enum SampleLimits {
  /// Bytes of a direction, and of all.
  static let direction = 512 << 10
  static let total = 8 << 20
  /// Directions.
  static let directions = 4_096

  /// What is kept of streams.
  static var streams: StreamOptions {
    var options = StreamOptions()
    options.keepsStarts = true
    options.directionLimit = direction
    options.contentLimit = 192 << 20
    options.seed = .random(in: .min ... .max)
    return options
  }
}

/// Chooses the streams of one protocol, which is what one port of servers speaks.
struct SamplePicker {
  /// What was chosen.
  struct Samples {
    var streams: [StreamSample]
    /// The same bytes as WebSocket messages, each of them a run; empty if they are none.
    var messages: [StreamSample] = []
    /// The number of compressed WebSocket messages, which are not analyzed.
    var compressedCount = 0
    var port: UInt16
    var connections: Int
    var byteCount: Int
    var seconds: ClosedRange<Int64>
    /// Sentences for the head of a page.
    var notes: [String]
  }

  private let streams: [CollectedStream]
  private let wanted: UInt16?
  /// Why there are no samples.
  private(set) var complaint = ""

  init(_ streams: [CollectedStream], port: UInt16?) {
    self.streams = streams
    wanted = port
  }

  /// The port of the server of a stream: that of whoever answered the SYN, or else the one that more streams have.
  private func servers() -> [(port: UInt16, isTurned: Bool)] {
    var ports: [UInt16: Int] = [:]
    for stream in streams {
      ports[stream.server.port, default: 0] += stream.sawSYN ? 2 : 1
      ports[stream.client.port, default: 0] += stream.sawSYN ? 0 : 1
    }
    return streams.map { stream in
      if let wanted, !stream.sawSYN, stream.client.port == wanted { return (wanted, true) }
      guard !stream.sawSYN, ports[stream.client.port, default: 0] > ports[stream.server.port, default: 0] else {
        return (stream.server.port, false)
      }
      return (stream.client.port, true)
    }
  }

  /// The samples of the port that was asked for, or of the one with the most bytes; `nil` where there are none.
  mutating func samples() -> Samples? {
    let servers = servers()
    var bytes: [UInt16: Int] = [:]
    for (stream, server) in zip(streams, servers) {
      bytes[server.port, default: 0] += stream.directions.reduce(0) { $0 + $1.ranges.reduce(0) { $0 + $1.count } }
    }
    bytes = bytes.filter { $0.value > 0 }
    let ranked = bytes.sorted { (-$0.value, $0.key) < (-$1.value, $1.key) }
    guard let port = wanted ?? ranked.first?.key, bytes[port] != nil else {
      complaint =
        wanted.map { "no TCP data on port \($0); there is data on \(Self.list(ranked.map(\.key)))" }
        ?? "no TCP data to make a profile of"
      if ranked.isEmpty { complaint = "no TCP data to make a profile of" }
      return nil
    }
    var result = Samples(streams: [], port: port, connections: 0, byteCount: 0, seconds: 0...0, notes: [])
    var first = Int64.max
    var last = Int64.min
    var damaged = 0
    var isCut = false
    var web = WebSocketSamples()
    for (stream, server) in zip(streams, servers) where server.port == port {
      let sides = server.isTurned ? [1, 0] : [0, 1]
      let note = CarrierNote(stream.directions[sides[0]].content)
      guard !note.hasDamagedHeader else {
        damaged += 1
        continue
      }
      var samples: [StreamSample] = []
      for direction in 0...1 {
        guard result.streams.count + web.streams.count < SampleLimits.directions,
          result.byteCount + web.byteCount < SampleLimits.total
        else {
          isCut = true
          break
        }
        let side = stream.directions[sides[direction]]
        if side.bytesNotKept > 0 { isCut = true }
        guard
          let sample = StreamSample(
            side, connection: stream.id, direction: direction, isFromStart: stream.sawSYN,
            skipping: direction == 0 ? note.headerCount : 0,
            limit: SampleLimits.total - result.byteCount - web.byteCount)
        else { continue }
        samples.append(sample)
      }
      first = min(first, stream.firstSeen.nanoseconds / 1_000_000_000)
      last = max(last, stream.lastSeen.nanoseconds / 1_000_000_000)
      guard !web.take(samples, isUpgraded: note.carriers.contains(.webSocket)) else { continue }
      result.connections += 1
      for sample in samples { result.byteCount += sample.bytes.count }
      result.streams += samples
    }
    // The larger part of the bytes decides.
    if web.byteCount > result.byteCount {
      result.notes.append(contentsOf: web.notes)
      if result.connections > 0 {
        result.notes.append("\(count(UInt64(result.connections), "connection")) without WebSocket left out.")
      }
      (result.streams, result.messages, result.byteCount) = (web.streams, web.messages, web.byteCount)
      result.connections = web.connections
      result.compressedCount = web.compressed
    } else if web.connections > 0 {
      result.notes.append("\(count(UInt64(web.connections), "connection")) of WebSocket left out.")
    }
    guard result.connections > 0, !result.streams.isEmpty, first <= last else {
      complaint =
        web.compressed > 0
        ? "port \(port): \(count(UInt64(web.connections), "connection")) of WebSocket whose messages are compressed, which profile new does not read; you can still write and test a profile for the messages inside"
        : "port \(port): no TCP data to make a profile of"
      return nil
    }
    result.seconds = first...last
    result.notes.insert(
      "Port \(port): \(count(UInt64(result.connections), "connection")), \(count(UInt64(result.byteCount), "byte")) analyzed\(isCut ? ", not all" : "").",
      at: 0)
    if damaged > 0 {
      result.notes.append(
        "\(count(UInt64(damaged), "connection")) with an invalid PROXY header left out.")
    }
    let others = ranked.map(\.key).filter { $0 != port }
    if !others.isEmpty { result.notes.append("There is also data on other ports: \(Self.list(others)).") }
    return result
  }

  private static func list(_ ports: [UInt16]) -> String {
    ports.prefix(5).map(String.init).joined(separator: ", ") + (ports.count > 5 ? ", ..." : "")
  }
}

/// The connections of a port that carry WebSocket messages.
private struct WebSocketSamples {
  /// Messages, each of them a run, and the same bytes as streams without holes.
  private(set) var messages: [StreamSample] = []
  private(set) var streams: [StreamSample] = []
  private(set) var connections = 0, byteCount = 0, compressed = 0
  private var messageCount = 0, binary = 0

  /// Adds both directions of a connection; false if they are not WebSocket messages. With `isUpgraded`, its first request upgrades to them; without,
  /// a connection that was captured from its middle on may still contain nothing else.
  mutating func take(_ samples: [StreamSample], isUpgraded: Bool) -> Bool {
    guard isUpgraded || samples.contains(where: { !$0.isFromStart }) else { return false }
    let found = samples.map { WebSocketMessages($0) }
    guard isUpgraded || !found.isEmpty && found.allSatisfy(\.isBelieved) else { return false }
    connections += 1
    for one in found {
      messageCount += one.count
      binary += one.binaryCount
      compressed += one.compressedCount
      guard let sample = one.sample, let stream = one.stream else { continue }
      messages.append(sample)
      streams.append(stream)
      byteCount += sample.bytes.count
    }
    return true
  }

  /// Sentences for the head of a page.
  var notes: [String] {
    var notes = [
      "Inside WebSocket: \(count(UInt64(messageCount), "message")), \(grouped(UInt64(binary))) of them binary."
    ]
    if compressed > 0 {
      notes.append("\(count(UInt64(compressed), "compressed message")) not analyzed.")
    }
    return notes
  }
}

extension StreamSample {
  /// What was collected of a direction, but for its first `skipped` bytes, and no more than `limit` of it; `nil` where there is
  /// nothing.
  init?(
    _ side: CollectedDirection, connection: Int, direction: Int, isFromStart: Bool, skipping skipped: Int, limit: Int
  ) {
    var bytes: [UInt8] = []
    var runs: [Range<Int>] = []
    var starts: [SegmentStart] = []
    // The ranges without the bytes whose content was not kept: what was kept stands in front.
    var all: [UInt8] = []
    for piece in side.content where all.count < limit + skipped {
      piece.withUnsafeBytes { all += $0.prefix(limit + skipped - all.count) }
    }
    let segments = side.starts
    var next = 0
    var position = 0
    var isWhole = isFromStart
    for (index, range) in side.ranges.enumerated() {
      let available = min(range.count, all.count - position)
      guard available > 0 else { break }
      // Further ranges only where all of those in front were kept, since content has no places of its own.
      let drop = index == 0 && range.offset == 0 ? min(skipped, available) : 0
      if index == 0, range.offset != 0 { isWhole = false }
      let from = bytes.count
      bytes += all[position + drop..<position + available]
      if bytes.count > from { runs.append(from..<bytes.count) }
      while next < segments.count, segments[next].offset < range.offset + drop { next += 1 }
      if drop > 0, next < segments.count, segments[next].offset > range.offset + drop {
        starts.append(SegmentStart(offset: from, packet: segments[next].packet))
      }
      while next < segments.count, segments[next].offset < range.offset + available {
        let offset = segments[next].offset - range.offset - drop + from
        if starts.last?.offset != offset { starts.append(SegmentStart(offset: offset, packet: segments[next].packet)) }
        next += 1
      }
      position += available
      if available < range.count || side.bytesNotKept > 0 { break }
    }
    guard !bytes.isEmpty else { return nil }
    self.init(
      connection: connection, direction: direction, isFromStart: isWhole, bytes: bytes, runs: runs, starts: starts)
  }
}
