import IMEngine
import IMFilter
import IMOutput
import IMRun
import IMSystem

/// Says which messages a filter takes, for their documents: `--format ecs -Y`.
///
/// Files are read twice, and a message is chosen by what became of it in the end, as `imdump messages` chooses it. Live, and
/// from standard input, it is chosen by what is known when its fate is decided, which is when its document is written.
final class DocumentChooser {
  /// The messages chosen, a bit for each by `Exchange.id`.
  private final class Chosen {
    private var bits: [UInt64] = []

    func insert(_ id: UInt32) {
      let place = Int(id >> 6)
      while bits.count <= place { bits.append(0) }
      bits[place] |= 1 << UInt64(id & 63)
    }

    func contains(_ id: UInt32) -> Bool {
      let place = Int(id >> 6)
      return place < bits.count && bits[place] >> UInt64(id & 63) & 1 == 1
    }
  }

  /// What of a message may still change when its fate has been decided, and does so without another document.
  private static let later: [MessageField] = [.dup, .duplicate, .copy]

  private let selection: MessageSelection
  private let chosen = Chosen()
  /// Hears of messages while their documents are made; nil where the files are read for it before.
  let sink: MessageSink?

  /// A chooser by `choice` and by a filter over messages.
  init(_ choice: MessageChoice, _ filter: String?, _ run: Run) throws(UsageError) {
    selection = try run.selection(choice, filter)
    guard !run.isReadTwice else {
      sink = nil
      return
    }
    for field in Self.later where selection.keptFields.contains(field.rawValue) {
      throw UsageError(
        message:
          "filter: '\(field.field.name)' is not known yet when a document is written: read a capture file, or use "
          + "imdump messages -Y ...")
    }
    sink = MessageSink(plans: run.plans, selection: selection, owners: run.owners)
  }

  /// Reads the files for the messages that are chosen, where there are files.
  func learn(_ run: Run, _ companions: [any RunFeature]) {
    guard sink == nil else { return }
    let chosen = chosen
    let sink = MessageSink(plans: run.plans, selection: selection) { chosen.insert($1.id) }
    run.learn(MessageSink.needs(hearsDecided: false), sink, like: companions)
    sink.end()
  }

  /// Whether a message whose fate was decided is chosen.
  func includes(_ exchange: Exchange) -> Bool { sink?.includes(exchange) ?? chosen.contains(exchange.id) }
}
