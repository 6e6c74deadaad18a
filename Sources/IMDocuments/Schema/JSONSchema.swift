/// The documents as a JSON Schema, draft 2020-12.
package enum JSONSchema {
  /// The whole schema: a document is one of the six, which `event.dataset` tells. Below `imdump` nothing else may stand.
  package static func text(_ fields: [ECSField] = ECSFields.all) -> String {
    var text = "{\n"
    text += " \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
    text += " \"title\": \"Documents of imdump, version \(ECSFields.version)\",\n"
    text += " \"oneOf\": [\n"
    text += ECSDataset.allCases.map { "  {\"$ref\": \"#/$defs/\($0)\"}" }.joined(separator: ",\n")
    text += "\n ],\n \"$defs\": {\n"
    text += ECSDataset.allCases.map { "  \"\($0)\": \(schema($0, fields))" }.joined(separator: ",\n")
    return text + "\n }\n}\n"
  }

  private static func schema(_ dataset: ECSDataset, _ fields: [ECSField]) -> String {
    let members = FieldTree(fields.filter { $0.datasets.contains(dataset) }).json(
      3, leaf: { leaf($0, dataset) },
      wrap: { "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": \($0)}" })
    return "{\"type\": \"object\", \"additionalProperties\": false, "
      + "\"required\": [\"@timestamp\", \"data_stream\", \"ecs\", \"event\", \"imdump\", \"observer\"],\n   "
      + "\"properties\": \(members)}"
  }

  private static func leaf(_ field: ECSField, _ dataset: ECSDataset) -> String {
    var value: String
    switch field.kind {
    case .keyword, .sentence: value = "\"type\": \"string\""
    case .ip: value = "\"type\": \"string\", \"anyOf\": [{\"format\": \"ipv4\"}, {\"format\": \"ipv6\"}]"
    case .date: value = "\"type\": \"string\", \"format\": \"date-time\""
    case .long: value = "\"type\": \"integer\""
    case .double, .float: value = "\"type\": \"number\""
    case .boolean: value = "\"type\": \"boolean\""
    case .flattened, .object: value = "\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\"}"
    case .point:
      value =
        "\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"lat\", \"lon\"], "
        + "\"properties\": {\"lat\": {\"type\": \"number\"}, \"lon\": {\"type\": \"number\"}}"
    case .histogram:
      value =
        "\"type\": \"object\", \"additionalProperties\": false, \"required\": [\"values\", \"counts\"], "
        + "\"properties\": {\"values\": {\"type\": \"array\", \"items\": {\"type\": \"number\"}}, "
        + "\"counts\": {\"type\": \"array\", \"items\": {\"type\": \"integer\", \"minimum\": 0}}}"
    }
    let names = field.name == "event.dataset" || field.name == "data_stream.dataset" ? [dataset.name] : field.values
    if !names.isEmpty { value += ", \"enum\": " + SchemaList.list(names) }
    if field.isArray { value = "\"type\": \"array\", \"items\": {\(value)}" }
    return "{\"description\": \(SchemaList.quoted(field.meaning)), \(value)}"
  }
}
