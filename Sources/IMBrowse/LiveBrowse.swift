import Glibc
import IMBrowser
import IMCapture
import IMDescriptors
import IMEngine
import IMIndexing
import IMOutput
import IMProfile
import IMRun
import IMSystem
import IMTerminal
import IMWire

/// A live capture on the screen: `imdump browse -i`.
///
/// The capture writes a store, as `imdump -i --store` does, on threads of its own; the screen reads that store, as it reads any other
/// that is being written. So neither waits for the other.
struct LiveBrowse {
  private var input: InputOptions
  private let decode: DecodeOptions
  private let options: BrowseOptions
  private let isColoured: Bool
  private let sandbox: Sandbox
  private let plans: (frames: [ProtocolPlan], files: [ProtocolPlan], capture: [ProtocolPlan])
  private let source: BrowsedSource
  private let features: StoringFeatures

  /// Bytes of a store at which its oldest messages are removed; half of them are for packets, where `-w` keeps none.
  private static let maximumBytes: UInt64 = 4 << 30

  init(
    _ input: InputOptions, _ decode: DecodeOptions, _ options: BrowseOptions, isColoured: Bool,
    _ features: @escaping StoringFeatures
  ) throws(UsageError) {
    guard !input.waitsForInterface else {
      throw UsageError(message: "browse does not support --wait-interface: the interface must exist")
    }
    guard input.writePath != "-" else {
      throw UsageError(message: "-w - is not possible with browse: the screen is on standard output")
    }
    sandbox = try Sandbox(input.sandbox, isLive: true)
    var source = BrowsedSource(interface: input, decode.words(nil))
    self.input = input
    // The bytes of a message that is shown can be asked for: they are in the file then.
    self.input.isUnbuffered = true
    self.decode = try resolved(decode, input)
    self.options = options
    self.isColoured = isColoured
    self.features = features
    plans = (try loaded(self.decode), try loaded(self.decode), try loaded(self.decode))
    source.topicFields = MessageText.topicFields(plans.capture)
    self.source = source
  }

  func perform() throws(UsageError) -> ExitStatus {
    let session = try takeTerminal(options)
    let names: NameSources?
    do throws(CaptureError) { names = try openNames(options, sandbox) } catch {
      logError(error.description)
      return ExitStatus(error)
    }
    guard let wakeEnd = listenToSignals() else { return .failure }
    let loading = StoreLoading { TerminalSignals.wake() }
    loading.change { $0.isLive = true }
    do throws(CaptureError) {
      let cache = options.storePath.isEmpty ? try CacheFile(for: sandbox.user) : nil
      defer { cache?.remove() }
      let path = cache?.path ?? options.storePath
      let capture = try LiveRun(
        Run(watched: input, plans: plans.capture, decode: decode, report: quiet, sandbox: sandbox),
        choices(path), loading, features)
      let answers = AnswerMailbox { TerminalSignals.wake() }
      // The packets that `-w` has written are read as any file is.
      var reading = input
      (reading.interface, reading.writePath, reading.packetLimit, reading.captureFilter) = (nil, nil, nil, nil)
      let term = getenv("TERM").map { String(cString: $0) } ?? ""
      var browser = Browser(source, zone: .local, hasMouse: options.hasMouse)
      if names != nil { browser.names = NameRegistry() }
      browser.graph = options.graph ?? GraphStyle(isUTF8: localeIsUTF8(), term: term)
      let loop = BrowseLoop(
        browser, session,
        colours: ColourLevel(term: term, isWanted: isColoured), wakeEnd: wakeEnd, answers: answers, loading: loading,
        isThere: false
      ) { [plans, decode] () throws(CaptureError) in
        try BrowseReaders(capture.place ?? path, reading, (plans.frames, plans.files), decode, answers, names: names)
      }
      session.hold()
      defer { session.release() }
      loop.paintFirst()
      try capture.start()
      let status = loop.run()
      session.end()
      // What was stored is told where it stays.
      return capture.end(status, saysStore: cache == nil)
    } catch {
      logError(error.description)
      return ExitStatus(error)
    }
  }

  private var quiet: ReportOptions {
    var report = ReportOptions()
    (report.isQuiet, report.showsProgress) = (true, false)
    return report
  }

  private func choices(_ path: String) -> StoreChoices {
    var choices = StoreChoices()
    choices.path = path
    choices.keepsPayload = options.keepsPayload
    choices.maximumBytes = Self.maximumBytes
    choices.keepsPackets = true
    return choices
  }
}

extension BrowsedSource {
  /// What is captured on an interface: where packets are written they can be read again.
  fileprivate init(interface input: InputOptions, _ words: [String]) {
    self.init(files: input.writePath.map { [$0] } ?? [], isStore: false, options: words)
    (interface, captureFilter) = (input.interface, input.captureFilter)
  }
}
