/// What Elasticsearch or OpenSearch has to be told before the first document: templates of the data streams.
///
/// Each file is the body of one request, whose path is in its name: `component-imdump-common.json` goes to
/// `PUT _component_template/imdump-common`, `index-logs-imdump.message.json` to `PUT _index_template/logs-imdump.message`.
package enum IndexTemplates {
  /// The engines that there are templates for.
  package enum Engine: String, CaseIterable, Sendable {
    /// Elasticsearch 8 and 9.
    case elasticsearch
    /// OpenSearch 2 and 3.
    case opensearch
  }

  /// The name of the ingest pipeline that every document passes.
  package static let pipeline = "imdump"

  /// The ingest pipeline: the time of arrival, and the network of a client that the sensor did not name.
  package static func pipelineText(_ engine: Engine) -> String {
    let ingested =
      switch engine {
      case .elasticsearch: "\"copy_from\": \"_ingest.timestamp\""
      case .opensearch: "\"value\": \"{{_ingest.timestamp}}\""
      }
    return """
      {
       "description": "Documents of imdump: the time of arrival, and the network of the client where the sensor did not name it",
       "processors": [
        {"set": {"field": "event.ingested", \(ingested), "ignore_failure": true}},
        {
         "geoip": {
          "if": "ctx.client?.ip != null && ctx.client?.as == null",
          "field": "client.ip",
          "target_field": "client.as",
          "database_file": "GeoLite2-ASN.mmdb",
          "properties": ["asn", "organization_name"],
          "ignore_missing": true,
          "ignore_failure": true
         }
        },
        {"rename": {"field": "client.as.asn", "target_field": "client.as.number", "ignore_missing": true, "ignore_failure": true}},
        {
         "rename": {
          "field": "client.as.organization_name",
          "target_field": "client.as.organization.name",
          "ignore_missing": true,
          "ignore_failure": true
         }
        }
       ]
      }

      """
  }

  /// The policy by which OpenSearch's Index State Management deletes indices that are older than `retention`, such as `30d`.
  package static func policy(_ retention: String) -> String {
    """
    {
     "policy": {
      "description": "Documents of imdump are kept for \(retention)",
      "default_state": "written",
      "states": [
       {
        "name": "written",
        "actions": [{"rollover": {"min_index_age": "1d", "min_primary_shard_size": "30gb"}}],
        "transitions": [{"state_name": "deleted", "conditions": {"min_rollover_age": "\(retention)"}}]
       },
       {"name": "deleted", "actions": [{"delete": {}}], "transitions": []}
      ],
      "ism_template": [{"index_patterns": ["logs-imdump.*", "metrics-imdump.*"], "priority": 300}]
     }
    }

    """
  }

  /// The files' names and what stands in them. With `isTimeSeries` the data streams of metrics are time series, which take
  /// documents of the last hours only: for live captures.
  ///
  /// `retention` is how long Elasticsearch keeps documents, such as `30d`; `nil` for as long as there is room.
  package static func files(
    _ fields: [ECSField] = ECSFields.all, for engine: Engine = .elasticsearch, isTimeSeries: Bool,
    retention: String? = nil
  ) -> [(name: String, text: String)] {
    let shared = fields.filter { $0.datasets.count == ECSDataset.allCases.count }
    let component = """
      {
       "template": {
        "mappings": {
         "dynamic": false,
         "properties": \(properties(shared, 3, engine, isTimeSeries: false))
        }
       },
       "_meta": \(meta("fields that all documents of imdump have"))
      }

      """
    return [("component-imdump-common.json", component)]
      + ECSDataset.allCases.map { dataset in
        let name = "\(dataset.streamType)-\(dataset.name)"
        return (
          "index-\(name).json",
          index(dataset, fields, name, engine, isTimeSeries && dataset.streamType == "metrics", retention)
        )
      }
  }

  private static func index(
    _ dataset: ECSDataset, _ all: [ECSField], _ name: String, _ engine: Engine, _ isTimeSeries: Bool,
    _ retention: String?
  ) -> String {
    let own = all.filter { $0.datasets.contains(dataset) }
    let fields = own.filter { field in
      // A time series is named by fields of all documents too, which are told again for that.
      field.datasets.count < ECSDataset.allCases.count || isTimeSeries && field.isDimension
    }
    let pipeline = "\"index.default_pipeline\": \"\(pipeline)\""
    var settings = "\"index.codec\": \"best_compression\", \(pipeline)"
    if isTimeSeries {
      let dimensions = own.filter(\.isDimension).map(\.name)
      settings = "\"index.mode\": \"time_series\", \"index.routing_path\": \(SchemaList.list(dimensions)), \(pipeline)"
    }
    // Labels are whatever the rules say.
    let labels =
      fields.contains { $0.kind == .object }
      ? """

         "dynamic_templates": [
          {"labels": {"path_match": "labels.*", "match_mapping_type": "string", "mapping": {"type": "keyword"}}}
         ],
      """ : ""
    let components =
      switch engine {
      case .elasticsearch:
        """
        "composed_of": ["imdump-common", "imdump@custom"],
         "ignore_missing_component_templates": ["imdump@custom"],
        """
      case .opensearch: "\"composed_of\": [\"imdump-common\"],"
      }
    // These templates displace those of Elasticsearch for logs and metrics, and with them their lifecycle.
    let lifecycle =
      engine == .elasticsearch
      ? "\n  \"lifecycle\": {" + (retention.map { "\"data_retention\": \"\($0)\"" } ?? "") + "}," : ""
    return """
      {
       "index_patterns": ["\(name)-*"],
       "data_stream": {},
       "priority": 300,
       \(components)
       "template": {\(lifecycle)
        "settings": {\(settings)},
        "mappings": {
         "dynamic": false,\(labels)
         "properties": \(properties(fields, 3, engine, isTimeSeries: isTimeSeries))
        }
       },
       "_meta": \(meta("documents of \(dataset.name)"))
      }

      """
  }

  private static func meta(_ text: String) -> String {
    "{\"description\": \(SchemaList.quoted(text)), \"schema\": \"\(ECSFields.version)\", \"ecs\": \"\(ECSFields.commonVersion)\"}"
  }

  private static func properties(
    _ fields: [ECSField], _ indentation: Int, _ engine: Engine, isTimeSeries: Bool
  ) -> String {
    FieldTree(fields).json(
      indentation, leaf: { mapping($0, engine, isTimeSeries: isTimeSeries) }, wrap: { "{\"properties\": \($0)}" })
  }

  /// The mapping of one field.
  private static func mapping(_ field: ECSField, _ engine: Engine, isTimeSeries: Bool) -> String {
    var members: [String]
    switch field.kind {
    // OpenSearch has no type for histograms: they stay in the document, where scripts read them.
    case .histogram where engine == .opensearch: return "{\"type\": \"object\", \"enabled\": false}"
    case .flattened where engine == .opensearch: return "{\"type\": \"flat_object\"}"
    case .object: members = ["\"type\": \"object\"", "\"dynamic\": true"]
    case .keyword where field.name.hasPrefix("data_stream.") && engine == .elasticsearch:
      members = ["\"type\": \"constant_keyword\""]
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
