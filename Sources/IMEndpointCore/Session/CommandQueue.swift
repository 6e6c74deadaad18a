/// What a core wants done, in order, for its transport to take one at a time.
struct CommandQueue: Sendable {
  private var commands: [TransportCommand] = []
  private var head = 0
  /// Room for so many is kept when all have been taken.
  let keptCount: Int

  init(keeping keptCount: Int) { self.keptCount = keptCount }

  @inline(__always)
  mutating func append(_ command: TransportCommand) { commands.append(command) }

  /// Takes the next; `nil` when there is none.
  @inline(__always)
  mutating func next() -> TransportCommand? {
    guard head < commands.count else {
      if head > 0 {
        commands.removeAll(keepingCapacity: commands.capacity <= keptCount)
        head = 0
      }
      return nil
    }
    head += 1
    return commands[head - 1]
  }
}
