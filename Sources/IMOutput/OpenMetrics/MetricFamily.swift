/// A family of metrics: what a monitoring system sees under one name.
///
/// `MetricFamily.all` is the whole list. The manual page `imdump-metrics(5)` has the same, and a test holds them together.
package struct MetricFamily: Equatable, Sendable {
  /// What kind of figures it has, in the words of OpenMetrics.
  package enum Kind: String, Sendable {
    /// A count that never goes back while the run goes on. Its samples' names end in `_total`.
    case counter
    /// A figure that goes up and down.
    case gauge
    /// Counts of samples up to boundaries.
    case histogram
    /// Percentiles of all samples of the run.
    case summary
    /// Facts, as labels.
    case info
  }

  /// The name, without what a kind adds to it.
  package let name: String
  /// What kind of figures.
  package let kind: Kind
  /// The unit that the name ends in; empty for counts and facts.
  package let unit: String
  /// One sentence without a full stop.
  package let help: String
  /// The names of the labels, in the order in which samples have them.
  package let labels: [String]

  private init(_ name: String, _ kind: Kind, unit: String = "", _ labels: [String], _ help: String) {
    self.name = name
    self.kind = kind
    self.unit = unit
    self.help = help
    self.labels = labels
  }

  private init(_ name: String, _ kind: Kind, unit: String = "", _ help: String) {
    self.init(name, kind, unit: unit, [], help)
  }

  private static let server = ["profile", "endpoint"]
  private static let way = ["profile", "endpoint", "direction"]
  private static let type = ["profile", "type", "direction"]

  // MARK: The process

  static let build = MetricFamily("imdump_build", .info, ["version"], "The version of imdump")
  static let start = MetricFamily(
    "imdump_process_start_time_seconds", .gauge, unit: "seconds", "When the run began, in seconds since 1970; live only"
  )
  static let cpu = MetricFamily(
    "imdump_process_cpu_seconds", .counter, unit: "seconds", "CPU time of the process; live only")
  static let resident = MetricFamily(
    "imdump_process_resident_memory_peak_bytes", .gauge, unit: "bytes",
    "The most memory that the process has had; live only")
  static let memory = MetricFamily(
    "imdump_memory_bytes", .gauge, unit: "bytes", "What tables and streams hold, which --mem limits")
  static let memoryLimit = MetricFamily("imdump_memory_limit_bytes", .gauge, unit: "bytes", "The value of --mem")
  static let evictions = MetricFamily(
    "imdump_evictions", .counter, ["what"], "What was forgotten to stay within a limit on memory")

  // MARK: The capture

  static let received = MetricFamily(
    "imdump_capture_packets_received", .counter,
    "Packets that passed the capture filter, those that were dropped then included; live only")
  static let dropped = MetricFamily(
    "imdump_capture_packets_dropped", .counter, ["by"], "Packets that were lost before imdump saw them; live only")
  static let processed = MetricFamily("imdump_capture_packets_processed", .counter, "Packets that imdump has looked at")
  static let skipped = MetricFamily(
    "imdump_capture_packets_skipped", .counter, ["reason"], "Of those, packets without a TCP segment to use")
  static let cut = MetricFamily("imdump_capture_packets_truncated", .counter, "Packets that the snaplen cut")
  static let repeated = MetricFamily("imdump_capture_packets_repeated", .counter, "Packets that were captured twice")
  static let bytes = MetricFamily(
    "imdump_capture_bytes", .counter, unit: "bytes", "Captured bytes of the packets that imdump has looked at")
  static let lastPacket = MetricFamily(
    "imdump_capture_last_packet_timestamp_seconds", .gauge, unit: "seconds",
    "How far packet time has come, in seconds since 1970")
  static let streamBytes = MetricFamily(
    "imdump_stream_bytes", .counter, unit: "bytes", ["part"], "Payload of TCP by what became of it")
  static let skippedBytes = MetricFamily(
    "imdump_stream_skipped_bytes", .gauge, unit: "bytes",
    "Payload passed over in search of a frame; less again where late segments make it readable")
  static let gaps = MetricFamily(
    "imdump_stream_gaps", .counter, ["reason"], "Times that bytes were missing from a stream")
  static let gapBytes = MetricFamily(
    "imdump_stream_gap_bytes", .counter, unit: "bytes", ["reason"], "Bytes that were missing from streams")

  // MARK: TCP

  static let connections = MetricFamily("imdump_connections", .counter, "TCP connections seen, however they began")
  static let decoded = MetricFamily("imdump_connections_decoded", .counter, "Connections that a profile decodes")
  static let encrypted = MetricFamily("imdump_connections_tls", .counter, "Connections of TLS, which nothing decodes")
  static let held = MetricFamily(
    "imdump_connections_held", .gauge, "Connections remembered: those that are open, and for a minute those that were")
  static let attempts = MetricFamily("imdump_connection_attempts", .counter, "Connections whose SYN was seen")
  static let results = MetricFamily(
    "imdump_connection_results", .counter, ["result"], "Attempts whose end is known, by their end")
  static let reconnects = MetricFamily(
    "imdump_reconnects", .counter, "Sessions that came back on another connection after their last one had ended")
  static let retransmissions = MetricFamily("imdump_tcp_retransmissions", .counter, "TCP segments sent again")
  static let outOfOrder = MetricFamily(
    "imdump_tcp_out_of_order_segments", .counter, "TCP segments that later ones overtook")
  static let conflicts = MetricFamily(
    "imdump_tcp_conflicting_retransmissions", .counter, "Retransmissions with other bytes than the first copy")

  // MARK: Frames

  static let frames = MetricFamily("imdump_frames", .counter, type, "Frames decoded")
  static let bodyBytes = MetricFamily(
    "imdump_frame_body_bytes", .counter, unit: "bytes", type, "Bytes of the bodies of frames")
  static let copies = MetricFamily(
    "imdump_copies", .counter, ["profile", "type", "kind"], "Copies of messages after the first, by why they were sent")
  static let checksums = MetricFamily(
    "imdump_frame_checksums", .counter, ["result"], "Frames by what their checksum says")
  static let issues = MetricFamily("imdump_issues", .counter, ["name"], "What was not as it should be in the packets")
  static let orphans = MetricFamily(
    "imdump_orphan_acks", .gauge, "Answers that name nothing known; one less when its message comes after all")

  // MARK: Servers

  static let endpoints = MetricFamily("imdump_endpoints", .gauge, "Servers that frames were decoded of")
  static let endpointsLimit = MetricFamily(
    "imdump_endpoints_limit", .gauge, "Servers that have labels of their own at most; the rest are 'other'")
  static let messages = MetricFamily(
    "imdump_messages", .counter, way + ["fate"], "Messages whose fate was decided, by the fate that was decided first")
  static let messagesLate = MetricFamily(
    "imdump_messages_late", .counter, way + ["fate"],
    "Messages answered after they were counted as unanswered, damaged or unknown, by the answer")
  static let messageCauses = MetricFamily(
    "imdump_message_causes", .counter, way + ["cause"],
    "Messages that were first decided to have failed, by why: network, peer, capture, status, checksum")
  static let messageCausesLate = MetricFamily(
    "imdump_message_causes_late", .counter, way + ["cause"], "Of those, answered after all, by why they were counted")
  static let refusals = MetricFamily(
    "imdump_refusals", .counter, server + ["type", "status", "status_name"],
    "Refused exchanges of every kind, by type and by the status of the answer")
  static let handshakesRefused = MetricFamily(
    "imdump_handshakes_refused", .counter, server,
    "Failed logins: of these, the requests of the protocol's own handshake")
  static let oneWay = MetricFamily("imdump_messages_unacknowledged", .counter, way, "Messages that ask for no answer")
  static let control = MetricFamily(
    "imdump_control_messages", .counter, way + ["fate"],
    "Other exchanges than messages and heartbeats, by the fate that was decided first")
  static let controlLate = MetricFamily(
    "imdump_control_messages_late", .counter, way + ["fate"],
    "Of those, answered after they were counted as unanswered, damaged or unknown, by the answer")
  static let heartbeats = MetricFamily(
    "imdump_heartbeats", .counter, server + ["fate"], "Heartbeats, by the fate that was decided first")
  static let heartbeatsLate = MetricFamily(
    "imdump_heartbeats_late", .counter, server, "Heartbeats answered after they were counted as missed or unknown")
  static let roundTrips = MetricFamily(
    "imdump_rtt_seconds", .histogram, unit: "seconds", server,
    "Round trips of everything but heartbeats, without what was sent twice before the answer")
  static let runRoundTrips = MetricFamily(
    "imdump_run_rtt_seconds", .summary, unit: "seconds", server,
    "The same round trips: percentiles of the whole run, as imdump stats prints them")
  static let heartbeatTrips = MetricFamily(
    "imdump_run_heartbeat_rtt_seconds", .summary, unit: "seconds", server,
    "Round trips of heartbeats: percentiles of the whole run")
  static let heartbeatIntervals = MetricFamily(
    "imdump_run_heartbeat_interval_seconds", .summary, unit: "seconds", server,
    "Times from one heartbeat of a connection to the next: percentiles of the whole run")
  static let reads = MetricFamily(
    "imdump_run_read_seconds", .summary, unit: "seconds", way,
    "Times from a message to its first receipt: percentiles of the whole run")

  // MARK: Connections that are over, by server

  static let ended = MetricFamily(
    "imdump_endpoint_connections_ended", .counter, server + ["by"], "Decoded connections that are over")
  static let handshakes = MetricFamily(
    "imdump_endpoint_handshakes", .counter, server + ["result"],
    "The protocol's own handshakes, of connections that are over")
  static let endpointFrames = MetricFamily(
    "imdump_endpoint_frames", .counter, way, "Frames of connections that are over")
  static let endpointBytes = MetricFamily(
    "imdump_endpoint_wire_bytes", .counter, unit: "bytes", way, "Bytes of packets of connections that are over")
  static let endpointRetransmissions = MetricFamily(
    "imdump_endpoint_tcp_retransmissions", .counter, way, "TCP segments sent again on connections that are over")
  static let endpointReconnects = MetricFamily(
    "imdump_endpoint_reconnects", .counter, server, "Reconnects, of connections that are over")

  /// Every family that there can be, in the order in which they are written.
  package static let all = [
    build, start, cpu, resident, memory, memoryLimit, evictions, received, dropped, processed, skipped, cut, repeated,
    bytes, lastPacket, streamBytes, skippedBytes, gaps, gapBytes, connections, decoded, encrypted, held, attempts,
    results, reconnects, retransmissions, outOfOrder, conflicts, frames, bodyBytes, copies, checksums, issues, orphans,
    endpoints, endpointsLimit, messages, messagesLate, messageCauses, messageCausesLate, refusals,
    handshakesRefused, oneWay, control, controlLate, heartbeats, heartbeatsLate,
    roundTrips, runRoundTrips, heartbeatTrips, heartbeatIntervals, reads, ended, handshakes, endpointFrames,
    endpointBytes, endpointRetransmissions, endpointReconnects,
  ]
}
