/// A letter as a server's store keeps it.
public struct StoredLetter: Hashable, Sendable {
  /// Counts up in the order in which letters were accepted.
  public var id: UInt64
  /// Whom it is for.
  public var user: String
  /// The body of its frame.
  public var body: [UInt8]
  /// Whether `body` is in zlib's format.
  public var isCompressed: Bool
  /// The category that numbers it.
  public var category: SequenceCategory
  /// The key of the device that it comes from, 16 bytes; empty where that is not known.
  public var sender: [UInt8]
  /// Whether a device has it.
  public var isDelivered = false
  /// Whether it is for the other devices of its sender alone.
  public var skipsSender = false
  /// What follows `body`, where most of it is in a `BodyStore`.
  public var content: StoredParts?

  /// A letter of its parts.
  public init(
    id: UInt64, user: String, body: [UInt8], isCompressed: Bool, category: SequenceCategory, sender: [UInt8],
    isDelivered: Bool = false, skipsSender: Bool = false, content: StoredParts? = nil
  ) {
    self.id = id
    self.user = user
    self.body = body
    self.isCompressed = isCompressed
    self.category = category
    self.sender = sender
    self.isDelivered = isDelivered
    self.skipsSender = skipsSender
    self.content = content
  }
}

/// Parts of a body in a `BodyStore`.
public struct StoredParts: Hashable, Sendable {
  /// The name of the body.
  public var body: UInt64
  /// The bytes that count, in their order.
  public var parts: [Range<Int>]

  /// Parts of one body.
  public init(body: UInt64, parts: [Range<Int>]) {
    self.body = body
    self.parts = parts
  }
}

/// A device that is waited for, as a server's store keeps it.
public struct StoredDevice: Hashable, Sendable {
  /// A hash of the device's identity and secret, 16 bytes.
  public var key: [UInt8]
  /// What recipients of its messages see, 16 bytes.
  public var identity: [UInt8]
  /// The user's name that it goes by.
  public var user: String
  /// Seconds for which it is waited for.
  public var expiry: Int64
  /// Letters with smaller numbers are its only if no device had them when it came.
  public var joined: UInt64

  /// A device of its parts.
  public init(key: [UInt8], identity: [UInt8], user: String, expiry: Int64, joined: UInt64) {
    self.key = key
    self.identity = identity
    self.user = user
    self.expiry = expiry
    self.joined = joined
  }
}

/// Which numbers of one conversation have come from a device, as a server's store keeps it.
public struct StoredNumbers: Hashable, Sendable {
  /// The key of the device.
  public var key: [UInt8]
  /// The user or the group that the messages go to.
  public var conversation: String
  /// Whether that is a group.
  public var isGroup: Bool
  /// The lane that the numbers are of.
  public var lane: UInt8
  /// All numbers below have come.
  public var floor: UInt64
  /// Numbers above that have come.
  public var others: [UInt64]
  /// What recipients of the device's messages see, 16 bytes: receipts name it. Empty where it is not known.
  public var identity: [UInt8]

  /// Numbers of their parts.
  public init(
    key: [UInt8], conversation: String, isGroup: Bool, lane: UInt8, floor: UInt64, others: [UInt64],
    identity: [UInt8] = []
  ) {
    self.key = key
    self.conversation = conversation
    self.isGroup = isGroup
    self.lane = lane
    self.floor = floor
    self.others = others
    self.identity = identity
  }
}

/// A receipt for a sender who is away, as a server's store keeps it.
public struct StoredReceipt: Hashable, Sendable {
  /// The key of the sender's device.
  public var key: [UInt8]
  /// The user or the group that the message went to.
  public var conversation: String
  /// Whether that is a group.
  public var isGroup: Bool
  /// The message's number in the conversation.
  public var number: UInt64
  /// Whether it was read; else it was delivered.
  public var isRead: Bool

  /// A receipt of its parts.
  public init(key: [UInt8], conversation: String, isGroup: Bool, number: UInt64, isRead: Bool) {
    self.key = key
    self.conversation = conversation
    self.isGroup = isGroup
    self.number = number
    self.isRead = isRead
  }
}

/// What is known of a message to a group until all have it and have read it, as a server's store keeps it.
public struct StoredGroupMessage: Hashable, Sendable {
  /// The number of the first of its letters; those of the other members follow.
  public var first: UInt64
  /// The key of the sender's device.
  public var key: [UInt8]
  /// The group.
  public var group: String
  /// The message's number in it.
  public var number: UInt64
  /// The members that it went to, in the order of their letters.
  public var members: [String]
  /// Members of whom no device has it.
  public var undelivered: Int
  /// A bit for each member who has read it.
  public var readers: [UInt64]

  /// A message of its parts.
  public init(
    first: UInt64, key: [UInt8], group: String, number: UInt64, members: [String], undelivered: Int, readers: [UInt64]
  ) {
    (self.first, self.key, self.group, self.number) = (first, key, group, number)
    (self.members, self.undelivered, self.readers) = (members, undelivered, readers)
  }
}

/// What a server wants kept. A store does what it is told in order, all of one turn or nothing, and says so with
/// `ServerCore.stored(at:)`; before that nothing of it is acknowledged.
public enum StoreOperation: Hashable, Sendable {
  /// A letter was taken in.
  case put(StoredLetter)
  /// A device has a letter, the first one.
  case delivered(UInt64)
  /// A device that is waited for has a letter.
  case took(UInt64, key: [UInt8])
  /// A letter is not needed any more.
  case removed(UInt64)
  /// A device is waited for, or under other terms than before.
  case device(StoredDevice)
  /// A device is not waited for any more.
  case forgot(key: [UInt8])
  /// Numbers have come.
  case numbers(StoredNumbers)
  /// A user has joined a group, or left it.
  case member(group: String, user: String, isMember: Bool)
  /// A receipt waits for its sender, or does not any more.
  case receipt(StoredReceipt, isPending: Bool)
  /// A message to a group was taken in.
  case groupMessage(StoredGroupMessage)
  /// More members have it, or have read it.
  case groupProgress(UInt64, undelivered: Int, readers: [UInt64])
  /// Nothing more has to be reported of a message to a group.
  case groupForgotten(UInt64)
}

/// All that a store has kept.
public struct StoredState: Sendable {
  /// Letters, in the order of their numbers.
  public var letters: [StoredLetter] = []
  /// Devices that are waited for.
  public var devices: [StoredDevice] = []
  /// Which letters devices have.
  public var taken: [(letter: UInt64, key: [UInt8])] = []
  /// Which numbers have come.
  public var numbers: [StoredNumbers] = []
  /// Who is in which group.
  public var members: [(group: String, user: String)] = []
  /// Receipts that wait for their senders.
  public var receipts: [StoredReceipt] = []
  /// Messages to groups of which not everything has been reported.
  public var groupMessages: [StoredGroupMessage] = []

  /// Nothing.
  public init() {}
}
