import IMBrowser
import IMCapture
import IMDescriptors
import IMEngine
import IMFields
import IMOutput
import IMProfile
import IMRun
import IMStore
import IMSystem
import IMWire

/// Finds the frame of a message in its capture, in the cheapest way that does.
struct FrameSearch {
  /// What came of a search.
  enum Outcome {
    /// The frame.
    case found(FrameDissection)
    /// Why there is none.
    case failed(String)
    /// It was given up: nobody waits for it.
    case given
  }

  private let input: InputOptions
  private let plans: [ProtocolPlan]
  private let decode: DecodeOptions
  private let isStale: () -> Bool

  /// A search in captures that are read by these options; it is given up when `isStale` says so.
  init(
    _ input: InputOptions, _ plans: [ProtocolPlan], _ decode: DecodeOptions, isStale: @escaping () -> Bool
  ) {
    (self.input, self.plans, self.decode, self.isStale) = (input, plans, decode, isStale)
  }

  /// Finds the frame of a message, whose place the store tells.
  func find(_ wanted: FrameRequest, _ place: StoredPlace?) -> Outcome {
    guard let place, let capture = place.capture else { return .failed("the message's bytes are no longer kept") }
    // A store says which file: a pipe that somebody has put in its place, or the terminal, would be waited for.
    guard let byteCount = fileByteCount(capture) else { return .failed("\(capture): the capture is gone") }
    if let before = place.captureByteCount, byteCount < before {
      return .failed("\(capture): is shorter than when it was indexed: \(byteCount) bytes, was \(before)")
    }
    let odd = wanted.files.first { !$0.isEmpty && fileByteCount($0) == nil }
    do throws(CaptureError) {
      if let frame = try inPlace(place, capture, wanted.direction) { return .found(frame) }
      if isStale() { return .given }
      // Connections go on from one capture to the next.
      if let odd { return .failed("\(odd): the capture is gone") }
      // The last way is without a filter.
      for filter in [Self.filter(place)].filter({ $0 != nil }) + [nil] {
        let (found, errors) = decoded(wanted, place, filter)
        if let found { return .found(found) }
        if isStale() { return .given }
        if filter == nil, let error = errors.first { return .failed(error.description) }
      }
    } catch {
      return .failed(error.description)
    }
    return .failed("the message is not in \(capture): the capture has changed since it was indexed")
  }

  /// The frame where it stands in one piece.
  func inPlace(
    _ place: StoredPlace, _ capture: String, _ direction: Direction
  ) throws(CaptureError) -> FrameDissection? {
    guard let offset = place.offset, let frame = LoneFrame(place, direction, plans) else { return nil }
    let bytes = try CaptureBytes.read(capture, at: offset, count: place.byteCount, isStopped: isStale)
    return frame.anatomy(bytes, decode)
  }

  /// The frame in the captures, as they are decoded up to it; of packets that pass `filter` only.
  func decoded(
    _ wanted: FrameRequest, _ place: StoredPlace, _ filter: String?
  ) -> (FrameDissection?, [CaptureError]) {
    var input = input
    // Those of a live run that are there no more have no path.
    input.files = wanted.files.filter { !$0.isEmpty }
    if let filter { input.captureFilter = input.captureFilter.map { "(\($0)) and \(filter)" } ?? filter }
    let finder = FrameFinder(wanted, place, plans, input.files)
    var report = ReportOptions()
    report.isQuiet = true
    report.showsProgress = false
    let run = Run(embedded: input, plans: plans, decode: decode, report: report)
    let driver = run.driver(run.engine(.frames, sink: finder))
    let errors = run.lead(driver, isOver: { finder.found != nil || isStale() })
    return (finder.found, errors)
  }

  /// The packets of a message's connection, in libpcap's language; `nil` where its ends are no addresses.
  static func filter(_ place: StoredPlace) -> String? {
    func end(_ text: String) -> String? {
      guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
        return nil
      }
      let address = text[..<colon].drop { $0 == "[" }.filter { $0 != "]" }
      guard !address.isEmpty, address.allSatisfy({ $0.isHexDigit || $0 == "." || $0 == ":" }) else { return nil }
      return "host \(address) and tcp port \(port)"
    }
    guard let client = end(place.client), let server = end(place.server) else { return nil }
    return "\(client) and \(server)"
  }
}

/// Takes apart the one frame that is wanted.
private final class FrameFinder: EngineSink {
  private let wanted: FrameRequest
  private let place: StoredPlace
  private let plans: [ProtocolPlan]
  /// The files that are read.
  private let paths: [String]
  private(set) var found: FrameDissection?
  /// Of some protocols a frame says what the next ones mean, as the version in MQTT's CONNECT.
  private var book = FieldReaderCache()

  init(_ wanted: FrameRequest, _ place: StoredPlace, _ plans: [ProtocolPlan], _ paths: [String]) {
    (self.wanted, self.place, self.plans, self.paths) = (wanted, place, plans, paths)
  }

  func frame(
    _ frame: Frame, _ note: FrameNote, _ connection: ConnectionInfo, _ direction: Direction, bytes: RawSpan,
    body: RawSpan, tlvs: Span<TLVRef>
  ) {
    guard found == nil, Int(connection.plan) < plans.count else { return }
    let plan = plans[Int(connection.plan)]
    let isFound =
      PacketNumber.inFile(frame.number) == wanted.packet
      && (paths.count < 2 || paths[Int(PacketNumber.file(frame.number))] == place.capture)
      && frame.streamOffset == wanted.streamOffset && direction == wanted.direction && place.isOf(frame, plan)
    if isFound {
      found = FrameDissection(frame, connection, direction, plan, bytes: bytes, body: body, tlvs: tlvs, book: &book)
    } else if plan.fields?.remembers == true {
      _ = book.fields(frame, connection, direction, plan, bytes: bytes, body: body)
    }
  }
}
