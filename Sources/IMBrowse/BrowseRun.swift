import CSandbox
import Glibc
package import IMBrowser
import IMDescriptors
import IMEngine
package import IMIndexing
import IMOutput
import IMProfile
package import IMRun
import IMStore
package import IMSystem
import IMTerminal
import IMWire
import IMYAML

/// What is asked of the browser.
package struct BrowseOptions: Sendable {
  /// Whether what users write is kept, to be shown.
  package var keepsPayload = false
  /// Whether the mouse is used.
  package var hasMouse = true
  /// A file with names of ids or addresses; empty for none.
  package var namesPath = ""
  /// Whether names of addresses are looked up, and whether that is forbidden, whatever else is said.
  package var resolvesNames = false, isNumeric = false
  /// The store that a live capture writes; empty for one that goes at the end.
  package var storePath = ""
  /// How figures over time are drawn; `nil` for what the terminal shows best.
  package var graph: GraphStyle?

  /// The defaults.
  package init() {}
}

/// Shows the sessions and messages of a store or of captures on the terminal: `imdump browse`. `features` creates what accompanies a run that
/// writes the store.
package func runBrowse(
  input: InputOptions, decode: DecodeOptions, report: ReportOptions, isColoured: Bool, options: BrowseOptions,
  features: @escaping StoringFeatures
) throws(UsageError) -> ExitStatus {
  settleZone(isUTC: report.isUTC)
  if input.interface != nil {
    return try LiveBrowse(input, decode, options, isColoured: isColoured, features).perform()
  }
  guard options.storePath.isEmpty, input.writePath == nil else {
    throw UsageError(message: "--store and -w need -i; imdump index writes a store from files")
  }
  let isStore = try checked(input)
  for file in input.files where access(file, R_OK) != 0 {
    logError("\(file): \(systemText(errno))")
    return .noInput
  }
  let session = try takeTerminal(options)
  let sandbox = try Sandbox(input.sandbox, isLive: false, isReader: false)
  let asked = decode
  let decode = try resolved(decode, input)
  // Each thread that decodes has plans of its own.
  let plans = (frames: try loaded(decode), files: try loaded(decode), capture: try loaded(decode))
  var names: NameSources?
  do throws(CaptureError) { names = try openNames(options, sandbox) } catch {
    logError(error.description)
    return ExitStatus(error)
  }
  // A store that is read is kept, and with it what was looked up.
  if names?.resolver != nil { names?.keepsNames = isStore }
  guard let wakeEnd = listenToSignals() else { return .failure }
  var source = BrowsedSource(files: input.files, isStore: isStore, options: asked.words(nil))
  source.captureFilter = input.captureFilter
  source.topicFields = MessageText.topicFields(plans.frames)
  if !isStore { source.captures = input.files }
  var browser = Browser(source, zone: .local, hasMouse: options.hasMouse)
  if names != nil { browser.names = NameRegistry() }
  let term = getenv("TERM").map { String(cString: $0) } ?? ""
  browser.graph = options.graph ?? GraphStyle(isUTF8: localeIsUTF8(), term: term)
  let answers = AnswerMailbox { TerminalSignals.wake() }
  let loading = StoreLoading { TerminalSignals.wake() }
  do throws(CaptureError) {
    let cache = isStore ? nil : try CacheFile()
    defer { cache?.remove() }
    let place = try confine(
      cache?.path ?? input.files[0], isNew: !isStore, keepsNames: names?.keepsNames ?? false, sandbox)
    if isStore { try checkStore(place, called: input.files[0]) }
    let loop = BrowseLoop(
      browser, session, colours: ColourLevel(term: term, isWanted: isColoured), wakeEnd: wakeEnd, answers: answers,
      loading: loading, isThere: isStore
    ) { () throws(CaptureError) in
      try BrowseReaders(place, input, (plans.frames, plans.files), decode, answers, names: names)
    }
    session.hold()
    defer { session.release() }
    loop.paintFirst()
    if isStore {
      // Another process may be writing it.
      let watching = try StoreWatching(place, loading)
      defer { watching.end() }
      return loop.run()
    }
    do {
      var choices = StoreChoices()
      choices.path = place
      choices.keepsPayload = options.keepsPayload
      var report = ReportOptions()
      report.isQuiet = true
      report.showsProgress = false
      _ = try loading.start(
        Run(embedded: input, plans: plans.capture, decode: decode, report: report), choices, features)
    }
    return loop.run()
  } catch {
    logError(error.description)
    return ExitStatus(error)
  }
}

/// The terminal, which is not switched to anything yet.
func takeTerminal(_ options: BrowseOptions) throws(UsageError) -> TerminalSession {
  if let session = TerminalSession(hasMouse: options.hasMouse) { return session }
  throw UsageError(
    message: "browse needs a terminal for input and output; imdump messages and imdump query print without one")
}

/// Opens the file of names, where one is given, while all files can be, and starts the process that looks names up, where they are to
/// be, while there is one thread; `nil` where neither is asked for.
func openNames(_ options: BrowseOptions, _ sandbox: Sandbox) throws(CaptureError) -> NameSources? {
  var sources = NameSources()
  if options.resolvesNames, !options.isNumeric { sources.resolver = NameResolver(socket: try sandbox.startResolver()) }
  if !options.namesPath.isEmpty {
    let descriptor = open(options.namesPath, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      throw CaptureError(.notFound, options.namesPath, systemText(errno), errno: errno)
    }
    sources.file = descriptor
  }
  return sources.file == nil && sources.resolver == nil ? nil : sources
}

/// The folder in which files may be saved once privileges are dropped: the one in which the command was started, and those in it.
func savingFolders() -> [Int32] {
  let folder = imdump_open_folder(".")
  return folder >= 0 ? [folder] : []
}

/// The descriptor on which signals tell; `nil` where there is none, which has been said.
func listenToSignals() -> Int32? {
  if let wakeEnd = TerminalSignals.start() { return wakeEnd }
  logError("browse: make a pipe: \(systemText(errno))")
  return nil
}

/// Whether the input is a store; refuses what cannot be browsed.
private func checked(_ input: InputOptions) throws(UsageError) -> Bool {
  guard !input.files.contains("-") else {
    throw UsageError(message: "browse cannot read a capture from standard input, which is for keys")
  }
  if input.readOnce != nil { throw UsageError(message: "browse reads captures more than once; give files, not a pipe") }
  let stores = input.files.filter { StoreFile.isStore($0) }
  guard stores.isEmpty || (input.files.count == 1 && input.captureFilter == nil) else {
    throw UsageError(message: "give browse one store, or captures")
  }
  return !stores.isEmpty
}

/// Refuses a store of another format before the screen shows nothing of it.
private func checkStore(_ path: String, called name: String) throws(CaptureError) {
  do throws(StoreError) { _ = try StoreReader(path) } catch {
    throw CaptureError(.notFound, name, "\(error.attempt): \(error.text)")
  }
}

/// The options with what has to be read for them.
func resolved(_ decode: DecodeOptions, _ input: InputOptions) throws(UsageError) -> DecodeOptions {
  var decode = decode
  decode.profiles = profileNames(decode.profiles)
  if let path = decode.hashKeyFile { decode.identities = try readHashKey(path) }
  decode.secrets = try KeyLogs.of(decode, input, isQuiet: true)
  // As in `index`.
  decode.memory -= decode.memory / 8
  return decode
}

func loaded(_ decode: DecodeOptions) throws(UsageError) -> [ProtocolPlan] {
  do throws(ProfileError) { return try loadProfiles(decode.profiles) } catch {
    throw UsageError(message: error.description)
  }
}

/// Gives up what browsing does not need, before a byte of the files is read. Gives the store's path from the root.
private func confine(
  _ path: String, isNew: Bool, keepsNames: Bool, _ sandbox: Sandbox
) throws(CaptureError) -> String {
  do throws(StoreError) {
    guard isNew else {
      return try confinedStore(
        path, sandbox, isInteractive: true, others: savingFolders(), writesDatabase: keepsNames)
    }
  } catch {
    throw CaptureError(error.kind == .notFound ? .notFound : .ioError, path, "\(error.attempt): \(error.text)")
  }
  let file = try StoreFile(path)
  try sandbox.enter(
    folders: [file.folder] + savingFolders(), mayWrite: true, keepsDatabase: true, isInteractive: true)
  return file.place
}
