/// The fields of OTLP's messages: their numbers in Protocol Buffers, and how their JSON is read (opentelemetry-proto 1.x).
package enum OTLPSchema {
  /// How a field is written in both forms.
  package enum Kind: Sendable {
    /// Text.
    case text
    /// Bytes, hexadecimal in JSON: ids of traces and spans.
    case id
    /// `true` or `false`.
    case flag
    /// A variable-length number; a string of digits, or a number, in JSON.
    case number
    /// A `sint32`.
    case zigzag
    /// A `fixed32`.
    case fixed32
    /// A `fixed64` or `sfixed64`; a string of digits in JSON.
    case fixed64
    /// A `double`.
    case double
    /// A list of `uint64`, and of `fixed64`, packed.
    case packedNumbers, packedFixed64
    /// A list of `double`, packed.
    case packedDoubles
    /// A message, and a list of messages.
    case message(Message), messages(Message)
  }

  /// The messages.
  package enum Message: Sendable {
    case logs, metrics, traces
    case resourceLogs, resourceMetrics, resourceSpans, resource
    case scopeLogs, scopeMetrics, scopeSpans, scope
    case attribute, value, list, map
    case log, span, event, link, status
    case metric, gauge, sum, histogram, exponentialHistogram
    case point, histogramPoint, exponentialPoint, buckets
  }

  /// One field.
  package struct Field: Sendable {
    /// Its name in JSON.
    package let name: StaticString
    /// Its number in Protocol Buffers.
    package let number: Int
    /// How it is written.
    package let kind: Kind

    init(_ name: StaticString, _ number: Int, _ kind: Kind) {
      self.name = name
      self.number = number
      self.kind = kind
    }
  }

  /// The request that holds records of a signal.
  package static func request(_ signal: OTLPSignal) -> Message {
    switch signal {
    case .logs: .logs
    case .metrics: .metrics
    case .traces: .traces
    }
  }

  /// The fields of a message that imdump writes, and those that others write in its place; exemplars and values of bytes are left
  /// out.
  package static func fields(_ message: Message) -> [Field] {
    switch message {
    case .logs: logs
    case .metrics: metrics
    case .traces: traces
    case .resourceLogs: resourceLogs
    case .resourceMetrics: resourceMetrics
    case .resourceSpans: resourceSpans
    case .resource: resource
    case .scopeLogs: scopeLogs
    case .scopeMetrics: scopeMetrics
    case .scopeSpans: scopeSpans
    case .scope: scope
    case .attribute: attribute
    case .value: value
    case .list: list
    case .map: map
    case .log: log
    case .span: span
    case .event: event
    case .link: link
    case .status: status
    case .metric: metric
    case .gauge: gauge
    case .sum: sum
    case .histogram: histogram
    case .exponentialHistogram: exponentialHistogram
    case .point: point
    case .histogramPoint: histogramPoint
    case .exponentialPoint: exponentialPoint
    case .buckets: buckets
    }
  }

  private static let logs = [Field("resourceLogs", 1, .messages(.resourceLogs))]
  private static let metrics = [Field("resourceMetrics", 1, .messages(.resourceMetrics))]
  private static let traces = [Field("resourceSpans", 1, .messages(.resourceSpans))]
  private static func resources(_ name: StaticString, _ scopes: Message) -> [Field] {
    [
      Field("resource", 1, .message(.resource)), Field(name, 2, .messages(scopes)), Field("schemaUrl", 3, .text),
    ]
  }
  private static let resourceLogs = resources("scopeLogs", .scopeLogs)
  private static let resourceMetrics = resources("scopeMetrics", .scopeMetrics)
  private static let resourceSpans = resources("scopeSpans", .scopeSpans)
  private static let resource = [
    Field("attributes", 1, .messages(.attribute)), Field("droppedAttributesCount", 2, .number),
  ]
  private static func scopes(_ name: StaticString, _ records: Message) -> [Field] {
    [Field("scope", 1, .message(.scope)), Field(name, 2, .messages(records)), Field("schemaUrl", 3, .text)]
  }
  private static let scopeLogs = scopes("logRecords", .log)
  private static let scopeMetrics = scopes("metrics", .metric)
  private static let scopeSpans = scopes("spans", .span)
  private static let scope = [
    Field("name", 1, .text), Field("version", 2, .text), Field("attributes", 3, .messages(.attribute)),
    Field("droppedAttributesCount", 4, .number),
  ]
  private static let attribute = [Field("key", 1, .text), Field("value", 2, .message(.value))]
  private static let value = [
    Field("stringValue", 1, .text), Field("intValue", 3, .number), Field("doubleValue", 4, .double),
    Field("boolValue", 2, .flag), Field("arrayValue", 5, .message(.list)), Field("kvlistValue", 6, .message(.map)),
  ]
  private static let list = [Field("values", 1, .messages(.value))]
  private static let map = [Field("values", 1, .messages(.attribute))]
  private static let log = [
    Field("timeUnixNano", 1, .fixed64), Field("observedTimeUnixNano", 11, .fixed64),
    Field("severityNumber", 2, .number), Field("severityText", 3, .text), Field("eventName", 12, .text),
    Field("body", 5, .message(.value)), Field("attributes", 6, .messages(.attribute)), Field("traceId", 9, .id),
    Field("spanId", 10, .id), Field("droppedAttributesCount", 7, .number), Field("flags", 8, .fixed32),
  ]
  private static let span = [
    Field("traceId", 1, .id), Field("spanId", 2, .id), Field("traceState", 3, .text), Field("parentSpanId", 4, .id),
    Field("name", 5, .text), Field("kind", 6, .number), Field("startTimeUnixNano", 7, .fixed64),
    Field("endTimeUnixNano", 8, .fixed64), Field("attributes", 9, .messages(.attribute)),
    Field("droppedAttributesCount", 10, .number), Field("events", 11, .messages(.event)),
    Field("droppedEventsCount", 12, .number), Field("links", 13, .messages(.link)),
    Field("droppedLinksCount", 14, .number), Field("status", 15, .message(.status)), Field("flags", 16, .fixed32),
  ]
  private static let event = [
    Field("timeUnixNano", 1, .fixed64), Field("name", 2, .text), Field("attributes", 3, .messages(.attribute)),
    Field("droppedAttributesCount", 4, .number),
  ]
  private static let link = [
    Field("traceId", 1, .id), Field("spanId", 2, .id), Field("traceState", 3, .text),
    Field("attributes", 4, .messages(.attribute)), Field("droppedAttributesCount", 5, .number),
    Field("flags", 6, .fixed32),
  ]
  private static let status = [Field("message", 2, .text), Field("code", 3, .number)]
  private static let metric = [
    Field("name", 1, .text), Field("description", 2, .text), Field("unit", 3, .text),
    Field("gauge", 5, .message(.gauge)), Field("sum", 7, .message(.sum)), Field("histogram", 9, .message(.histogram)),
    Field("exponentialHistogram", 10, .message(.exponentialHistogram)), Field("metadata", 12, .messages(.attribute)),
  ]
  private static let gauge = [Field("dataPoints", 1, .messages(.point))]
  private static let sum = [
    Field("dataPoints", 1, .messages(.point)), Field("aggregationTemporality", 2, .number),
    Field("isMonotonic", 3, .flag),
  ]
  private static let histogram = [
    Field("dataPoints", 1, .messages(.histogramPoint)), Field("aggregationTemporality", 2, .number),
  ]
  private static let exponentialHistogram = [
    Field("dataPoints", 1, .messages(.exponentialPoint)), Field("aggregationTemporality", 2, .number),
  ]
  private static let point = [
    Field("attributes", 7, .messages(.attribute)), Field("startTimeUnixNano", 2, .fixed64),
    Field("timeUnixNano", 3, .fixed64), Field("asInt", 6, .fixed64), Field("asDouble", 4, .double),
    Field("flags", 8, .number),
  ]
  private static let histogramPoint = [
    Field("attributes", 9, .messages(.attribute)), Field("startTimeUnixNano", 2, .fixed64),
    Field("timeUnixNano", 3, .fixed64), Field("count", 4, .fixed64), Field("sum", 5, .double),
    Field("bucketCounts", 6, .packedFixed64), Field("explicitBounds", 7, .packedDoubles), Field("flags", 10, .number),
    Field("min", 11, .double), Field("max", 12, .double),
  ]
  private static let exponentialPoint = [
    Field("attributes", 1, .messages(.attribute)), Field("startTimeUnixNano", 2, .fixed64),
    Field("timeUnixNano", 3, .fixed64), Field("count", 4, .fixed64), Field("sum", 5, .double),
    Field("scale", 6, .zigzag), Field("zeroCount", 7, .fixed64), Field("positive", 8, .message(.buckets)),
    Field("negative", 9, .message(.buckets)), Field("flags", 10, .number), Field("min", 12, .double),
    Field("max", 13, .double), Field("zeroThreshold", 14, .double),
  ]
  private static let buckets = [Field("offset", 1, .zigzag), Field("bucketCounts", 2, .packedNumbers)]
}
