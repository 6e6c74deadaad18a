import IMCapture
import IMEngine
import IMOutput
import IMRedaction
import IMWire

/// What stands in an export for the bytes of its packets: `imdump export --redact`.
///
/// The capture is decoded once more for the connections that are exported: of what each of their frames becomes, its place in the
/// stream is kept, and packets are rewritten by their places.
final class ExportRedaction {
  private let names: Pseudonyms
  private let sink: RedactionSink
  private var packets: PacketRedactor
  private var finder = EndpointFinder()
  /// How far each direction has come, which tells which of the many places with a sequence number is meant.
  private var reached: [RedactionSink.Way: Int64] = [:]
  /// Packets that are pieces of datagrams; they are not written.
  private(set) var fragments: UInt64 = 0

  /// Frames that were rewritten, and those that are gone.
  var counts: RedactionSink.Counts { sink.counts }
  /// Connections of which nothing is kept, for want of memory.
  var leftOut: Set<UInt32> { sink.leftOut }

  /// Decodes the input of `run` for the connections `wanted`. Gives the errors.
  init(_ run: Run, wanted: Set<UInt32>) {
    names = Pseudonyms(run.decode.identities)
    packets = PacketRedactor(names)
    sink = RedactionSink(names, plans: run.plans, memory: run.decode.memory, isWanted: { wanted.contains($0) })
    let again = run.again(over: run.input)
    let engine = again.engine(RedactionSink.needs, exchangeCapacity: 1 << 18, sink: sink)
    // What is wrong with the input was told when it was read for what is chosen.
    _ = again.lead(again.driver(engine))
    sink.finish()
  }

  /// What stands for a packet, and its record; `nil` for one that is not exported.
  func rewritten(
    _ record: PacketRecord, _ bytes: RawSpan, _ selection: borrowing ExportSelection
  ) -> (record: PacketRecord, bytes: [UInt8])? {
    let (found, isFragment) = finder.layers(bytes, record)
    if isFragment { fragments += 1 }
    guard let layers = found,
      let span = selection.span(EndpointPair(layers.source, layers.destination), record.timestamp),
      !leftOut.contains(span.serial)
    else { return nil }
    let way = RedactionSink.Way(serial: span.serial, isBack: layers.source != span.client)
    let payload = bytes.withUnsafeBytes { Array($0[layers.payload]) }
    let new = packets.rewrite(bytes, record, layers, payload: standIn(payload, layers.sequence, way))
    var copy = record
    copy.offset = 0
    return (copy, new)
  }

  private func standIn(_ payload: [UInt8], _ sequence: UInt32, _ way: RedactionSink.Way) -> [UInt8] {
    guard !payload.isEmpty else { return payload }
    let patches = sink.patches[way] ?? StreamPatches()
    guard let first = sink.firstSequences[way] else { return patches.apply(to: payload, at: 0) }
    let near = reached[way] ?? 0
    let distance = Int64(sequence.distance(from: first &+ UInt32(truncatingIfNeeded: near)))
    let offset = near + distance
    // What is far away belongs to no stream, and must not lead others astray.
    if abs(distance) < 1 << 30 { reached[way] = max(near, offset) }
    return patches.apply(to: payload, at: offset)
  }
}
