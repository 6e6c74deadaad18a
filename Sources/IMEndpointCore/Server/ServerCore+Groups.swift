/// Groups: who is in them, and messages to all who are.
extension ServerCore {
  /// The most groups, and the most members of one.
  static var mostGroups: Int { 100_000 }
  static var mostMembers: Int { 1_024 }

  /// The users in a group, in the order of their names.
  public func members(of group: String) -> [String] { (groups[group] ?? []).sorted() }

  /// A client's user joins a group, or leaves it. A group exists while it has members.
  mutating func membership(_ body: RawSpan, _ range: Range<Int>, _ place: Int, on link: Int, at now: Instant) {
    guard configuration.service == .forward, range.count > 1, range.count <= 257,
      let user = devices[Int(sessions[place].device)].user
    else { return }
    let name = body.extracting(range.dropFirst()).withUnsafeBytes { String(validating: $0, as: UTF8.self) }
    guard let name else { return }
    switch Membership(rawValue: UInt8(truncatingIfNeeded: TLV.number(body, range.lowerBound..<range.lowerBound + 1))) {
    case .join: join(user, name)
    case .leave: leave(user, name)
    case .list: tellMembers(of: name, to: user, place, on: link, at: now)
    case nil: break
    }
  }

  /// Bytes that wait on a connection on which questions are still answered: who does not read the answers gets no more of them.
  private static var mostWaiting: Int { 64 << 10 }

  /// Answers a member's question who is in the group; who is no member gets no names.
  private mutating func tellMembers(of group: String, to user: String, _ place: Int, on link: Int, at now: Instant) {
    guard links[link].output.byteCount < Self.mostWaiting else { return }
    let names = groups[group]?.contains(user) == true ? members(of: group) : []
    writeControl(
      GroupMembers.answer(group, names), sessions[place].traffic.wireID,
      sessions[place].traffic.counters.take(.control), sessions[place].traffic.version, on: link, at: now)
  }

  /// Makes a user a member of a group: for an application that decides itself who is in it.
  public mutating func join(_ user: String, _ group: String) {
    guard groups[group] != nil || groups.count < Self.mostGroups, groups[group]?.count ?? 0 < Self.mostMembers,
      groups[group, default: []].insert(user).inserted
    else { return }
    keep(.member(group: group, user: user, isMember: true))
  }

  /// Ends a user's membership.
  public mutating func leave(_ user: String, _ group: String) {
    guard groups[group]?.remove(user) != nil else { return }
    if groups[group]?.isEmpty ?? false { (groups[group], recipients[group]) = (nil, nil) }
    keep(.member(group: group, user: user, isMember: false))
  }

  /// Why a message of so many bytes cannot be passed on to a group; `nil` when it can, to all of its members.
  func refusal(of byteCount: Int, forGroup group: String, from device: Int) -> FailureReason? {
    guard let user = devices[device].user, let members = groups[group], members.contains(user) else {
      return .notAMember
    }
    for member in members where member != user {
      if let reason = refusal(of: byteCount, for: member, from: device) { return reason }
    }
    return nil
  }

  /// Takes a message in for every member of a group. The sender's own device does not get it, its other devices do.
  mutating func putAll(_ letter: Letter, in group: String, _ from: SentFrom, at now: Instant) {
    guard let device = place(of: from.device) else { return }
    let sender = devices[device].user
    var others = (groups[group] ?? []).filter { $0 != sender }.sorted()
    // Many messages share one list.
    if let last = recipients[group], last == others { others = last } else { recipients[group] = others }
    let first = MessageID(rawValue: nextMessage)
    for member in others {
      var copy = letter
      copy.id = MessageID(rawValue: nextMessage)
      nextMessage += 1
      put(copy, for: member, at: now)
    }
    if !others.isEmpty {
      let entry = GroupLog.Entry(
        first: first, count: others.count, from: from, undelivered: others.count, unread: others.count, members: others)
      keep(entry)
      for gone in groupLog.append(entry) { keep(.groupForgotten(gone.first.rawValue)) }
    }
    guard let sender, let box = users[sender].map({ Int($0) }), mailboxes[box].devices.count > 1 else { return }
    var own = letter
    own.id = MessageID(rawValue: nextMessage)
    nextMessage += 1
    own.isDelivered = true
    own.skipsSender = true
    put(own, for: sender, at: now)
  }

  /// Keeps what is known of a message to a group.
  private mutating func keep(_ entry: GroupLog.Entry) {
    guard configuration.isDurable, entry.from.name.number > 0, let device = place(of: entry.from.device),
      case .client(let key) = devices[device].peer
    else { return }
    operations.append(
      .groupMessage(
        StoredGroupMessage(
          first: entry.first.rawValue, key: key.bytes, group: entry.from.name.conversation,
          number: entry.from.name.number, members: entry.members, undelivered: entry.undelivered,
          readers: entry.readers)))
  }

  /// A member of a group has a message, or has read it.
  mutating func noteGroup(_ id: MessageID, isRead: Bool) -> (from: SentFrom, isToldNow: Bool)? {
    guard groupLog.count > 0, let found = groupLog.note(id, isRead: isRead) else { return nil }
    if found.isNew, configuration.isDurable, let entry = groupLog.entry(of: id), !entry.members.isEmpty {
      keep(
        entry.isSettled
          ? .groupForgotten(entry.first.rawValue)
          : .groupProgress(entry.first.rawValue, undelivered: entry.undelivered, readers: entry.readers))
    }
    return (found.from, found.isToldNow)
  }
}
