import IMWire

/// Flows that hold bytes beyond holes or of frames that are not whole, in the order in which they began to.
final class HolderQueue {
  /// A flow, and when it was last heard of when it took its place here.
  struct Entry {
    var flow: UInt32
    var serial: UInt32
    var at: Timestamp
  }

  private var entries: [Entry] = []
  private var head = 0
  /// Entries at which those of flows that are gone are looked for.
  private var bound = 1_024

  /// Takes note that a flow begins to hold bytes.
  func add(_ side: FlowSide, _ flows: FlowPlaces) {
    let flow = side.flow
    guard !flow.pointee.isHolder else { return }
    flow.pointee.isHolder = true
    add(Entry(flow: side.index, serial: flow.pointee.serial, at: flow.pointee.lastSeen), flows)
  }

  private func add(_ entry: Entry, _ flows: FlowPlaces) {
    if entries.count >= bound {
      entries = entries[head...].filter { entry in
        let flow = flows.pointer(entry.flow)
        guard flow.pointee.serial == entry.serial else { return false }
        flow.pointee.isHolder = flow.holdsBytes
        return flow.pointee.isHolder
      }
      head = 0
      bound = max(1_024, entries.count * 2)
    }
    entries.append(entry)
  }

  /// Takes the first entry out.
  func pop() -> Entry? {
    guard head < entries.count else { return nil }
    defer { head += 1 }
    return entries[head]
  }
}

extension UnsafeMutablePointer<Flow> {
  /// Whether one of its directions has memory of its own.
  var holdsBytes: Bool {
    half(0).pointee.queue != nil || half(0).pointee.rest != nil || half(1).pointee.queue != nil
      || half(1).pointee.rest != nil || half(0).pointee.flags.contains(.inflating)
      || half(1).pointee.flags.contains(.inflating)
  }
}
