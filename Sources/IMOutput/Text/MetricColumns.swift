import IMMetrics
import IMWire

/// The columns of a table that are figures, in the order that they declare.
struct MetricColumns<Snapshot> {
  private struct Column {
    let figure: Metric<Snapshot>
    /// The place of the last dimension that it is about; `nil` for all.
    let place: Int?
    let title: String, width: Int, absent: String
  }

  private let columns: [Column]
  /// Whether counts have commas: `1,234`.
  private let isGrouped: Bool

  /// The columns of `table` that `figures` have, as far as `isWanted` takes them. Counts of a table that programs read are not
  /// grouped. Compiled once for all scopes: it runs once for a table.
  @_semantics("optimize.sil.specialize.generic.never")
  init(
    _ table: MetricPresentation.Place, _ figures: [Metric<Snapshot>], isGrouped: Bool = true,
    isWanted: (MetricInfo) -> Bool = { _ in true }
  ) {
    self.isGrouped = isGrouped
    columns = Catalogue.texts(table, in: figures).flatMap { figure, text -> [Column] in
      guard case .columns(let columns, let width, let absent) = text.style, isWanted(figure.info) else { return [] }
      return columns.map { value, title in
        let place = value.flatMap { value in figure.info.dimensions.last?.values.firstIndex { $0.name == value } }
        return Column(figure: figure, place: place, title: title, width: width, absent: absent)
      }
    }
  }

  /// What stands above them.
  var titles: [String] { columns.map(\.title) }
  /// How wide each is at least.
  var widths: [Int] { columns.map { max($0.width, $0.title.count) } }

  /// The cells of a row; of direction `way`, where they have one.
  func cells(_ snapshot: Snapshot, way: Int? = nil) -> [String] {
    columns.map { column in
      let value =
        (column.place ?? way).map { column.figure.value(snapshot, at: $0) } ?? column.figure.value(snapshot)
      guard let value else { return column.absent }
      if !isGrouped, case .count(let count) = value { return "\(count)" }
      return column.figure.info.unit == .time
        ? MetricSentences.milliseconds(value) : MetricSentences.text(value, column.figure.info.unit)
    }
  }
}
