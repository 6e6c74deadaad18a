/// What Elasticsearch has to be told before the first document: templates of the six data streams.
///
/// Each file is the body of one request, whose path is in its name: `component-imdump-common.json` goes to
/// `PUT _component_template/imdump-common`, `index-logs-imdump.message.json` to `PUT _index_template/logs-imdump.message`.
package enum IndexTemplates {
  /// The files' names and what stands in them. With `isTimeSeries` the data streams of metrics are time series, which take
  /// documents of the last hours only: for live captures.
  package static func files(
    _ fields: [ECSField] = ECSFields.all, isTimeSeries: Bool
  ) -> [(name: String, text: String)] {
    let shared = fields.filter { $0.datasets.count == ECSDataset.allCases.count }
    let component = """
      {
       "template": {
        "mappings": {
         "dynamic": false,
         "properties": \(properties(shared, 3, isTimeSeries: false))
        }
       },
       "_meta": \(meta("fields that all documents of imdump have"))
      }

      """
    return [("component-imdump-common.json", component)]
      + ECSDataset.allCases.map { dataset in
        let name = "\(dataset.streamType)-\(dataset.name)"
        return ("index-\(name).json", index(dataset, fields, name, isTimeSeries && dataset.streamType == "metrics"))
      }
  }

  private static func index(
    _ dataset: ECSDataset, _ all: [ECSField], _ name: String, _ isTimeSeries: Bool
  ) -> String {
    let own = all.filter { $0.datasets.contains(dataset) }
    let fields = own.filter { field in
      // A time series is named by fields of all documents too, which are told again for that.
      field.datasets.count < ECSDataset.allCases.count || isTimeSeries && field.isDimension
    }
    var settings = "\"index.codec\": \"best_compression\""
    if isTimeSeries {
      let dimensions = own.filter(\.isDimension).map(\.name)
      settings = "\"index.mode\": \"time_series\", \"index.routing_path\": \(SchemaList.list(dimensions))"
    }
    // Labels are whatever the rules say.
    let labels =
      fields.contains { $0.kind == .object }
      ? """

         "dynamic_templates": [
          {"labels": {"path_match": "labels.*", "match_mapping_type": "string", "mapping": {"type": "keyword"}}}
         ],
      """ : ""
    return """
      {
       "index_patterns": ["\(name)-*"],
       "data_stream": {},
       "priority": 300,
       "composed_of": ["imdump-common", "imdump@custom"],
       "ignore_missing_component_templates": ["imdump@custom"],
       "template": {
        "settings": {\(settings)},
        "mappings": {
         "dynamic": false,\(labels)
         "properties": \(properties(fields, 3, isTimeSeries: isTimeSeries))
        }
       },
       "_meta": \(meta("documents of \(dataset.name)"))
      }

      """
  }

  private static func meta(_ text: String) -> String {
    "{\"description\": \(SchemaList.quoted(text)), \"schema\": \"\(ECSFields.version)\", \"ecs\": \"\(ECSFields.commonVersion)\"}"
  }

  private static func properties(_ fields: [ECSField], _ indentation: Int, isTimeSeries: Bool) -> String {
    FieldTree(fields).json(
      indentation, leaf: { mapping($0, isTimeSeries: isTimeSeries) }, wrap: { "{\"properties\": \($0)}" })
  }

  /// The mapping of one field.
  private static func mapping(_ field: ECSField, isTimeSeries: Bool) -> String {
    var members: [String]
    switch field.kind {
    case .object: members = ["\"type\": \"object\"", "\"dynamic\": true"]
    case .keyword where field.name.hasPrefix("data_stream."): members = ["\"type\": \"constant_keyword\""]
    case .keyword where !field.isDimension:
      members = ["\"type\": \"keyword\"", "\"ignore_above\": 1024"]
    case .keyword, .sentence, .long, .double, .float, .date, .ip, .boolean, .flattened, .point, .histogram:
      members = ["\"type\": \"\(field.kind.rawValue)\""]
    }
    if isTimeSeries, field.isDimension { members.append("\"time_series_dimension\": true") }
    if isTimeSeries, let metric = field.metric { members.append("\"time_series_metric\": \"\(metric.rawValue)\"") }
    if let unit = field.unit { members.append("\"meta\": {\"unit\": \"\(unit.rawValue)\"}") }
    return "{" + members.joined(separator: ", ") + "}"
  }
}
