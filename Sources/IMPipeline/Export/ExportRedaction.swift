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
  @exclusivity(unchecked) private var packets: PacketRedactor
  @exclusivity(unchecked) private var finder = EndpointFinder()
  /// The headers of the packet in hand: the next one has their memory.
  @exclusivity(unchecked) private var layers = PacketLayers()
  /// Packets that are pieces of datagrams; they are not written.
  @exclusivity(unchecked) private(set) var fragments: UInt64 = 0

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
      names, plans: run.plans, memory: run.decode.memory,
      isWanted: selection.wantsAll ? nil : { [unowned selection] in selection.wants($0) })
  }

  /// Decodes the input of `run`, and has `copy` write the packets up to a number, counted from 1, whenever memory makes it necessary,
  /// and all that are left in the end. It says whether to go on. `fingerprint` gets the messages of the input.
  func lead(_ run: Run, _ fingerprint: CaptureFingerprint?, copy: @escaping (UInt64) -> Bool) {
    let again = run.again(over: run.input)
    let driver: Driver
    if let fingerprint {
      driver = again.driver(
        again.engine(
          RedactionSink.needs.union(CaptureFingerprint.needs), exchangeCapacity: 1 << 18,
          cost: (0, CaptureFingerprint.costPerMessage, 0), sink: PairSink(sink, fingerprint)))
    } else {
      driver = again.driver(again.engine(RedactionSink.needs, exchangeCapacity: 1 << 18, sink: sink))
    }
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
    var isFragment = false
    let isFound = finder.find(bytes, record, &layers, &isFragment)
    if isFragment { fragments += 1 }
    guard isFound, let place = selection.place(EndpointPair(layers.source, layers.destination), record.timestamp)
    else { return nil }
    let (serial, isBack) = selection.connection(place, from: layers.source)
    guard sink.leftOut.isEmpty || !sink.leftOut.contains(serial) else { return nil }
    let sequence = layers.sequence
    packets.rewrite(bytes, record, layers) { old, new, range in
      let start = selection.offset(sequence, place, isBack: isBack)
      sink.apply(old, to: &new, range, at: start, RedactionSink.Way(serial: serial, isBack: isBack))
    }
    var copy = record
    copy.offset = 0
    return copy
  }

  /// The replacement of the last packet.
  var packet: [UInt8] { packets.new }
}
