import CMachine
import IMWire

/// Flows that hold bytes beyond holes or of frames that are not whole, in the order in which they began to.
final class BufferingQueue {
  /// A flow, and when it was last heard of when it took its place here.
  struct Entry {
    var flow: UInt32
    var serial: UInt32
    var at: Timestamp
  }

  @exclusivity(unchecked) private var entries: [Entry] = []
  @exclusivity(unchecked) private var head = 0
  /// Entries at which those of flows that are gone are looked for: a quarter of a megabyte of them, at least. Each look asks for
  /// the memory of all these flows, most of which nothing else wants.
  @exclusivity(unchecked) private var bound = BufferingQueue.leastBound
  private static var leastBound: Int { 16_384 }

  /// Takes note that a flow begins to hold bytes.
  func add(_ side: FlowSide, _ flows: FlowPlaces) {
    let flow = side.flow
    guard !flow.pointee.isHolder else { return }
    flow.pointee.isHolder = true
    add(Entry(flow: side.index, serial: flow.pointee.serial, at: flow.pointee.lastSeen), flows)
  }

  private func add(_ entry: Entry, _ flows: FlowPlaces) {
    if entries.count >= bound {
      dropGone(flows)
    }
    entries.append(entry)
  }

  /// Drops the entries of flows that hold nothing any more.
  @inline(never)
  private func dropGone(_ flows: FlowPlaces) {
    var kept = 0
    let ahead = 8
    for i in head..<entries.count {
      if i + ahead < entries.count {
        let next = flows.pointer(entries[i + ahead].flow)
        for line in stride(from: 0, through: 192, by: 64) { next.prefetch(at: line) }
      }
      let entry = entries[i]
      let flow = flows.pointer(entry.flow)
      guard flow.pointee.serial == entry.serial else { continue }
      flow.pointee.isHolder = flow.holdsBytes
      guard flow.pointee.isHolder else { continue }
      entries[kept] = entry
      kept += 1
    }
    entries.removeSubrange(kept...)
    head = 0
    bound = max(Self.leastBound, entries.count * 2)
  }

  /// Takes the first entry out.
  func pop() -> Entry? {
    guard head < entries.count else { return nil }
    defer { head += 1 }
    return entries[head]
  }
}

extension Ref<Flow> {
  /// Whether one of its directions has memory of its own.
  var holdsBytes: Bool {
    state(0).pointee.queue != nil || state(0).pointee.partial != nil || state(1).pointee.queue != nil
      || state(1).pointee.partial != nil || state(0).pointee.flags.contains(.inflating)
      || state(1).pointee.flags.contains(.inflating)
  }
}
