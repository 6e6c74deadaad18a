import CSandbox
import Glibc
import IMSystem

/// The thread that serves: it waits with poll(2) for the socket, the connections and the capture, and moves bytes
/// between them and the desk. No call of it blocks but poll(2).
struct WebResponder: ~Copyable {
  /// Seconds for which nobody is taken when that has failed: most likely the process is out of descriptors, and who waits at
  /// the socket would wake the thread again at once.
  static let pause = 0.2

  private let listener: Int32
  private let mailbox: WebMailbox
  private var dispatcher: WebDispatcher
  private var polled: [pollfd] = []
  /// Until when nobody is taken.
  private var pauseEnd = -Double.infinity

  /// A thread that takes connections from `listener`.
  init(_ listener: Int32, _ mailbox: WebMailbox, _ offers: WebOffers = WebOffers()) {
    self.listener = listener
    dispatcher = WebDispatcher(offers)
    self.mailbox = mailbox
  }

  /// Serves until the mailbox ends; the connections that there are end with it.
  mutating func run() {
    var buffer = [UInt8](repeating: 0, count: 16 << 10)
    while !mailbox.isOver { turn(&buffer) }
    for client in dispatcher.clients { close(client.descriptor) }
  }

  private mutating func turn(_ buffer: inout [UInt8]) {
    wait()
    let now = MonotonicClock.seconds()
    if polled[0].revents != 0 { takeTexts(now) }
    for index in dispatcher.clients.indices { attend(index, polled[2 + index].revents, &buffer, now) }
    dispatcher.expire(at: now)
    // One at a time: who has asked by now is not the one that goes for the next.
    if polled[1].revents != 0 { accept(now) }
    mailbox.want(dispatcher.takeWanted())
    for index in dispatcher.clients.indices { send(index, now) }
    for descriptor in dispatcher.takeOver() {
      close(descriptor)
      pauseEnd = now
    }
  }

  /// Sleeps until something happens or has lasted too long. `polled` has the capture's pipe, the socket and the connections.
  private mutating func wait() {
    let now = MonotonicClock.seconds()
    let isPausing = now < pauseEnd
    polled.removeAll(keepingCapacity: true)
    polled.append(pollfd(fd: mailbox.readable, events: Int16(POLLIN), revents: 0))
    // A negative descriptor is passed over.
    polled.append(pollfd(fd: isPausing ? -1 : listener, events: Int16(POLLIN), revents: 0))
    for client in dispatcher.clients {
      let events = (client.connection.wantsInput ? POLLIN : 0) | (client.connection.unsent.isEmpty ? 0 : POLLOUT)
      polled.append(pollfd(fd: client.descriptor, events: Int16(events), revents: 0))
    }
    let seconds = min(dispatcher.nextEnd, isPausing ? pauseEnd : .infinity) - now
    let milliseconds = seconds.isFinite ? Int32(max(0, min(seconds, 60) * 1_000).rounded(.up)) : -1
    guard poll(&polled, nfds_t(polled.count), milliseconds) < 0 else { return }
    // Out of memory, or of something else: to try again at once would not help.
    if errno != EINTR { usleep(UInt32(Self.pause * 1e6)) }
    for index in polled.indices { polled[index].revents = 0 }
  }

  private mutating func takeTexts(_ now: Double) {
    mailbox.quieten()
    for resource in WebResource.allCases {
      if let response = mailbox.take(resource) { dispatcher.publish(response, resource, at: now) }
    }
  }

  /// Takes one connection.
  private mutating func accept(_ now: Double) {
    let descriptor = imdump_accept(listener)
    if descriptor >= 0 { return dispatcher.take(descriptor, at: now) }
    // The client may be gone already. Anything else will be the same in a moment.
    if ![EAGAIN, EINTR, ECONNABORTED].contains(-descriptor) { pauseEnd = now + Self.pause }
  }

  /// Reads what a connection has, and looks whether it is broken.
  private mutating func attend(_ index: Int, _ events: Int16, _ buffer: inout [UInt8], _ now: Double) {
    guard events != 0 else { return }
    let happened = Int32(events)
    if happened & POLLOUT != 0 { dispatcher.clients[index].isBlocked = false }
    guard dispatcher.clients[index].connection.wantsInput else {
      if happened & (POLLERR | POLLHUP | POLLNVAL) != 0 { dispatcher.clients[index].connection.failed() }
      return
    }
    guard happened & ~POLLOUT != 0 else { return }
    let count = read(dispatcher.clients[index].descriptor, &buffer, buffer.count)
    if count > 0 {
      dispatcher.received(buffer.span.extracting(first: count), from: index, at: now)
    } else if count == 0 {
      dispatcher.clients[index].connection.inputEnded()
    } else if errno != EAGAIN, errno != EINTR {
      dispatcher.clients[index].connection.failed()
    }
  }

  /// Sends what a connection has to say, as much as its socket takes.
  private mutating func send(_ index: Int, _ now: Double) {
    let client = dispatcher.clients[index]
    let unsent = client.connection.unsent
    guard !unsent.isEmpty, !client.isBlocked else { return }
    let count = unsent.withUnsafeBytes { write(client.descriptor, $0.baseAddress, $0.count) }
    if count < 0 {
      if errno == EAGAIN || errno == EINTR {
        dispatcher.clients[index].isBlocked = true
      } else {
        dispatcher.clients[index].connection.failed()
      }
      return
    }
    if dispatcher.clients[index].connection.sent(count, at: now) { shutdown(client.descriptor, Int32(SHUT_WR)) }
    dispatcher.clients[index].isBlocked = count < unsent.count
  }
}
