/// When the screen is painted: behind a key at once, behind what nobody has asked for at most 30 times a second.
///
/// Of the latter, one more may come at once behind one that has waited for nothing: two answers that come one after the other are
/// both seen soon, and what keeps changing is not seen more often. Answers that come soon after a key are most often what the key
/// has asked for, so they wait less. A pure state machine: times are those of whoever calls it.
package struct FramePace: Sendable {
  /// Between two frames that no key has asked for, in the long run: with the one more, at most 30 in any second.
  private static let calm = Duration.milliseconds(36)
  /// Between any two; the same soon behind a key, and how long that is.
  private static let hurried = Duration.milliseconds(8), afterKey = Duration.milliseconds(300)

  private var paintedAt: Duration?
  private var keyAt: Duration?
  /// Whether a key waits for its frame.
  private var isKeyWaiting = true
  /// When the next frame would be due that no key has asked for, if all of them came as often as they may.
  private var calmAt = Duration.zero

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
    let next = paintedAt + Self.hurried
    return isHurried ? next : max(next, calmAt - Self.calm)
  }

  /// Whether the last frame came soon after a key.
  private var isHurried: Bool {
    guard let keyAt, let paintedAt else { return false }
    return paintedAt - keyAt < Self.afterKey
  }

  /// A frame was painted.
  package mutating func paint(at now: Duration) {
    if !isKeyWaiting, !isHurried { calmAt = max(calmAt, now) + Self.calm }
    paintedAt = now
    isKeyWaiting = false
  }
}
