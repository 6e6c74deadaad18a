import IMEngine
import IMTLS
import IMWire

extension Catalogue {
  private typealias Row = Metric<RunSnapshot>

  /// The figures of a whole run, beside those of all its connections, which `servers` has.
  package static let run: [Metric<RunSnapshot>] =
    (process + packets + payload + connectionsOfRun + frames
    + rest).map(\.withoutDocuments)

  // MARK: The process

  private static let process: [Metric<RunSnapshot>] = [
    Row("build", .count, .now, "The version of imdump", metric: MetricName("imdump_build", .info)) { run, _, _ in
      run.process == nil ? nil : .count(1)
    },
    Row(
      "process.start", .seconds, .now, "Start time of the run, in seconds since 1970; live only",
      metric: MetricName("imdump_process_start_time_seconds", .gauge, isLive: true), kind: .gauge
    ) { run, _, _ in run.process?.live.map { .seconds($0.startedAt) } },
    Row(
      "process.cpu", .seconds, .now, "CPU time of the process; live only",
      metric: MetricName("imdump_process_cpu_seconds", isLive: true)
    ) { run, _, _ in run.process?.live.map { .seconds($0.cpuSeconds) } },
    Row(
      "process.resident", .bytes, .now, "Peak resident memory of the process; live only",
      metric: MetricName("imdump_process_resident_memory_peak_bytes", .gauge, isLive: true), kind: .gauge
    ) { run, _, _ in run.process?.live.map { .count($0.residentBytes) } },
    Row(
      "memory", .bytes, .now, "Memory used by tables and streams, which --mem limits",
      metric: MetricName("imdump_memory_bytes", .gauge), kind: .gauge
    ) { run, _, _ in run.process.map { .count(UInt64(max(0, $0.memoryBytes))) } },
    Row(
      "memory.limit", .bytes, .now, "The value of --mem", metric: MetricName("imdump_memory_limit_bytes", .gauge),
      kind: .gauge
    ) { run, _, _ in run.process.map { .count(UInt64(max(0, $0.memoryLimit))) } },
  ]

  // MARK: The capture

  private static let packets: [Metric<RunSnapshot>] = [
    Row(
      "interrupted.packets", .count, .packet, "Packets read when a signal ended the run before the end of its files",
      json: ["interrupted.packets"]
    ) { run, _, _ in run.summary.capture.interruption.map { .count($0.packets) } },
    Row(
      "interrupted.share", .ratio, .now, "Share of the files' bytes read when a signal ended the run, if known; 0 to 1",
      json: ["interrupted.share"], kind: .gauge
    ) { run, _, _ in run.summary.capture.interruption?.share.map { .ratio($0) } },
    Row(
      "packets.captured", .count, .packet, "Packets that were read",
      text: [MetricPresentation(.packets, "packet captured", "packets captured", .always)]
    ) { run, _, _ in .count(run.summary.capture.captured) },
    Row(
      "packets.received", .count, .packet,
      "Packets that passed the capture filter, including those dropped afterwards; live only",
      metric: MetricName("imdump_capture_packets_received", isLive: true),
      text: [MetricPresentation(.packets, "received by filter", nil, .always)]
    ) { run, _, _ in run.summary.capture.received.map { .count($0) } },
    Row(
      "packets.after_stop", .count, .packet, "Packets received after the capture was to stop; live only",
      text: [MetricPresentation(.packets, "after the stop")]
    ) { run, _, _ in .count(run.summary.capture.afterStop) },
    Row(
      "packets.filtered_out", .count, .packet, "Packets that the capture filter excluded; files only",
      text: [MetricPresentation(.packets, "filtered out")]
    ) { run, _, _ in run.summary.capture.filteredOut.map { .count($0) } },
    Row(
      "packets.dropped.kernel", .count, .packet, "Packets dropped before imdump received them; live only",
      metric: MetricName("imdump_capture_packets_dropped", .counter, ("by", "kernel"), isLive: true),
      text: [
        MetricPresentation(.packets, "dropped by kernel", nil, .always),
        MetricPresentation(.unseen, "packet dropped by the kernel", "packets dropped by the kernel"),
      ]
    ) { run, _, _ in run.summary.capture.droppedByKernel.map { .count($0) } },
    Row(
      "packets.dropped.interface", .count, .packet, "Packets dropped before imdump received them; live only",
      metric: MetricName("imdump_capture_packets_dropped", .counter, ("by", "interface"), isLive: true),
      text: [MetricPresentation(.packets, "dropped by interface")]
    ) { run, _, _ in run.summary.capture.droppedByInterface.map { .count($0) } },
    Row(
      "packets", .count, .packet, "Packets processed", json: ["ledger.packets"],
      metric: MetricName("imdump_capture_packets_processed")
    ) { run, _, _ in .count(run.summary.ledger.packets) },
    Row(
      "segments", .count, .packet, "Processed packets with a usable TCP segment", json: ["ledger.segments"],
      text: [MetricPresentation(.packets, "TCP", nil, .always)]
    ) { run, _, _ in .count(run.summary.ledger.segments) },
    Row("payload", .bytes, .packet, "Payload bytes of segments", json: ["ledger.payload_bytes"]) { run, _, _ in
      .count(run.summary.reassembly.payloadBytes)
    },
  ]

  private static let payload: [Metric<RunSnapshot>] =
    [
      part("decoded", "bytes decoded") { $0.summary.ledger.decodedBytes },
      part("damaged", "damaged") { $0.summary.ledger.damagedBytes },
      Row(
        "stream.stray", .bytes, .packet,
        "Payload skipped while searching for a frame; decreases when late segments make it readable",
        json: ["ledger.stray_bytes"], metric: MetricName("imdump_stream_stray_bytes", .gauge),
        text: [MetricPresentation(.bytes, "stray", nil, .always)], kind: .gauge
      ) { run, _, _ in .count(run.summary.ledger.strayBytes) },
      part("unread", "not read", order: 101) { $0.summary.ledger.unreadBytes },
      part("repeated") { $0.summary.reassembly.repeatedBytes },
      part("ignored") { $0.summary.reassembly.ignoredBytes },
      Row(
        "stream.rejected", .bytes, .packet, "TCP payload, by outcome",
        metric: MetricName("imdump_stream_bytes", .counter, ("part", "rejected"))
      ) { run, _, _ in .count(run.summary.ledger.rejectedBytes) },
      Row(
        "packets.captured_twice", .count, .packet, "Packets that the capture contains twice",
        json: ["ledger.captured_twice"], metric: MetricName("imdump_capture_packets_captured_twice"),
        text: [MetricPresentation(.packets, "captured twice", order: 102)]
      ) { run, _, _ in .count(run.summary.reassembly.copies) },
      Row(
        "connections.translated", .count, .packet,
        "Connections that the capture shows twice, before and after address translation; they are counted once",
        json: ["ledger.translated_connections"], omitsZero: true
      ) { run, _, _ in .count(run.summary.ledger.translatedConnections) },
      Row(
        "multipath.connections", .count, .packet, "Connections that began a Multipath TCP connection",
        json: ["ledger.multipath.connections"], omitsZero: true
      ) { run, _, _ in .count(run.summary.ledger.multipathConnections) },
      Row(
        "multipath.joins", .count, .packet, "Further subflows of Multipath TCP",
        json: ["ledger.multipath.subflows"], omitsZero: true
      ) { run, _, _ in .count(run.summary.ledger.multipathJoins) },
      Row(
        "stream.carriers", .bytes, .packet, "Stray bytes that carriers add around frames",
        json: ["ledger.carrier_bytes"], text: [MetricPresentation(.bytes, "of carriers", nil, .among)], omitsZero: true
      ) { run, _, _ in .count(run.summary.ledger.carrierBytes) },
      Row(
        "tls.unread", .bytes, .packet,
        "TLS bytes that were not read despite a key log; decreases when late segments make them readable",
        by: [.unreadTLS], json: ["ledger.tls.unread_bytes.{reason}"],
        metric: MetricName("imdump_tls_unread_bytes", .gauge), omitsZero: true, kind: .gauge
      ) { run, reason, _ in .count(run.summary.ledger.tlsUnread[TLSUnread.allCases[reason]]) },
      Row(
        "tls.decrypted", .count, .end, "TLS connections with decrypted data",
        json: ["ledger.tls.decrypted_connections"], metric: MetricName("imdump_tls_connections_decrypted"),
        omitsZero: true
      ) { run, _, _ in .count(run.summary.ledger.tlsDecrypted) },
      Row(
        "tls.alerts", .count, .end, "TLS alerts on decrypted connections, except close_notify", by: [.direction],
        json: ["ledger.tls.alerts.{direction}"], metric: MetricName("imdump_tls_alerts"), omitsZero: true
      ) { run, way, _ in .count(run.summary.ledger.tlsAlerts[way]) },
      Row(
        "tls.handshakes", .count, .end, "TLS handshakes read in full, from ClientHello to Finished",
        json: ["ledger.tls.handshakes"], metric: MetricName("imdump_tls_handshakes"), omitsZero: true
      ) { run, _, _ in .count(run.summary.ledger.tlsHandshakes) },
      Row(
        "tls.handshakes.mean", .time, .end, "Mean duration of TLS handshakes, from ClientHello to Finished",
        json: ["ledger.tls.handshake_mean_us"],
        metric: MetricName("imdump_tls_handshake_mean_seconds", .gauge), kind: .gauge
      ) { run, _, _ in
        let ledger = run.summary.ledger
        guard ledger.tlsHandshakes > 0 else { return nil }
        return .microseconds(ledger.tlsHandshakeTime.microseconds / Int64(clamping: ledger.tlsHandshakes))
      },
      Row(
        "websocket.connections", .count, .packet, "Connections that carry WebSocket frames",
        json: ["ledger.websocket.connections"], text: [MetricPresentation(.seen, "in WebSocket", order: 101)],
        omitsZero: true
      ) { run, _, _ in .count(run.summary.ledger.webSocketConnections) },
      Row(
        "websocket.frames", .count, .packet, "WebSocket frames, by type", by: [.webSocket],
        json: ["ledger.websocket.{type}"]
      ) { run, type, _ in
        run.summary.ledger.webSocketConnections == 0 ? nil : .count(run.summary.ledger.webSocketFrames[type])
      },
      Row(
        "packets.skipped", .count, .packet, "Processed packets without a usable TCP segment, by reason", by: [.skip],
        json: ["ledger.skipped_packets.{reason}"], metric: MetricName("imdump_capture_packets_skipped"),
        text: [.named(.packets, head: "skipped:")], omitsZero: true
      ) { run, reason, _ in .count(run.summary.ledger.skipped[Int(SkipReason.allCases[reason].rawValue)]) },
      Row(
        "gaps.run", .count, .packet, "Gaps: ranges of bytes missing from a stream", by: [.gap],
        json: ["ledger.gaps.{reason}.count"], metric: MetricName("imdump_stream_gaps"),
        text: [
          MetricPresentation(.bytes, "gap", "gaps", .each([]), order: 102),
          MetricPresentation(.tiles, "", nil, .tile("Gaps"), order: 2),
          MetricPresentation(.unseen, "gap", "gaps", .each(["in the capture"]), order: 0),
        ], omitsZero: true
      ) { run, reason, _ in .count(run.summary.reassembly.gaps[Int(GapReason.allCases[reason].rawValue)]) },
      Row(
        "gaps.run.bytes", .bytes, .packet, "Bytes missing from streams", by: [.gap],
        json: ["ledger.gaps.{reason}.bytes"], metric: MetricName("imdump_stream_gap_bytes"),
        text: [
          MetricPresentation(.bytes, "bytes", nil, .behindEach(gapWords), order: 102),
          MetricPresentation(.tiles, "byte missing", "bytes missing", .always, order: 3),
          MetricPresentation(.unseen, "byte", "bytes", .behindEach(["that reached the other side"]), order: 0),
        ], omitsZero: true
      ) { run, reason, _ in .count(run.summary.reassembly.gapBytes[Int(GapReason.allCases[reason].rawValue)]) },
      Row(
        "packets.offloaded", .count, .packet, "Segments whose checksum was offloaded to the network card",
        json: ["ledger.offloaded"], text: [MetricPresentation(.packets, "with offloaded checksum", order: 104)]
      ) { run, _, _ in .count(run.summary.ledger.offloaded) },
      Row(
        "packets.truncated", .count, .packet, "Packets cut by the snaplen", json: ["ledger.truncated"],
        metric: MetricName("imdump_capture_packets_truncated"),
        text: [
          MetricPresentation(.packets, "cut by snaplen", order: 101)
        ]
      ) { run, _, _ in .count(run.summary.ledger.cutPackets) },
      Row(
        "packets.bytes", .bytes, .packet, "Captured bytes of the packets processed",
        metric: MetricName("imdump_capture_bytes")
      ) { run, _, _ in .count(run.summary.ledger.packetBytes) },
      Row(
        "time.last", .seconds, .packet, "Time of the latest packet, in seconds since 1970",
        metric: MetricName("imdump_capture_last_packet_timestamp_seconds", .gauge), kind: .gauge
      ) { run, _, _ in run.summary.ledger.lastAt.map { .seconds(Double($0.microseconds) / 1e6) } },
    ]

  private static let gapWords = GapReason.allCases.map { reason in
    switch reason {
    case .captureLoss: "lost by the capture (acknowledged, never seen)"
    case .snaplen: "cut by snaplen"
    case .unseen: "never seen"
    }
  }

  private static func part(
    _ name: String, _ words: String? = nil, order: Int? = nil, _ read: @escaping @Sendable (RunSnapshot) -> UInt64
  ) -> Metric<RunSnapshot> {
    Row(
      "stream.\(name)", .bytes, .packet, "TCP payload, by outcome", json: ["ledger.\(name)_bytes"],
      metric: MetricName("imdump_stream_bytes", .counter, ("part", name)),
      text: words.map { [MetricPresentation(.bytes, $0, nil, .always, order: order)] } ?? []
    ) { run, _, _ in .count(read(run)) }
  }

  // MARK: Connections

  private static let connectionsOfRun: [Metric<RunSnapshot>] =
    [
      one(
        "connections", "TCP connections seen, whether or not their start was captured", "all", "imdump_connections",
        [
          MetricPresentation(.seen, "connection", "connections", .always),
          MetricPresentation(.connections, "", nil, .always),
          MetricPresentation(.tiles, "seen", nil, .always, order: 1),
        ]
      ) { $0.connections },
      one(
        "connections.decoded", "Connections decoded by a profile", "decoded", "imdump_connections_decoded",
        [
          MetricPresentation(.seen, "decoded", nil, .always), MetricPresentation(.connections, "decoded", nil, .always),
          MetricPresentation(.tiles, "", nil, .tile("Connections decoded"), order: 0),
        ]
      ) { $0.decodedConnections },
      one(
        "connections.tls", "TLS connections that were not decrypted", "tls", "imdump_connections_tls",
        [MetricPresentation(.seen, "TLS (not decrypted)")]
      ) { $0.tlsConnections },
      one(
        "connections.proxied", "Connections through a proxy that names the client", "proxied", nil,
        [MetricPresentation(.seen, "through a proxy")]
      ) { $0.proxiedConnections },
      one(
        "connections.midstream", "Connections that began before the capture", "begun_before", nil,
        [MetricPresentation(.connections, "begun before the capture", order: 101)]
      ) { $0.midstreamConnections },
      Row(
        "connections.held", .count, .now,
        "Connections in the table: open ones, and those closed within the last minute",
        metric: MetricName("imdump_connections_held", .gauge), kind: .gauge
      ) { run, _, _ in run.process.map { .count(UInt64(max(0, $0.connections))) } },
      Row(
        "attempts", .count, .packet, "Connections whose SYN was seen",
        json: ["counters.connection_attempts", "connections.attempts"],
        metric: MetricName("imdump_connection_attempts"),
        text: attemptText("attempt", "attempts")
      ) { run, _, _ in .count(run.summary.ledger.connectionAttempts) },
      result("succeeded", "connection_success", attemptText("succeeded", style: .outOf)) { $0.connectionSuccesses },
      Row(
        "attempts.success", .ratio, .packet, "Attempts that succeeded, of those with a known outcome; 0 to 1",
        text: [MetricPresentation(.connections, "", nil, .among)], kind: .gauge
      ) { run, _, _ in
        let ledger = run.summary.ledger
        let known = ledger.knownAttempts
        return known == 0 ? nil : .ratio(Double(ledger.connectionSuccesses) / Double(known))
      },
      Row(
        "attempts.undecided", .count, .packet, "Attempts with an unknown outcome",
        text: [MetricPresentation(.connections, "not decided")]
      ) { run, _, _ in
        let ledger = run.summary.ledger
        return .count(ledger.connectionAttempts - min(ledger.connectionAttempts, ledger.knownAttempts))
      },
      result("refused", "connection_refused", attemptText("refused") + failedText("refused")) { $0.connectionsRefused },
      result("timed_out", "connection_timeout", attemptText("timed out") + failedText("timed out")) {
        $0.connectionsTimedOut
      },
      Row(
        "reconnects", .count, .packet, "Sessions that resumed on another connection after the previous one had ended",
        json: ["counters.reconnects"], metric: MetricName("imdump_reconnects"),
        text: [
          MetricPresentation(.connections, "reconnect", "reconnects", order: 102),
          MetricPresentation(.also, "reconnect", "reconnects"),
        ]
      ) { run, _, _ in .count(run.reconnects) },
      Row(
        "tcp.retransmissions.run", .count, .packet, "TCP segments retransmitted",
        metric: MetricName("imdump_tcp_retransmissions"),
        text: [MetricPresentation(.bytes, "TCP retransmission", "TCP retransmissions", order: 103)]
      ) { run, _, _ in .count(run.summary.reassembly.retransmissions) },
      Row(
        "tcp.outside_window.run", .count, .packet, "TCP segments outside the receiver's window",
        text: [MetricPresentation(.bytes, "segment outside the window", "segments outside the window", order: 103)]
      ) { run, _, _ in .count(run.summary.reassembly.outOfWindow) },
      Row(
        "tcp.out_of_order.run", .count, .packet, "TCP segments that arrived after later ones",
        metric: MetricName("imdump_tcp_out_of_order_segments")
      ) { run, _, _ in .count(run.summary.reassembly.outOfOrder) },
      Row(
        "tcp.conflicts", .count, .packet, "Retransmissions whose bytes differ from the first copy",
        metric: MetricName("imdump_tcp_conflicting_retransmissions"),
        text: [MetricPresentation(.bytes, "with other bytes than the first copy", order: 103)]
      ) { run, _, _ in .count(run.summary.reassembly.conflicts) },
    ]
    + reports.compactMap { figure in
      guard let metric = figure.info.runMetric else { return nil }
      return figure.named {
        $0.metric = metric
        ($0.json, $0.text) = ([], [])
        $0.id += ".run"
      }.of { $0.total.counts.asGrowth }
    }

  private static func one(
    _ id: String, _ help: String, _ name: String, _ family: String?, _ text: [MetricPresentation],
    _ read: @escaping @Sendable (Ledger) -> UInt64
  ) -> Metric<RunSnapshot> {
    Row(
      id, .count, .packet, help, json: ["connections.\(name)"], metric: family.map { MetricName($0) }, text: text
    ) { run, _, _ in .count(read(run.summary.ledger)) }
  }

  /// Attempts stand in the summary and among the figures of connections.
  private static func attemptText(
    _ one: String, _ many: String? = nil, style: MetricPresentation.Style = .part
  ) -> [MetricPresentation] {
    [MetricPresentation(.seen, one, many, style, order: 102), MetricPresentation(.connections, one, many, style)]
  }

  private static func failedText(_ words: String) -> [MetricPresentation] {
    [
      MetricPresentation(.tiles, words, order: 1),
      MetricPresentation(.also, "connection attempt \(words)", "connection attempts \(words)"),
    ]
  }

  private static func result(
    _ name: String, _ counter: String, _ text: [MetricPresentation], _ read: @escaping @Sendable (Ledger) -> UInt64
  ) -> Metric<RunSnapshot> {
    Row(
      "attempts.\(name)", .count, .packet, "Attempts with a known outcome, by outcome",
      json: ["counters.\(counter)", "connections.\(name)"],
      metric: MetricName("imdump_connection_results", .counter, ("result", name)), text: text
    ) { run, _, _ in .count(read(run.summary.ledger)) }
  }

  // MARK: Frames

  private static let frames: [Metric<RunSnapshot>] =
    [
      counter("frames", "Frames decoded") { $0.traffic.frames },
      counter("frames_c2s", "Frames of clients") { $0.traffic.clientFrames },
      counter("frames_s2c", "Frames of servers") { $0.traffic.frames - $0.traffic.clientFrames },
      counter("body_bytes", "Bytes of the bodies of frames", .bytes) { $0.traffic.bodyBytes },
      counter("stream_bytes", "Bytes of frames", .bytes) { $0.traffic.frameBytes },
      counter("retries", "Copies of frames of any type that were sent deliberately") { $0.traffic.deliberateCopies },
      counter(
        "dup_acks", "Answers after the first", text: [MetricPresentation(.problems, "repeated answers", nil, .labelled)]
      ) {
        $0.repeatedAnswers
      },
      Row(
        "checksums", .count, .packet, "Frames, by checksum result", by: [.checksum],
        json: ["counters.crc_{result}"], metric: MetricName("imdump_frame_checksums")
      ) { run, status, _ in .count(run.summary.checksums[Int(ChecksumStatus.allCases[status].rawValue)]) },
      Row(
        "issues.found", .count, .packet, "Problems found in the packets", by: [.foundIssue],
        metric: MetricName("imdump_issues")
      ) { run, kind, _ in .count(run.summary.ledger.issues[Int(Dimension.foundIssues[kind].rawValue)]) },
      Row(
        "orphans", .count, .packet, "Answers that match no known message; decreases if the message arrives later",
        metric: MetricName("imdump_orphan_acks", .gauge), kind: .gauge
      ) { run, _, _ in .count(run.summary.ledger.issues[Int(IssueKind.orphanAck.rawValue)]) },
      Row(
        "servers", .count, .now, "Servers with decoded frames", metric: MetricName("imdump_endpoints", .gauge),
        kind: .gauge
      ) { run, _, _ in run.process.map { .count(UInt64($0.servers)) } },
      Row(
        "servers.limit", .count, .now, "Maximum number of servers with labels of their own; the rest are 'other'",
        metric: MetricName("imdump_endpoints_limit", .gauge), kind: .gauge
      ) { run, _, _ in run.process.map { .count(UInt64(max(0, $0.serversLimit))) } },
    ]

  private static func counter(
    _ name: String, _ help: String, _ unit: MetricUnit = .count, text: [MetricPresentation] = [],
    _ read: @escaping @Sendable (RunSnapshot) -> UInt64
  ) -> Metric<RunSnapshot> {
    Row("run.\(name)", unit, .packet, help, json: ["counters.\(name)"], text: text) { run, _, _ in
      .count(read(run))
    }
  }

  private static let rest: [Metric<RunSnapshot>] = [
    traffic("frames", "Frames decoded", text: ("frame", "frames", .always)) { .count($0.frames) },
    traffic("frame_bytes", "Bytes of frames, as their receiver reads them", .bytes) { .count($0.frameBytes) },
    traffic(
      "body_bytes", "Bytes of the bodies of frames", .bytes, text: ("byte of bodies", "bytes of bodies", .always)
    ) { .count($0.bodyBytes) },
    traffic("duration_us", "From the first packet to the last", .time, text: ("", nil, .leading("in"))) {
      $0.duration.map { .microseconds($0) }
    },
    traffic("frames_per_s", "Frames per second", .rate, text: ("frames/s", nil, .value(""))) {
      $0.rate($0.frames).map { .ratio($0) }
    },
    traffic("frame_bytes_per_s", "Bytes of frames per second", .rate, text: ("bytes/s", nil, .value(""))) {
      $0.rate($0.frameBytes).map { .ratio($0) }
    },
    traffic(
      "overhead", "Share of the frames' bytes outside bodies; 0 to 1", .ratio, text: ("headers", nil, .value(""))
    ) { $0.overhead.map { .ratio($0) } },
    traffic(
      "transmission_loss", "Share of message transmissions without an answer; 0 to 1", .ratio,
      text: ("of the transmissions of messages unanswered", nil, .value(""))
    ) { $0.transmissionLoss.map { .ratio($0) } },
    Row(
      "time.backwards", .count, .packet, "Packets with an earlier timestamp than the previous packet",
      json: ["clock_backwards"],
      text: [MetricPresentation(.packets, "time back in time", "times back in time", order: 103)],
      omitsZero: true
    ) { run, _, _ in .count(run.summary.ledger.clockBackwards) },
    Row(
      "evictions", .count, .packet, "Entries evicted to stay within a memory limit", by: [.eviction],
      json: ["evictions.{what}"], metric: MetricName("imdump_evictions"),
      text: [
        .named(.evictions),
        MetricPresentation(
          .unseen, "open message", "open messages",
          .each(Eviction.allCases.map { $0 == .exchange ? "dropped at the memory limit (--mem)" : "" })),
      ], omitsZero: true
    ) { run, what, _ in .count(run.summary.ledger.evicted[Eviction.allCases[what]]) },
    Row(
      "issues", .count, .fate, "Problems found", by: [.issue], json: ["issues.{name}"],
      text: [.named(.issues)], omitsZero: true
    ) { run, kind, _ in .count(run.count(IssueKind.allCases[kind])) },
  ]

  private static func traffic(
    _ name: String, _ help: String, _ unit: MetricUnit = .count,
    text: (one: String, many: String?, style: MetricPresentation.Style)? = nil,
    _ read: @escaping @Sendable (Traffic) -> MetricValue?
  ) -> Metric<RunSnapshot> {
    Row(
      "traffic.\(name)", unit, .packet, help, json: ["traffic.\(name)"],
      text: text.map { [MetricPresentation(.traffic, $0.one, $0.many, $0.style)] } ?? [],
      kind: unit == .count || unit == .bytes ? .counter : .gauge
    ) { run, _, _ in read(run.traffic) }
  }
}

extension Ledger {
  /// Attempts with a known outcome.
  fileprivate var knownAttempts: UInt64 { connectionSuccesses + connectionsRefused + connectionsTimedOut }
}
