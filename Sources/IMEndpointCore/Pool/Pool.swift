/// How many sessions a pool keeps, and for how long.
public struct PoolLimits: Hashable, Sendable {
  /// Sessions of one kind, in use or not.
  public var perKind = 5
  /// A session that was not used for so long is closed.
  public var idle = Duration.seconds(300)
  /// How often that is looked for.
  public var sweep = Duration.seconds(60)
  /// A session is used at most so often.
  public var uses = 50
  /// More messages than these waiting for an answer, and a session is not healthy enough to be handed out again.
  public var pendingMessages = 20

  /// The limits of the article.
  public init() {}
}

/// Things that are expensive to make and can be used again, by kind: acquire, release, and clean-up of what is idle.
///
/// The pool holds only names and times; who makes and closes the things asks it.
public struct Pool<Kind: Hashable & Sendable, Item: Hashable & Sendable>: Sendable {
  /// What `acquire` says.
  public enum Answer: Hashable, Sendable {
    /// This one, used before.
    case reuse(Item)
    /// A new one may be made, and is to be added.
    case make
    /// There are as many of this kind as there may be, all in use.
    case exhausted
  }

  private struct Slot: Sendable {
    var item: Item
    var kind: Kind
    var uses: Int
    var idleSince: Instant?
  }

  private var slots: [Slot] = []
  private var nextSweep: Instant?
  /// The limits.
  public let limits: PoolLimits

  /// An empty pool.
  public init(limits: PoolLimits = PoolLimits()) { self.limits = limits }

  /// How many items there are of `kind`.
  public func count(_ kind: Kind) -> Int { slots.count { $0.kind == kind } }
  /// How many items are idle.
  public var idleCount: Int { slots.count { $0.idleSince != nil } }

  /// Whether the pool knows `item`, in use or not.
  public func holds(_ item: Item) -> Bool { slots.contains { $0.item == item } }

  /// Asks for an item of `kind`. Of the idle ones that `isHealthy` the one used last is taken: it is the likeliest to
  /// work, and the others grow old enough to be closed.
  public mutating func acquire(_ kind: Kind, isHealthy: (Item) -> Bool) -> Answer {
    var best: Int?
    for index in slots.indices {
      guard slots[index].kind == kind, let since = slots[index].idleSince, slots[index].uses < limits.uses,
        isHealthy(slots[index].item)
      else { continue }
      if let known = best, let other = slots[known].idleSince, other >= since { continue }
      best = index
    }
    if let best {
      slots[best].idleSince = nil
      slots[best].uses += 1
      return .reuse(slots[best].item)
    }
    return count(kind) < limits.perKind ? .make : .exhausted
  }

  /// Adds an item that was just made, in use.
  public mutating func add(_ item: Item, _ kind: Kind) { slots.append(Slot(item: item, kind: kind, uses: 1)) }

  /// Gives an item back.
  /// - Returns: whether the pool keeps it; otherwise it is to be closed.
  public mutating func release(_ item: Item, isHealthy: Bool, at now: Instant) -> Bool {
    guard let index = slots.firstIndex(where: { $0.item == item }) else { return false }
    guard isHealthy, slots[index].uses < limits.uses else {
      slots.remove(at: index)
      return false
    }
    slots[index].idleSince = now
    if nextSweep == nil { nextSweep = now.advanced(by: limits.sweep) }
    return true
  }

  /// The item is gone.
  public mutating func remove(_ item: Item) { slots.removeAll { $0.item == item } }

  /// When `sweep` is due; `nil` while nothing is idle.
  public var deadline: Instant? { nextSweep }

  /// Takes out what has been idle for too long, or is not healthy any more: it is to be closed.
  public mutating func sweep(at now: Instant, isHealthy: (Item) -> Bool) -> [Item] {
    guard let due = nextSweep, now >= due else { return [] }
    var old: [Item] = []
    slots.removeAll { slot in
      guard let since = slot.idleSince else { return false }
      guard now >= since.advanced(by: limits.idle) || !isHealthy(slot.item) else { return false }
      old.append(slot.item)
      return true
    }
    nextSweep = idleCount > 0 ? now.advanced(by: limits.sweep) : nil
    return old
  }
}
