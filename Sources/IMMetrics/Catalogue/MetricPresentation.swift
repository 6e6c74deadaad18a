/// Where a figure stands in text: a part of a line, such as `3 duplicate ACKs`, or columns of a table.
package struct MetricPresentation: Sendable {
  /// The lines and tables that are made of figures.
  package enum Place: String, Sendable {
    // The lines at the end of a run.
    case packets, seen, bytes, profile, evictions
    // The lines of `imdump stats`.
    case heartbeats, causes, connections, handshakes, deliveries, reads, traffic, tcp, segments, sequences, issues,
      problems
    // Its tables, and those of `stats --per`, `messages --by session`, `streams`, `streams --ranges` and `diff`.
    case types, servers, roundTrips, worst, periods, sessions, listed, streams, diff
    // A page's: its tiles, and in its verdict the causes of what was lost, what else went wrong, and what was not seen.
    case tiles, losses, also, unseen
  }

  /// How a figure stands in its line. What is not known is left out.
  package enum Style: Sendable {
    /// A part of its own, where it is not 0; or always.
    case part, always
    /// In the parentheses behind the part before it; at that part's end; in front of it: `3 of 5 attempts succeeded`. Only where
    /// the figure before is there.
    case among, behind, outOf
    /// Words in front of the value, where that is not 0.
    case labelled
    /// Words in front of what is no count, a ratio or a time, and others behind.
    case value(String)
    /// The same, in front of the next part, with a colon.
    case leading(String)
    /// Times of one kind, joined: `round trip 1.000/2.000/4.000 ms min/mean/max`. These words stand in front of the first.
    case times(String)
    /// A part for each value of the last dimension whose number is not 0: the value's name, the number, and in parentheses the
    /// value's words, where there are some.
    case named([String])
    /// The same, but the number comes first, and the value's words stand behind it; and at the ends of such parts. Where some
    /// values have words, those without have no part.
    case each([String]), behindEach([String])
    /// A tile with this title; what follows up to the next one is its remark. A share's parts stand in the remark, too: `3 of 51`
    /// and the words.
    case tile(String)
    /// Columns of a table: for the value of the last dimension with a name, or over all of them. A live table cannot wait for its
    /// widest cell, so columns there have a width. `absent` stands where the figure is not known.
    case columns([(value: String?, title: String)], width: Int, absent: String)
    /// A row of its own, by its name, or one for each direction; a percentile of round trips is compared by the ranks of these.
    case compared(percent: Double?, byDirection: Bool)
  }

  /// Its line or its table.
  package let place: Place
  /// The words behind one, and behind more.
  package let one: String, many: String
  /// How it stands there.
  package let style: Style
  /// What comes first there has less; of equals, what is declared first.
  package let order: Int

  /// Where nothing is said of the order.
  private static let usual = 100

  /// Whether it is there with 0, too.
  package var isAlways: Bool { if case .always = style { true } else { false } }

  /// Words: behind one and, where those are others, behind more.
  package init(_ place: Place, _ one: String, _ many: String? = nil, _ style: Style = .part, order: Int? = nil) {
    self.place = place
    self.one = one
    self.many = many ?? one
    self.style = style
    self.order = order ?? Self.usual
  }

  /// A part for each value of its last dimension, by name; `head` stands in front of the first.
  package static func named(
    _ place: Place, _ words: [String] = [], head: String = "", order: Int? = nil
  ) -> MetricPresentation {
    MetricPresentation(place, head, nil, .named(words), order: order)
  }

  /// A row of `diff`.
  package static func compared(
    _ name: String, percent: Double? = nil, byDirection: Bool = false, order: Int? = nil
  ) -> MetricPresentation {
    MetricPresentation(.diff, name, nil, .compared(percent: percent, byDirection: byDirection), order: order)
  }

  /// One column.
  package static func column(
    _ table: Place, _ title: String, width: Int = 0, absent: String = "-", order: Int? = nil
  ) -> MetricPresentation {
    MetricPresentation(table, "", nil, .columns([(nil, title)], width: width, absent: absent), order: order)
  }

  /// Columns of values of the last dimension.
  package static func columns(
    _ table: Place, _ columns: [(value: String, title: String)], width: Int = 0, absent: String = "-",
    order: Int? = nil
  ) -> MetricPresentation {
    let columns = columns.map { (value: String?.some($0.value), title: $0.title) }
    return MetricPresentation(table, "", nil, .columns(columns, width: width, absent: absent), order: order)
  }
}

extension MetricPresentation {
  /// What it reads like, for lists of figures: `segments: duplicate ACKs`.
  package var summary: String {
    let words =
      switch style {
      case .columns(let columns, _, _): columns.map(\.title).joined(separator: ", ")
      case .tile(let title): title
      case .value(let before), .leading(let before), .times(let before): "\(before) \(one)"
      case .part, .always, .among, .behind, .outOf, .labelled, .named, .each, .behindEach, .compared: many
      }
    let text = words.split(separator: " ").joined(separator: " ")
    return text.isEmpty ? place.rawValue : "\(place.rawValue): \(text)"
  }
}

extension Catalogue {
  /// The figures of a line or a table, with the words they have there, in their order.
  package static func texts<Snapshot>(
    _ place: MetricPresentation.Place, in figures: [Metric<Snapshot>]
  ) -> [(figure: Metric<Snapshot>, text: MetricPresentation)] {
    var all: [(figure: Metric<Snapshot>, text: MetricPresentation)] = []
    for figure in figures {
      for text in figure.info.text where text.place == place {
        all.insert((figure, text), at: all.firstIndex { $0.text.order > text.order } ?? all.count)
      }
    }
    return all
  }

  /// The count of the figure `id`, over all values of its dimensions; 0 where it is not known.
  package static func count<Snapshot>(_ id: String, in figures: [Metric<Snapshot>], of snapshot: Snapshot) -> UInt64 {
    if case .count(let count)? = value(id, in: figures, of: snapshot) { count } else { 0 }
  }

  /// The value of the figure `id`, over all values of its dimensions; `nil` where it is not known.
  package static func value<Snapshot>(
    _ id: String, in figures: [Metric<Snapshot>], of snapshot: Snapshot
  ) -> MetricValue? { figure(id, in: figures)?.value(snapshot) }

  /// The figure `id`. Looking for it takes longer than reading it.
  package static func figure<Snapshot>(_ id: String, in figures: [Metric<Snapshot>]) -> Metric<Snapshot>? {
    figures.first { $0.info.id == id }
  }
}

extension Metric {
  /// Its value over all values of its dimensions.
  package func value(_ snapshot: Snapshot) -> MetricValue? {
    let dimensions = info.dimensions.map { 0..<$0.values.count }
    return value(snapshot, dimensions.first ?? 0..<1, dimensions.count > 1 ? dimensions[1] : 0..<1)
  }

  /// Its value at a place of the last dimension, over all of the one before it; or, where that is the direction, of `way`.
  package func value(_ snapshot: Snapshot, at place: Int, way: Int? = nil) -> MetricValue? {
    guard info.dimensions.count > 1 else { return value(snapshot, place..<place + 1, 0..<1) }
    return value(snapshot, way.map { $0..<$0 + 1 } ?? 0..<info.dimensions[0].values.count, place..<place + 1)
  }
}
