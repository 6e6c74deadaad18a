/// When the screen is painted: behind a key at once, behind what nobody has asked for at most 30 times a second.
///
/// Answers that come soon after a key are most often what the key has asked for, so they wait less. A pure state machine: times are
/// those of whoever calls it.
package struct FramePace: Sendable {
  /// Between two frames that no key has asked for; the same soon behind a key, and how long that is.
  private static let calm = Duration.milliseconds(34), hurried = Duration.milliseconds(8)
  private static let afterKey = Duration.milliseconds(300)

  private var paintedAt: Duration?
  private var keyAt: Duration?
  /// Whether a key waits for its frame.
  private var isKeyWaiting = true

  /// A pace that begins with a frame.
  package init() {}

  /// A person did something.
  package mutating func key(at now: Duration) {
    keyAt = now
    isKeyWaiting = true
  }

  /// When what has changed is to be painted: now, or later.
  package var due: Duration {
    guard !isKeyWaiting, let paintedAt else { return .zero }
    let isHurried = keyAt.map { paintedAt - $0 < Self.afterKey } ?? false
    return paintedAt + (isHurried ? Self.hurried : Self.calm)
  }

  /// A frame was painted.
  package mutating func paint(at now: Duration) {
    paintedAt = now
    isKeyWaiting = false
  }
}
