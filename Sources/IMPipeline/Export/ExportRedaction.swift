import IMCapture
import IMEngine
import IMOutput
import IMRedaction
import IMWire

/// What stands in an export for the bytes of its packets: `imdump export --redact`.
///
/// The capture is decoded once more for the connections that are exported: of what each of their frames becomes, its place in the
/// stream is kept, and packets are rewritten by their places. They are written after the decoder has passed them, as far as memory makes it
/// necessary: a frame may end long after the packet in which it begins, and a packet may come again.
final class ExportRedaction {
  /// Memory that everything beside the engine's tables may take, in addition to `--mem`, and the least that new bytes may.
  private static let more = 32 << 20, least = 16 << 20

  private let selection: ExportSelection
  private let sink: RedactionSink
  private var packets: PacketRedactor
  private var finder = EndpointFinder()
  /// Packets that are pieces of datagrams; they are not written.
  private(set) var fragments: UInt64 = 0

  /// Frames that were rewritten, and those that are gone.
  var counts: RedactionSink.Counts { sink.counts }
  /// Connections of which nothing is kept, for want of memory.
  var leftOut: Set<UInt32> { sink.leftOut }

  /// For the connections that `selection` wants.
  init(_ run: Run, _ selection: ExportSelection) {
    self.selection = selection
    let names = Pseudonyms(run.decode.identities)
    packets = PacketRedactor(names)
    sink = RedactionSink(
      names, plans: run.plans, memory: run.decode.memory, isWanted: { [unowned selection] in selection.wants($0) })
  }

  /// Decodes the input of `run`, and has `copy` write the packets up to a number, counted from 1, whenever memory makes it necessary,
  /// and all that are left in the end. It says whether to go on.
  func lead(_ run: Run, copy: @escaping (UInt64) -> Bool) {
    let again = run.again(over: run.input)
    let driver = again.driver(again.engine(RedactionSink.needs, exchangeCapacity: 1 << 18, sink: sink))
    let memory = run.decode.memory + Self.more - selection.byteCount
    var turnedAt: UInt64 = 0
    var goesOn = true
    // What is wrong with the input was told when it was read for what is chosen.
    _ = again.lead(
      driver, isOver: { !goesOn },
      afterBatch: { [sink] in
        sink.window = max(Self.least, memory - driver.engine.memoryBytes)
        guard sink.isFull else { return }
        sink.settle()
        goesOn = copy(turnedAt)
        sink.turn()
        turnedAt = driver.engine.totals.packets
      })
    guard goesOn, !run.stopping.stop.isStopped else { return }
    sink.settle()
    _ = copy(.max)
    sink.clear()
  }

  /// Puts a packet's replacement into `packet`, and gives its record; `nil` for one that is not exported.
  func rewrite(_ record: PacketRecord, _ bytes: RawSpan) -> PacketRecord? {
    let (found, isFragment) = finder.layers(bytes, record)
    if isFragment { fragments += 1 }
    guard let layers = found,
      let place = selection.place(EndpointPair(layers.source, layers.destination), record.timestamp),
      sink.leftOut.isEmpty || !sink.leftOut.contains(selection[place].serial)
    else { return nil }
    let serial = selection[place].serial
    let isBack = !selection[place].isClient(layers.source)
    packets.rewrite(bytes, record, layers) { old, new, range in
      let start = offset(layers.sequence, place, isBack)
      sink.apply(old, to: &new, range, at: start, RedactionSink.Way(serial: serial, isBack: isBack))
    }
    var copy = record
    copy.offset = 0
    return copy
  }

  /// The replacement of the last packet.
  var packet: [UInt8] { packets.new }

  /// The place in its stream of a segment with bytes.
  private func offset(_ sequence: UInt32, _ place: Int, _ isBack: Bool) -> Int64 {
    let first = isBack ? selection[place].firstSequences.1 : selection[place].firstSequences.0
    guard let first else { return 0 }
    let near = isBack ? selection[place].reached.1 : selection[place].reached.0
    let distance = Int64(sequence.distance(from: first &+ UInt32(truncatingIfNeeded: near)))
    let offset = near + distance
    // What is far away belongs to no stream, and must not lead others astray.
    if abs(distance) < 1 << 30 {
      if isBack {
        selection[place].reached.1 = max(near, offset)
      } else {
        selection[place].reached.0 = max(near, offset)
      }
    }
    return offset
  }
}
