/// What is kept beyond the life of a server's process.
extension ServerCore {
  /// Numbers that have changed since the store was told last.
  struct ChangedNumbers: Hashable, Sendable {
    var device: DeviceID
    var conversation: Conversation
  }

  /// Takes what is to be kept, for a store that keeps all of it or nothing.
  ///
  /// Letters that have come and gone meanwhile are left out.
  public mutating func takeOperations() -> [StoreOperation] {
    guard !operations.isEmpty || !changedNumbers.isEmpty else { return [] }
    var all = operations
    operations.removeAll(keepingCapacity: all.count <= 4_096)
    var removed: Set<UInt64> = []
    for case .removed(let id) in all { removed.insert(id) }
    if !removed.isEmpty {
      var brief: Set<UInt64> = []
      for case .put(let letter) in all where removed.contains(letter.id) { brief.insert(letter.id) }
      all.removeAll { operation in
        switch operation {
        case .put(let letter): brief.contains(letter.id)
        case .delivered(let id), .removed(let id), .took(let id, _): brief.contains(id)
        case .device, .forgot, .numbers, .member, .receipt, .groupMessage, .groupProgress, .groupForgotten: false
        }
      }
    }
    for changed in changedNumbers {
      guard let place = place(of: changed.device), case .client(let key) = devices[place].peer,
        let window = devices[place].conversations[changed.conversation]
      else { continue }
      let conversation = changed.conversation
      all.append(
        .numbers(
          StoredNumbers(
            key: key.bytes, conversation: conversation.name, isGroup: conversation.isGroup, lane: conversation.lane,
            floor: window.floor, others: window.others, identity: devices[place].identity.bytes)))
    }
    changedNumbers.removeAll(keepingCapacity: changedNumbers.count <= 4_096)
    return all
  }

  /// What `takeOperations` gave is kept: messages that waited for that are acknowledged.
  public mutating func stored(at now: Instant) {
    for body in wholeBodies { bodies?.note(nil, of: body) }
    wholeBodies = []
    for body in unusedBodies { bodies?.remove(body) }
    unusedBodies = []
    guard !unstored.isEmpty else { return }
    let all = unstored
    unstored.removeAll(keepingCapacity: all.count <= 4_096)
    for (session, sequence, connection) in all {
      guard let place = place(of: session) else { continue }
      let link = Int(connection.place)
      let isThere = links[link].generation == connection.generation && links[link].phase == .open
      acknowledge(sequence, of: place, cameOn: isThere ? link : nil, at: now)
    }
  }

  /// Begins with what a store has kept. To be called before anything else.
  public mutating func restore(_ state: StoredState, at now: Instant) {
    for device in state.devices where device.key.count == 16 && device.identity.count == 16 {
      let place = self.device(of: .client(DeviceKey(device.key)), claiming: ClientIdentity(device.identity))
      devices[place].expiry = min(.seconds(device.expiry), configuration.expiry)
      devices[place].detachedAt = now
      join(place, device.user)
      armDevice(place, by: now.advanced(by: devices[place].expiry))
    }
    for numbers in state.numbers where numbers.key.count == 16 {
      let identity = numbers.identity.count == 16 ? ClientIdentity(numbers.identity) : nil
      let place = self.device(of: .client(DeviceKey(numbers.key)), claiming: identity)
      var window = NumberWindow(floor: numbers.floor)
      for number in numbers.others { _ = window.insert(number) }
      let conversation = Conversation(name: numbers.conversation, isGroup: numbers.isGroup, lane: numbers.lane)
      devices[place].conversations[conversation] = window
      if devices[place].detachedAt == nil {
        devices[place].detachedAt = now
        armDevice(place, by: now.advanced(by: configuration.memory))
      }
    }
    for (group, user) in state.members { groups[group, default: []].insert(user) }
    var lostLetters: [UInt64] = []
    for letter in state.letters {
      let sender = letter.sender.count == 16 ? deviceIndex[.client(DeviceKey(letter.sender))] : nil
      var large: LargeBody?
      if let content = letter.content {
        // What the store has lost cannot be delivered.
        guard let reader = bodies?.reader(of: content.body),
          content.parts.allSatisfy({ $0.lowerBound >= 0 && $0.upperBound <= reader.byteCount })
        else {
          nextMessage = max(nextMessage, letter.id + 1)
          lostLetters.append(letter.id)
          continue
        }
        large = LargeBody(content.body, prefix: letter.body, parts: content.parts, reader)
      }
      let kept = Letter(
        id: MessageID(rawValue: letter.id), body: large == nil ? letter.body : [], isCompressed: letter.isCompressed,
        category: letter.category, sender: sender.map { id(ofDevice: Int($0)) } ?? .none, at: now,
        isDelivered: letter.isDelivered, skipsSender: letter.skipsSender, large: large)
      nextMessage = max(nextMessage, letter.id + 1)
      put(kept, for: letter.user, at: now)
    }
    for device in state.devices {
      guard let place = deviceIndex[.client(DeviceKey(device.key))].map({ Int($0) }), devices[place].mailbox >= 0 else {
        continue
      }
      let box = Int(devices[place].mailbox)
      mailboxes[box].isVisited = true
      devices[place].cursor = MailboxCursor(at: mailboxes[box].base)
      devices[place].joinedAt = mailboxes[box].firstPlace(after: MessageID(rawValue: device.joined))
    }
    for (letter, key) in state.taken where key.count == 16 {
      guard let place = deviceIndex[.client(DeviceKey(key))].map({ Int($0) }), devices[place].mailbox >= 0,
        let at = mailboxes[Int(devices[place].mailbox)].place(of: MessageID(rawValue: letter))
      else { continue }
      devices[place].cursor.next = max(devices[place].cursor.next, at + 1)
      _ = devices[place].cursor.add(at)
    }
    for place in devices.indices where devices[place].mailbox >= 0 { resetCursor(place) }
    for box in mailboxes.indices where !mailboxes[box].isFree { trim(box) }
    restoreOrigins(state.letters, state.groupMessages)
    for receipt in state.receipts where receipt.key.count == 16 {
      guard let place = deviceIndex[.client(DeviceKey(receipt.key))].map({ Int($0) }) else { continue }
      let name = MessageName(
        conversation: receipt.conversation, isGroup: receipt.isGroup, number: receipt.number)
      queueReceipt(SentFrom(id(ofDevice: place), name), isRead: receipt.isRead, at: now)
    }
    restorePartial(at: now)
    // Letters that were not needed any more are removed now, and those that have lost their bodies.
    operations =
      operations.filter {
        switch $0 {
        case .removed, .groupForgotten: true
        default: false
        }
      } + lostLetters.map { .removed($0) }
    undeliverable += UInt64(lostLetters.count)
    changedNumbers = []
    line = FIFOQueue(keeping: 4_096)
    for place in devices.indices { devices[place].isInLine = false }
    inbox = Inbox()
  }

  /// Bodies in the store that letters need.
  public var usedBodies: Set<UInt64> { Set(bodyUses.keys) }

  /// Notes what is to be kept, if something keeps it.
  mutating func keep(_ operation: @autoclosure () -> StoreOperation) {
    if configuration.isDurable { operations.append(operation()) }
  }

  /// Notes how a device is waited for.
  mutating func keepDevice(_ place: Int) {
    guard configuration.isDurable, devices[place].expiry > .zero, devices[place].mailbox >= 0,
      case .client(let key) = devices[place].peer, let user = devices[place].user
    else { return }
    let box = Int(devices[place].mailbox)
    let seconds = devices[place].expiry.wholeNanoseconds / 1_000_000_000
    let joined = mailboxes[box][devices[place].joinedAt]?.id.rawValue ?? nextMessage
    operations.append(
      .device(
        StoredDevice(
          key: key.bytes, identity: devices[place].identity.bytes, user: user, expiry: seconds, joined: joined)))
  }

  /// The key of a device that is waited for beyond the life of this process.
  func keptKey(_ place: Int) -> [UInt8]? {
    guard configuration.isDurable, devices[place].expiry > .zero, case .client(let key) = devices[place].peer else {
      return nil
    }
    return key.bytes
  }
}
