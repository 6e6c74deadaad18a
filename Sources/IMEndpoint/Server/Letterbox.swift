/// Messages for users of whom no session has a connection, or of whom nobody has heard yet: the first session that comes by
/// their name gets them.
///
/// A session that was there before and only lost its connection has messages of its own, and needs none of these.
struct Letterbox: Sendable {
  /// A message as it will be sent, and where it came from.
  struct Letter: Sendable {
    var body: [UInt8]
    var category: SequenceCategory
    var origin: SessionID
    var sequence: SequenceNumber
    var at: Moment
  }

  private var letters: [String: [Letter]] = [:]
  /// Letters of all users.
  private(set) var count = 0
  private var byteCount = 0

  /// The most letters, those of one user, and the most bytes of all.
  static var limit: Int { 16_384 }
  static var limitOfUser: Int { 1_024 }
  static var byteLimit: Int { 16 << 20 }

  /// Keeps a letter; false when there is no room, also without those that are older than `memory`.
  mutating func put(_ letter: Letter, for user: String, memory: Duration) -> Bool {
    if !hasRoom(letter, user) { removeOlder(than: memory, at: letter.at) }
    guard hasRoom(letter, user) else { return false }
    letters[user, default: []].append(letter)
    count += 1
    byteCount += letter.body.count
    return true
  }

  /// Takes the letters of `user` out, oldest first.
  mutating func take(_ user: String) -> [Letter] {
    guard count > 0, let found = letters.removeValue(forKey: user) else { return [] }
    count -= found.count
    for letter in found { byteCount -= letter.body.count }
    return found
  }

  private func hasRoom(_ letter: Letter, _ user: String) -> Bool {
    count < Self.limit && byteCount + letter.body.count <= Self.byteLimit
      && letters[user]?.count ?? 0 < Self.limitOfUser
  }

  private mutating func removeOlder(than memory: Duration, at now: Moment) {
    for user in letters.keys {
      let kept = take(user).filter { $0.at.advanced(by: memory) > now }
      guard !kept.isEmpty else { continue }
      letters[user] = kept
      count += kept.count
      for letter in kept { byteCount += letter.body.count }
    }
  }
}
