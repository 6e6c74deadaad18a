package import IMRun

/// Which packets `imdump export` copies, and where to.
package struct ExportOptions: Sendable {
  /// Messages by what became of them.
  package var choice = MessageChoice()
  /// Messages by a filter.
  package var filter: String?
  /// Connections by the number that lines show behind `#`.
  package var connections: [UInt32] = []
  /// Sessions by the name or the number that lines show.
  package var sessions: [String] = []
  /// Only packets from then on, and up to then, beside the openings of connections, as text.
  package var from: String?, to: String?
  /// Whether names, addresses and what people say are replaced.
  package var redacts = false
  /// The capture that is written, `-` for standard output.
  package var path = ""

  /// Nothing chosen.
  package init() {}

  /// Whether messages are chosen.
  var choosesMessages: Bool { !choice.isEmpty || filter != nil || !sessions.isEmpty }
  /// Whether anything is.
  package var isEmpty: Bool { !choosesMessages && connections.isEmpty && from == nil && to == nil }
}
