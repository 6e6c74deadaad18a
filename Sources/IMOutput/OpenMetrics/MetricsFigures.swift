package import IMEngine
package import IMMetrics

/// What the metrics of a run tell beside those of its servers. What is not known stays `nil` and has no sample.
package struct MetricsFigures {
  /// imdump's version.
  package var version: String
  /// Where every packet and byte went.
  package var summary: Summary
  /// The servers, by their index.
  package var endpoints: [EndpointKey]
  /// Sessions that came back.
  package var reconnects: UInt64
  /// Bytes that tables and streams hold, and the most that they may.
  package var memoryBytes: Int, memoryLimit: Int
  /// Connections remembered.
  package var connections: Int
  /// The process, live: seconds since 1970 when it began, CPU seconds, the most bytes of memory it has had.
  package var process: (startedAt: Double, cpuSeconds: Double, residentBytes: UInt64)?

  /// Metrics made of their parts.
  package init(
    version: String, summary: Summary, endpoints: [EndpointKey], reconnects: UInt64, memoryBytes: Int,
    memoryLimit: Int, connections: Int, process: (startedAt: Double, cpuSeconds: Double, residentBytes: UInt64)?
  ) {
    self.version = version
    self.summary = summary
    self.endpoints = endpoints
    self.reconnects = reconnects
    self.memoryBytes = memoryBytes
    self.memoryLimit = memoryLimit
    self.connections = connections
    self.process = process
  }
}
