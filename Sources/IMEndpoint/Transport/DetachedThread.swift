import Glibc

/// Threads that are not joined.
enum DetachedThread {
  /// Runs `body` on a thread of its own.
  /// - Returns: the system's error number; 0: the thread runs.
  static func start(_ body: @escaping () -> Void) -> Int32 {
    let handed = Unmanaged.passRetained(Body(body))
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, handed.toOpaque())
    if code == 0 { pthread_detach(thread) } else { handed.release() }
    return code
  }

  private final class Body {
    let run: () -> Void
    init(_ run: @escaping () -> Void) { self.run = run }
  }
}
