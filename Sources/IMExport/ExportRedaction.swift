import IMDescriptors
import IMEngine
import IMOutput
import IMRedaction
import IMRun
import IMSystem
import IMWire

/// What stands in an export for the bytes of its packets: `imdump export --redact`.
///
/// The capture is decoded once more for the connections that are exported: of what each of their frames becomes, its place in the
/// stream is kept, and packets are rewritten by their places. They are written after the decoder has passed them, as far as memory makes it
/// necessary: a frame may end long after the packet in which it begins, and a packet may come again.
final class ExportRedaction {
  /// Memory that everything beside the engine's tables may take, in addition to `--mem`, and the least that new bytes may.
  private static let more = 4 << 20, least = 16 << 20

  /// Packets that are prepared at a time, at most.
  static let chunkCount = 32

  /// A packet that is rewritten soon.
  private struct Packet {
    var layers = PacketLayers()
    /// Whether it is exported.
    var isFound = false
    /// Whose it is, and the place in its stream of its first byte, where it has some.
    var way = RedactionSink.Way(serial: 0, isBack: false)
    var offset: Int64 = 0
  }

  private let selection: ExportSelection
  private let sink: RedactionSink
  @exclusivity(unchecked) private var packets: PacketRedactor
  @exclusivity(unchecked) private var finder = EndpointFinder()
  /// The packets in hand: the next ones have their memory.
  private let chunk: UnsafeMutablePointer<Packet>
  /// Packets that are pieces of datagrams; they are not written.
  @exclusivity(unchecked) private(set) var fragments: UInt64 = 0

  /// Frames that were rewritten, and those that are gone.
  var counts: RedactionSink.Counts { sink.counts }
  /// Connections of which nothing is kept, for want of memory.
  var leftOut: Set<UInt32> { sink.leftOut }

  /// For the connections that `selection` wants.
  init(_ run: Run, _ selection: ExportSelection) {
    self.selection = selection
    chunk = .allocate(capacity: Self.chunkCount)
    chunk.initialize(repeating: Packet(), count: Self.chunkCount)
    let names = Pseudonyms(run.decode.identities)
    packets = PacketRedactor(names)
    sink = RedactionSink(
      names, plans: run.plans, memory: run.decode.memory,
      isWanted: selection.wantsAll ? nil : { [unowned selection] in selection.wants($0) })
  }

  deinit {
    chunk.deinitialize(count: Self.chunkCount)
    chunk.deallocate()
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
        sink.resolve()
        goesOn = copy(turnedAt)
        sink.turn()
        turnedAt = driver.engine.totals.packets
      })
    guard goesOn, !run.stopping.stop.isStopped else { return }
    sink.resolve()
    _ = copy(.max)
    sink.clear()
  }

  /// Looks for the connections of packets, at most `chunkCount`, which `rewrite` is then asked for one after the other. They are far apart
  /// in memory: so they are all asked for before the first one is needed.
  func prepare(_ records: Span<PacketRecord>, _ bytes: RawSpan) {
    for i in records.indices {
      var isFragment = false
      chunk[i].isFound = finder.find(bytes, records[i], &chunk[i].layers, &isFragment)
      if isFragment { fragments += 1 }
    }
    for i in records.indices where chunk[i].isFound {
      let source = chunk[i].layers.source
      guard let place = selection.place(EndpointPair(source, chunk[i].layers.destination), records[i].timestamp) else {
        chunk[i].isFound = false
        continue
      }
      let (serial, isBack) = selection.connection(place, from: source)
      guard sink.leftOut.isEmpty || !sink.leftOut.contains(serial) else {
        chunk[i].isFound = false
        continue
      }
      chunk[i].way = RedactionSink.Way(serial: serial, isBack: isBack)
      guard !chunk[i].layers.payload.isEmpty else { continue }
      chunk[i].offset = selection.offset(chunk[i].layers.sequence, place, isBack: isBack)
      sink.prefetch(chunk[i].way)
    }
    for i in records.indices where chunk[i].isFound && !chunk[i].layers.payload.isEmpty {
      sink.prefetch(chunk[i].way, at: chunk[i].offset)
    }
  }

  /// Puts the replacement of the packet with this number in its chunk into `packet`, and gives its record; `nil` for one that is not
  /// exported.
  func rewrite(_ number: Int, _ record: PacketRecord, _ bytes: RawSpan) -> PacketRecord? {
    guard chunk[number].isFound else { return nil }
    let way = chunk[number].way, start = chunk[number].offset
    packets.rewrite(bytes, record, chunk[number].layers) { old, new, range in
      sink.apply(old, to: &new, range, at: start, way)
    }
    var copy = record
    copy.offset = 0
    return copy
  }

  /// The replacement of the last packet.
  var packet: [UInt8] { packets.new }
}
