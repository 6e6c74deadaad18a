import Glibc
import IMEndpoint
import IMWire

/// One person's side of a conversation: what was typed goes out, what comes in is shown and marked as read.
final class ChatSession: Watcher {
  private let loop: EventLoop
  private let transport: LinuxTransport<ClientCore>
  private let session: SessionID
  private let peer: String
  private let ledger: Ledger?
  private var view: ChatView
  private var watch = EventLoop.Watch.none
  private var inbox = Inbox()
  private var typed = LineEditor()
  private var isEnding = false
  private var toldTyping = false
  private var messages: [MessageID: Int] = [:]

  init(_ options: Chat) throws(Complaint) {
    let server = try options.connection.resolved()[0]
    let tls = try options.connection.security()
    ledger = if let path = options.ledger { try Ledger(path) } else { nil }
    peer = options.to
    view = ChatView(me: options.name, peer: options.to)
    do throws(TransportError) {
      loop = try EventLoop()
      transport = LinuxTransport(
        ClientCore(options.client.configuration(server: server, user: options.name, number: 0)), loop: loop, tls: tls)
      session = transport.update { $0.addSession(at: $1) }
      try transport.watchPath(to: server)
    } catch {
      throw Complaint(error.description, .system)
    }
    if let ledger { transport.tap = LedgerTap(ledger) }
  }

  /// Talks until the input ends.
  func run() throws(TransportError) {
    transport.onTurn = { [unowned self] core, now in turn(&core, now) }
    transport.update { core, now in try? core.connect(session, at: now) }
    watch = loop.enroll(self)
    let flags = fcntl(0, F_GETFL)
    if view.isTerminal { _ = fcntl(0, F_SETFL, flags | O_NONBLOCK) }
    // A file is always ready, and epoll takes none: it is read at once.
    if (try? loop.watch(0, for: .reading, by: watch)) == nil { readFile() }
    // A terminal of another size ends the loop's wait.
    signal(SIGWINCH) { _ in }
    view.begin()
    while !isInterrupted {
      try loop.turn(longest: 500_000_000)
      view.show()
      let (queued, open) = transport.core.waiting(in: session)
      if isEnding, queued == 0, open == 0, view.areAllRead || waitedLongEnough { break }
    }
    transport.update { core, now in try? core.disconnect(session, at: now) }
    let end = monotonicNow() + 2_000_000_000
    while transport.connectionCount > 0, monotonicNow() < end { try loop.turn(longest: 100_000_000) }
    transport.shutDown()
    view.end()
    _ = fcntl(0, F_SETFL, flags)
  }

  private var endedAt: Int64 = 0

  /// After the end of the input, read marks are waited for a little.
  private var waitedLongEnough: Bool { monotonicNow() - endedAt > 3_000_000_000 }

  // MARK: what is typed

  func isReady(_ readiness: Readiness) {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    let count = read(0, &bytes, bytes.count)
    if count < 0, errno == EAGAIN || errno == EINTR { return }
    guard count > 0 else { return finish() }
    take(bytes[..<count])
  }

  func deadlineCame(_ kind: UInt8) {}
  func flush() {}

  private func readFile() {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(0, &bytes, bytes.count)
      guard count > 0 else { break }
      take(bytes[..<count])
    }
    finish()
  }

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
          let note = Message(.typing(isTyping), to: peer)
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
    loop.forget(watch)
    if typed.line.isEmpty == false, !view.isTerminal { send(typed.line) }
  }

  private func send(_ line: String) {
    toldTyping = false
    let message = Message(.text(line), to: peer)
    let id = transport.update { core, now in try? core.send(message, in: session, at: now) }
    guard let id else {
      view.note("the queue is full; nothing was sent")
      return
    }
    messages[id] = view.sent(line)
  }

  // MARK: what comes

  private func turn(_ core: inout ClientCore, _ now: Moment) {
    core.take(&inbox)
    guard !inbox.events.isEmpty else { return }
    for event in inbox.events {
      switch event {
      case .message(let message): came(message, &core, now)
      case .progress(let id, _, let state):
        if let place = messages[id] { view.mark(place, state) }
      case .connection(_, let state, _, let reason): view.state(state, reason)
      case .handshake(_, .refused(let refusal)):
        view.note("the server refuses: it speaks version \(refusal.version)")
      case .gaveUp(let attempts): view.note("gave up after \(attempts) attempts")
      default: break
      }
    }
    view.show()
  }

  private func came(_ message: ReceivedMessage, _ core: inout ClientCore, _ now: Moment) {
    guard let content = try? inbox.content(of: message) else { return }
    let sender = content.sender ?? "server"
    switch content.content {
    case .text(let text):
      view.came(sender, text)
      try? core.markRead(message.sequence, in: session, at: now)
    case .typing(let isTyping):
      if sender == peer { view.isPeerTyping = isTyping }
    case .location(let place): view.came(sender, "is at \(place.name ?? "a place without a name")")
    case .image(let media), .audio(let media), .video(let media), .file(let media):
      view.came(sender, "sent \(media.name ?? "a file") (\(media.bytes.count) bytes)")
    default: break
    }
  }
}
