import Glibc
import IMEndpoint
import IMWire

/// One person's side of a conversation: what was typed goes out, what comes in is shown and marked as read.
final class ChatSession: Watcher {
  private let loop: EventLoop
  private let transport: LinuxTransport<ClientCore>
  private let session: SessionID
  private let peer: String
  private let group: String?
  private let saves: String?
  private let ledger: Ledger?
  private let store: FileStore?
  /// Where files are that come, until they are whole.
  private let bodies: FileBodies?
  private var storeProblem: StoreError?
  private var view: ChatView
  private var watch = EventLoop.Watch.none
  private var inbox = Inbox()
  private var typed = LineEditor()
  private var isEnding = false
  private var endedAt: Int64 = 0
  /// Standard input is a file.
  private var isFile = false
  /// Lines that the queue has no room for; nothing more is read meanwhile.
  private var waiting: [String] = []
  private var isConnected = false
  private var lostAt: Int64 = 0
  private var hasFailed = false
  /// The status to end with, once that is certain.
  private var status: Int32?
  /// The names that devices go by.
  private var names: [ClientIdentity: String] = [:]
  private var toldTyping = false
  private var messages: [MessageID: Int] = [:]
  private var reasons: [MessageID: FailureReason] = [:]
  private var isRoom = false
  private var isRefused = false

  init(_ options: Chat) throws(Complaint) {
    let servers = try options.connection.resolved()
    let server = servers[0]
    let tls = try options.connection.security()
    ledger = if let path = options.ledger { try Ledger(path) } else { nil }
    do throws(StoreError) {
      store = if let folder = options.state { try FileStore(folder: folder) } else { nil }
      bodies =
        if let folder = options.save {
          try FileBodies(folder: folder, keepsRecords: store != nil, computesDigests: true)
        } else {
          nil
        }
    } catch {
      throw Complaint(error.description, .cannotCreate)
    }
    (peer, group, saves) = (options.group ?? options.to, options.group, options.save)
    view = ChatView(me: options.name, peer: peer)
    var configuration = options.client.configuration(server: server, user: options.name, number: 0)
    configuration.alternatives = Array(servers.dropFirst())
    configuration.token = try options.connection.token()
    if let store {
      (configuration.identity, configuration.secret) = (store.identity, store.secret)
      configuration.isKept = true
      configuration.expiry = .seconds(30 * 86_400)
    }
    configuration.reportsTransfers = true
    do throws(TransportError) {
      loop = try EventLoop()
      transport = LinuxTransport(ClientCore(configuration), loop: loop, tls: tls)
      let bodies = bodies
      session = transport.update { core, now in
        core.bodies = bodies
        return core.addSession(at: now)
      }
      try transport.watchPath(to: server)
    } catch {
      throw Complaint(error.description, .system)
    }
    if let ledger { transport.tap = LedgerTap(ledger) }
  }

  /// Talks until the input ends; the status to end with.
  func run() throws(TransportError) -> Int32 {
    transport.onTurn = { [unowned self] core, now in turn(&core, now) }
    restore()
    if let group { transport.update { $0.join(group, in: session, at: $1) } }
    transport.update { core, now in try? core.connect(session, at: now) }
    watch = loop.enroll(self)
    let flags = fcntl(0, F_GETFL)
    if view.isTerminal { _ = fcntl(0, F_SETFL, flags | O_NONBLOCK) }
    // A file is always ready, and epoll takes none: it is read as far as there is room.
    isFile = (try? loop.watch(0, for: .reading, by: watch)) == nil
    // A terminal of another size ends the loop's wait.
    signal(SIGWINCH) { _ in }
    view.begin()
    while !isInterrupted, status == nil {
      if isFile, waiting.isEmpty, !isEnding { readInput() }
      try loop.turn(longest: isEnding || view.isTerminal ? 200_000_000 : 500_000_000)
      view.show()
      if isRefused { fail(because: .refused, 1) }
      if isRoom {
        isRoom = false
        sendWaiting()
      }
      if isEnding { end() }
    }
    transport.update { core, now in try? core.disconnect(session, at: now) }
    let end = monotonicNow() + 2_000_000_000
    while transport.connectionCount > 0, monotonicNow() < end { try loop.turn(longest: 100_000_000) }
    transport.update { core, _ in keep(&core) }
    transport.shutDown()
    view.end()
    _ = fcntl(0, F_SETFL, flags)
    if let storeProblem { throw TransportError("keep", reason: storeProblem.description) }
    return status ?? 0
  }

  /// What an earlier process of this person's left.
  private func restore() {
    guard let store else { return }
    transport.update { core, now in
      let restored = core.restore(store.state, in: session, at: now) { FileReader.reopen($0) }
      for (message, id) in restored {
        if let file = message.file {
          messages[id] = view.sent("sent \(SharedFile.name(file.path)) (\(file.byteCount) bytes)")
          continue
        }
        guard case .text(let text)? = (try? Message(decoding: message.body))?.content else { continue }
        messages[id] = view.sent(text)
      }
    }
  }

  /// Writes down what is to be known to the next process; what cannot be written is not sent.
  private func keep(_ core: inout ClientCore) {
    guard let store, storeProblem == nil else { return }
    do throws(StoreError) { try store.append(core.takeOperations()) } catch {
      storeProblem = error
      core.storeFailed(at: transport.moment)
      status = Complaint.Status.cannotCreate.rawValue
    }
  }

  /// Nanoseconds after the end of the input for which a server is waited for, and for which marks are.
  private static let longestWait: Int64 = 15_000_000_000
  private static let longestFarewell: Int64 = 3_000_000_000

  /// The input has ended: is there anything left to wait for?
  private func end() {
    let (queued, open) = transport.core.waiting(in: session)
    let now = monotonicNow()
    if waiting.isEmpty, queued == 0, open == 0, view.areAllSettled {
      // Everything was accepted or refused; marks that may still come are waited for a little.
      let isDone = view.areAllRead || now - endedAt > Self.longestFarewell || !isConnected
      if isDone { status = hasFailed ? 1 : 0 }
    } else if !isConnected, now - max(endedAt, lostAt) > Self.longestWait {
      fail(because: .noServer, 69)
    }
  }

  /// What was not accepted will not be.
  private func fail(because reason: FailureReason, _ code: Int32) {
    readLeftover()
    for line in waiting {
      let place = view.sent(line)
      view.mark(place, .failed, reason)
    }
    waiting = []
    transport.update { core, now in
      core.abandon(session, because: reason, at: now)
      turn(&core, now)
    }
    status = code
  }

  // MARK: what is typed

  func isReady(_ readiness: Readiness) { readInput() }

  private func readInput() {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = read(0, &bytes, bytes.count)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else { return finish() }
    take(bytes[..<count])
  }

  /// Reads what was piped in by now, so that it is marked, too. Of an endless input it reads a megabyte.
  private func readLeftover() {
    guard !view.isTerminal else { return }
    var ready = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    for _ in 0..<16 {
      guard !isEnding, poll(&ready, 1, 0) > 0 else { return }
      readInput()
    }
  }

  func deadlineCame(_ kind: UInt8) {}
  func flush() {}

  private func take(_ bytes: ArraySlice<UInt8>) {
    for key in typed.take(bytes, isTerminal: view.isTerminal) {
      switch key {
      case .line(let line):
        if !line.isEmpty { send(line) }
      case .end: finish()
      case .changed:
        let isTyping = !typed.line.isEmpty
        if isTyping != toldTyping {
          toldTyping = isTyping
          let note = message(.typing(isTyping))
          transport.update { core, now in _ = try? core.send(note, priority: .low, in: session, at: now) }
        }
      }
    }
    view.draft = typed.line
    view.show()
  }

  private func finish() {
    guard !isEnding else { return }
    isEnding = true
    endedAt = monotonicNow()
    if !isFile { try? loop.change(watch, 0, to: []) }
    loop.forget(watch)
    if typed.line.isEmpty == false, !view.isTerminal { send(typed.line) }
  }

  private func send(_ line: String) {
    toldTyping = false
    // A pipe waits for room; a person is told.
    guard waiting.isEmpty, accept(line) else {
      if view.isTerminal { return view.note("too many messages are waiting; nothing was sent") }
      waiting.append(line)
      if waiting.count == 1, !isFile { try? loop.change(watch, 0, to: []) }
      return
    }
  }

  private func accept(_ line: String) -> Bool {
    if line == "/leave", let group {
      transport.update { $0.leave(group, in: session, at: $1) }
      view.note("left \(group)")
      return true
    }
    if line == "/group", let group {
      transport.update { $0.askMembers(of: group, in: session, at: $1) }
      return true
    }
    if line.hasPrefix("/send ") { return sendFile(String(line.dropFirst(6))) }
    let message = message(.text(line))
    let sent = transport.update { core, now in
      let id = try? core.send(message, in: session, at: now)
      keep(&core)
      return id
    }
    guard let id = sent else { return false }
    messages[id] = view.sent(line)
    return true
  }

  /// Sends a file, which is read as it goes; a note says where it cannot be. False when too much waits.
  private func sendFile(_ path: String) -> Bool {
    let file: FileReader
    do throws(Complaint) { file = try SharedFile.open(path) } catch {
      hasFailed = true
      view.note(error.message)
      return true
    }
    let name = SharedFile.name(path)
    var message = message(.file(.init([], name: name)))
    let sent: MessageID?
    if file.byteCount > 32 << 10 {
      sent = transport.update { core, now in
        let id = try? core.send(message, content: file, file: file.stored, in: session, at: now)
        keep(&core)
        return id
      }
    } else {
      message.content = .file(.init(file.read(at: 0, count: file.byteCount) ?? [], name: name))
      sent = transport.update { core, now in
        let id = try? core.send(message, in: session, at: now)
        keep(&core)
        return id
      }
    }
    guard let id = sent else { return false }
    messages[id] = view.sent("sent \(name) (\(file.byteCount) bytes)")
    return true
  }

  private func message(_ content: MessageContent) -> Message {
    group.map { Message(content, group: $0) } ?? Message(content, to: peer)
  }

  /// The queue has room again.
  private func sendWaiting() {
    guard !waiting.isEmpty else { return }
    let sent = waiting.prefix { accept($0) }.count
    waiting.removeFirst(sent)
    if waiting.isEmpty, !isFile, !isEnding { try? loop.change(watch, 0, to: .reading) }
  }

  // MARK: what comes

  private func turn(_ core: inout ClientCore, _ now: Instant) {
    defer { keep(&core) }
    core.take(&inbox)
    guard !inbox.events.isEmpty else { return }
    var hasRoom = false
    for event in inbox.events {
      switch event {
      case .message(let message): came(message, &core, now)
      case .failure(let id, _, let reason): reasons[id] = reason
      case .progress(let id, _, let state):
        hasFailed = hasFailed || state == .failed
        if let place = messages[id] { view.mark(place, state, reasons.removeValue(forKey: id)) }
      case .connection(_, let state, _, let reason):
        if isConnected, state != .connected { lostAt = monotonicNow() }
        isConnected = state == .connected
        view.state(state, reason)
      case .handshake(_, .refused(let refusal)): refused(refusal)
      case .gaveUp(let attempts): view.note("gave up after \(attempts) attempts")
      case .gap(_, let device, let first, let last):
        let count = last - first + 1
        view.note(
          "\(count) message\(count == 1 ? "" : "s") from \(names[device] ?? peer) \(count == 1 ? "is" : "are") missing")
      case .earlier(let receipt):
        let number = receipt.number & (1 << 56 - 1)
        view.note("message \(number) to \(inbox.conversation(of: receipt)), sent earlier: \(receipt.state)")
      case .members(let answer):
        let (group, members) = inbox.members(of: answer)
        view.note(
          members.isEmpty ? "not a member of \(group)" : "members of \(group): \(members.joined(separator: ", "))")
      case .room: hasRoom = true
      case .sending(let id, _, let progress): if let place = messages[id] { view.progress(place, progress) }
      case .receiving(let name, _, let progress): view.progress(of: name, progress)
      case .damagedContent(let name, _):
        view.finished(name)
        view.note("a file arrived damaged and was discarded")
      case .withdrawn(let name, _):
        view.finished(name)
        view.note("a file was withdrawn by its sender")
      default: break
      }
    }
    if hasRoom { isRoom = true }
    view.show()
    core.confirmTaken(at: now)
  }

  private func refused(_ refusal: HandshakeRefusal) {
    let version = refusal.reason == .version ? ": it speaks version \(refusal.version)" : ""
    view.note("the server refused: \(refusal.reason)\(version)")
    isRefused = true
  }

  private func came(_ message: ReceivedMessage, _ core: inout ClientCore, _ now: Instant) {
    guard let content = try? inbox.content(of: message) else { return }
    let name = content.sender ?? "server"
    if let device = message.origin?.device, names[device] == nil, names.count < 1_024 { names[device] = name }
    let sender = message.isLate ? "\(name) (late)" : name
    switch content.content {
    case .text(let text):
      view.came(sender, text)
      try? core.markRead(message.sequence, in: session, origin: message.origin, group: content.group, at: now)
    case .typing(let isTyping):
      if name == peer { view.isPeerTyping = isTyping }
    case .location(let place): view.came(sender, "is at \(place.name ?? "a place without a name")")
    case .image(let media), .audio(let media), .video(let media), .file(let media):
      if let saves {
        do throws(Complaint) { try save(media, message.stored, in: saves) } catch {
          view.note(error.message)
        }
      }
      if let stored = message.stored { view.finished(stored.body) }
      let count = message.stored?.byteCount ?? media.bytes.count
      view.reported(sender, "sent \(media.name ?? "a file") (\(count) bytes)")
      try? core.markRead(message.sequence, in: session, origin: message.origin, group: content.group, at: now)
    default: break
    }
  }

  private func save(_ media: MessageContent.Media, _ stored: StoredContent?, in folder: String) throws(Complaint) {
    guard let stored, let bodies else { return try SharedFile.save(media.bytes, as: media.name, in: folder) }
    try SharedFile.keep(bodies.path(of: stored.body), as: media.name, in: folder)
    bodies.release(stored.body)
  }
}
