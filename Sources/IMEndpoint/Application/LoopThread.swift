/// An event loop on a thread of its own, and what lives there.
///
/// The content is made before the thread starts. From then on only the loop's thread touches it and the loop, which is why
/// both can be held by something that is `Sendable`.
final class LoopThread<Content>: @unchecked Sendable {
  private let loop: EventLoop
  private let content: Content

  /// Makes a loop and what lives on it, and starts the thread. Throws what `make` throws, and where there are no descriptors
  /// or threads left.
  init(_ make: (EventLoop) throws(TransportError) -> Content) throws(TransportError) {
    let loop = try EventLoop()
    self.loop = loop
    content = try make(loop)
    let code = DetachedThread.start { try? loop.run() }
    guard code == 0 else { throw TransportError("pthread_create", code) }
  }

  /// Has `work` run on the loop's thread, which ends with it; after that nothing runs there any more.
  func stop(after work: @escaping @Sendable (Content) -> Void) {
    loop.remote.perform { [self] in
      work(content)
      loop.stop()
    }
  }

  /// Has `work` run on the loop's thread, and goes on.
  func tell(_ work: @escaping @Sendable (Content) -> Void) {
    loop.remote.perform { [self] in work(content) }
  }

  /// Has `work` run on the loop's thread, and waits for what it gives.
  func perform<Result: Sendable>(_ work: @escaping @Sendable (Content) -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      loop.remote.perform { [self] in continuation.resume(returning: work(content)) }
    }
  }

  /// Has `work` run on the loop's thread; it resumes what waits, now or later.
  func wait(_ work: @escaping @Sendable (Content, CheckedContinuation<Void, Never>) -> Void) async {
    await withCheckedContinuation { continuation in
      loop.remote.perform { [self] in work(content, continuation) }
    }
  }
}
