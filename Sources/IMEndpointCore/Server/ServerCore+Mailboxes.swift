/// Letters: taken in, sent to devices, taken out.
extension ServerCore {
  /// The mailbox of a user, made if there is none.
  mutating func openMailbox(of user: String) -> Int {
    if let known = users[user] { return Int(known) }
    let box: Int
    if let free = freeMailboxes.popLast() {
      box = Int(free)
      mailboxes[box] = Mailbox(user: user)
    } else {
      box = mailboxes.count
      mailboxes.append(Mailbox(user: user))
    }
    users[user] = Int32(box)
    return box
  }

  /// Why a letter of so many bytes from a device cannot be taken in for a user; `nil` when it can.
  func refusal(of byteCount: Int, for user: String, from sender: Int) -> FailureReason? {
    let limits = configuration.mailboxes
    let cost = byteCount + Letter.overhead
    let box = users[user].map { Int($0) }
    if let known = configuration.users, !known.contains(user) { return .unknownUser }
    if let box {
      guard mailboxes[box].count < limits.letters, mailboxes[box].byteCount + cost <= limits.bytes else {
        return .mailboxFull
      }
    }
    // What strangers fill with letters to names that have never connected leaves room for the others.
    let isVisited = box.map { mailboxes[$0].isVisited } ?? false
    let total = isVisited ? limits.total : limits.total / 4 * 3
    guard storedBytes + cost <= total, devices[sender].stored + cost <= limits.sender else { return .mailboxFull }
    return nil
  }

  /// Takes a letter in, for every device of the user's.
  mutating func put(_ letter: Letter, for user: String, at now: Instant) {
    let box = openMailbox(of: user)
    mailboxes[box].append(letter)
    if configuration.isDurable {
      let kept = stored(letter, user)
      operations.append(.put(kept))
    }
    if let body = letter.large?.body { bodyUses[body, default: 0] += 1 }
    storedBytes += letter.byteCount
    if let sender = place(of: letter.sender) { devices[sender].stored += letter.byteCount }
    for device in mailboxes[box].devices { enqueue(Int(device)) }
  }

  private func stored(_ letter: Letter, _ user: String) -> StoredLetter {
    var sender: [UInt8] = []
    if let place = place(of: letter.sender), case .client(let key) = devices[place].peer { sender = key.bytes }
    return StoredLetter(
      id: letter.id.rawValue, user: user, body: letter.large?.prefix ?? letter.body, isCompressed: letter.isCompressed,
      category: letter.category, sender: sender, isDelivered: letter.isDelivered, skipsSender: letter.skipsSender,
      content: letter.large.map { StoredParts(body: $0.body, parts: $0.parts) })
  }

  // MARK: sending

  /// Puts a device into the line of those who are to be sent letters.
  mutating func enqueue(_ device: Int) {
    guard !devices[device].isInLine, devices[device].mailbox >= 0 else { return }
    devices[device].isInLine = true
    line.append(Int32(device))
  }

  /// Devices that are served when their deadline comes, and with each read, before others have their turn.
  static var servedAtOnce: Int { 128 }
  static var servedWithARead: Int { 8 }

  /// Serves those who are in the line, some of them: what remains has its turn when the deadline comes, which is at once.
  mutating func serveLine(_ most: Int, at now: Instant) {
    guard !line.isEmpty else { return }
    guard !isOverfull(at: now) else {
      lineAt = now.advanced(by: .milliseconds(100))
      return
    }
    for _ in 0..<most {
      guard let device = line.popFirst() else { break }
      devices[Int(device)].isInLine = false
      feed(Int(device), at: now)
    }
    lineAt = line.isEmpty ? nil : now
  }

  /// Whether so much waits on all connections that nothing may be added. Those that take nothing are given up then.
  private mutating func isOverfull(at now: Instant) -> Bool {
    guard waitingBytes > configuration.maximumWaitingTotal else { return false }
    guard now.nanoseconds(since: stallsSoughtAt) >= 100_000_000 else { return true }
    stallsSoughtAt = now
    for link in links.indices where links[link].phase == .open {
      guard let since = links[link].stalledSince, now.nanoseconds(since: since) >= 1_000_000_000 else { continue }
      giveUp(link, at: now)
    }
    return waitingBytes > configuration.maximumWaitingTotal
  }

  /// Sends a device the letters that it may be sent now.
  mutating func feed(_ device: Int, at now: Instant) {
    let box = Int(devices[device].mailbox)
    guard devices[device].isKnown, box >= 0, devices[device].cursor.next < mailboxes[box].end,
      let place = lane(of: device), let bit = bestBit(place)
    else { return }
    let link = Int(sessions[place].links[bit])
    let limit = sessions[place].traffic.strategy.bufferBytes
    var hasSkipped = false
    while devices[device].cursor.isOpen, links[link].output.byteCount < limit, links[link].window.takesMessages,
      let letter = mailboxes[box][devices[device].cursor.next]
    {
      let at = devices[device].cursor.next
      let isOld =
        letter.isDelivered && at < devices[device].joinedAt
        || letter.skipsSender && letter.sender == id(ofDevice: device)
      if isOld || devices[device].cursor.has(at) {
        devices[device].cursor.next += 1
        if isOld { hasSkipped = devices[device].cursor.add(at) || hasSkipped }
        if let body = letter.large?.body { withdraw(body, fromDevice: device, at: now) }
        continue
      }
      let isFirst = devices[device].byteCount == 0
      guard isFirst || devices[device].byteCount + letter.cost <= ServerDevice.mostBytes,
        sessions[place].traffic.windowIsOpen(sessions[place].traffic.strategy)
      else { break }
      devices[device].cursor.next += 1
      devices[device].byteCount += letter.cost
      send(letter, place, bit, at: now)
    }
    if hasSkipped { trim(box) }
  }

  /// The session of a device that a letter goes in: one of those that have a connection and nothing that waits.
  @inline(__always)
  func lane(of device: Int) -> Int? {
    devices[device].sessions.first {
      sessions[Int($0)].linkMask != 0 && sessions[Int($0)].hasHandshake && sessions[Int($0)].traffic.queues.isEmpty
    }.map { Int($0) }
  }

  private mutating func send(_ letter: Letter, _ place: Int, _ bit: Int, at now: Instant) {
    var message = QueuedMessage(
      id: letter.id, kind: .data, category: letter.category, priority: .normal, body: letter.body, acceptedAt: now)
    if letter.isCompressed {
      if sessions[place].traffic.features.contains(.compression) {
        message.compression = 1
      } else {
        message.body = Deflate.inflated(letter.body.span.bytes) ?? letter.body
      }
    }
    metrics.messagesSent += 1
    if let large = letter.large {
      // A message that was relayed goes on in the session that has its beginning.
      let session = devices[Int(sessions[place].device)].sessions.first {
        sessions[Int($0)].traffic.transfers.relayed(large.body) != nil
      }
      if let session, sessions[Int(session)].traffic.transfers.complete(large.body, as: letter.id) {
        tell(letter.id, Int(session), .sending)
        return pumpPieces(Int(session), at: now)
      }
      let asks = sessions[place].traffic.features.contains(.resumption)
      sessions[place].traffic.transfers.append(message, large.source, name: large.body, asks: asks)
      return pumpPieces(place, at: now)
    }
    if message.body.count > OutgoingTransfer.least {
      sessions[place].traffic.transfers.append(message)
      return pumpPieces(place, at: now)
    }
    let entry = sessions[place].traffic.insert(message, at: now)
    tell(letter.id, place, .sending)
    transmit(entry, of: place, on: bit, at: now)
  }

  // MARK: what devices have

  /// A device has the letter with this number.
  mutating func took(_ id: MessageID, _ device: Int, at now: Instant) {
    let box = Int(devices[device].mailbox)
    guard box >= 0, let place = mailboxes[box].place(of: id), let letter = mailboxes[box][place] else { return }
    let before = devices[device].cursor.done
    guard devices[device].cursor.add(place) else { return }
    devices[device].byteCount = max(0, devices[device].byteCount - letter.cost)
    if let key = keptKey(device) { keep(.took(id.rawValue, key: key)) }
    if !letter.isDelivered {
      mailboxes[box].setDelivered(place)
      keep(.delivered(id.rawValue))
      reportDelivered(id, at: now)
    }
    if before == mailboxes[box].base { trim(box) }
    if devices[device].cursor.next < mailboxes[box].end { enqueue(device) }
  }

  /// Removes the letters at the beginning of a log that a device has, and that no device is still waited for.
  mutating func trim(_ box: Int) {
    var end = mailboxes[box].end
    for device in mailboxes[box].devices { end = min(end, devices[Int(device)].cursor.done) }
    while mailboxes[box].base < end, mailboxes[box][mailboxes[box].base]?.isDelivered ?? false { removeFirst(box) }
    // Who is not waited for leaves nothing but what no device has.
    if mailboxes[box].devices.isEmpty, mailboxes[box].count == 0 { free(box) }
  }

  private mutating func removeFirst(_ box: Int) {
    guard let letter = mailboxes[box].removeFirst() else { return }
    storedBytes -= letter.byteCount
    if let body = letter.large?.body { release(body) }
    keep(.removed(letter.id.rawValue))
    if let sender = place(of: letter.sender) { devices[sender].stored -= letter.byteCount }
  }

  private mutating func free(_ box: Int) {
    guard !mailboxes[box].isFree else { return }
    users[mailboxes[box].user] = nil
    mailboxes[box] = Mailbox(user: "")
    mailboxes[box].isFree = true
    freeMailboxes.append(Int32(box))
  }
}
