/// How many frames may be sent once more while their first transmission may still arrive.
///
/// Each acknowledgment that comes, duplicates included, allows half a frame, so a network that answers nothing is sent
/// nothing more; a connection that has just opened has proved a round trip and allows a few of its own.
struct ResendBudget: Sendable {
  /// Parts of a frame each acknowledgment allows.
  var perAcknowledgment: Double
  /// Frames a new connection allows.
  var perConnection: Double
  /// Most frames that are ever allowed at once.
  var limit: Double
  private(set) var allowed: Double

  init(perAcknowledgment: Double = 0.5, perConnection: Double = 8, limit: Double = 32, initially allowed: Double = 8) {
    self.perAcknowledgment = perAcknowledgment
    self.perConnection = perConnection
    self.limit = limit
    self.allowed = allowed
  }

  mutating func acknowledged() { allowed = min(limit, allowed + perAcknowledgment) }
  mutating func connected() { allowed = min(limit, allowed + perConnection) }

  /// Takes one frame's allowance, if there is one.
  mutating func take() -> Bool {
    guard allowed >= 1 else { return false }
    allowed -= 1
    return true
  }
}
