import IMEngine

/// The tables of a store, as `docs/store.md` documents them column by column.
///
/// What every message has is a number; words stand once, in tables of names, and the views put them together. Times are
/// microseconds since 1970-01-01 UTC.
enum Schema {
  /// Tables and views.
  static let tables = """
    CREATE TABLE info (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
    CREATE TABLE capture (id INTEGER PRIMARY KEY, path TEXT, byte_count INTEGER);
    CREATE TABLE type (id INTEGER PRIMARY KEY, profile TEXT NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL, answers TEXT);
    CREATE TABLE status (id INTEGER PRIMARY KEY, number NOT NULL, name TEXT);
    CREATE TABLE fate (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE cause (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE checksum (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE flag (bit INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE problem_kind (id INTEGER PRIMARY KEY, bit INTEGER, name TEXT NOT NULL);

    CREATE TABLE connection (
      id INTEGER PRIMARY KEY, client TEXT NOT NULL, server TEXT NOT NULL, via TEXT, carrier TEXT,
      \(ConnectionFacts.declaration), \(StoredMetrics.declaration)
    );
    CREATE TABLE session (
      id INTEGER PRIMARY KEY, name TEXT, name_is_number INTEGER NOT NULL, profile TEXT NOT NULL,
      connection INTEGER NOT NULL, begun_us INTEGER NOT NULL, connections INTEGER NOT NULL,
      last_message INTEGER, \(StoredMetrics.percentiles([95]).map { "\($0) INTEGER" }.joined(separator: ", ")),
      \(StoredMetrics.declaration)
    );
    CREATE TABLE session_connection (
      session INTEGER NOT NULL, connection INTEGER NOT NULL, PRIMARY KEY (session, connection)
    ) WITHOUT ROWID;
    CREATE TABLE message (
      id INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, connection INTEGER NOT NULL, session INTEGER NOT NULL,
      direction INTEGER NOT NULL, type INTEGER NOT NULL, sequence, length INTEGER NOT NULL, fate INTEGER NOT NULL,
      cause INTEGER, status INTEGER, retries INTEGER NOT NULL, duplicates INTEGER NOT NULL, rtt_us INTEGER,
      problems INTEGER NOT NULL, flags INTEGER NOT NULL, checksum INTEGER NOT NULL, compression TEXT,
      capture INTEGER NOT NULL, packet INTEGER NOT NULL, stream_offset INTEGER NOT NULL,
      byte_offset INTEGER, byte_count INTEGER NOT NULL,
      copies TEXT, checksums TEXT, answers TEXT
    );
    CREATE TABLE receipt (
      message INTEGER NOT NULL, level INTEGER NOT NULL, after_us INTEGER NOT NULL, PRIMARY KEY (message, level)
    ) WITHOUT ROWID;
    CREATE TABLE message_text (id INTEGER PRIMARY KEY, topic TEXT, text TEXT, other_text TEXT);
    CREATE VIRTUAL TABLE message_search USING fts5(text, content = '', columnsize = 0);
    CREATE TABLE problem (
      id INTEGER PRIMARY KEY, time_us INTEGER NOT NULL, kind INTEGER NOT NULL, cause INTEGER,
      connection INTEGER NOT NULL, session INTEGER, direction INTEGER NOT NULL, message INTEGER,
      stream_offset INTEGER NOT NULL, byte_count INTEGER NOT NULL
    );
    CREATE TABLE bucket (
      width_s INTEGER NOT NULL, start_s INTEGER NOT NULL,
      \(StoredMetrics.percentiles(PeriodRows.percents).map { "\($0) INTEGER" }.joined(separator: ", ")), \(StoredMetrics.declaration),
      PRIMARY KEY (width_s, start_s)
    ) WITHOUT ROWID;

    CREATE TABLE name_cache (key TEXT PRIMARY KEY, name TEXT, source TEXT NOT NULL, at_s INTEGER NOT NULL) WITHOUT ROWID;

    CREATE VIEW sessions AS SELECT s.*, \(ConnectionState.ofSession) AS state
    FROM session AS s LEFT JOIN connection AS c ON c.id = s.connection;

    CREATE VIEW messages AS SELECT
      m.id, strftime('%Y-%m-%dT%H:%M:%S', m.time_us / 1000000, 'unixepoch')
        || printf('.%06dZ', m.time_us % 1000000) AS time, m.time_us,
      m.connection AS conn, c.client, c.server, c.via, c.carrier,
      CASE m.direction WHEN 0 THEN 'c2s' ELSE 's2c' END AS dir, t.profile, t.name AS type, t.role,
      m.sequence AS seq, s.name AS session, m.length AS len, f.name AS fate, cause.name AS cause,
      status.number AS status, status.name AS status_name, m.retries, m.duplicates AS dup_after_ack, m.rtt_us,
      CASE WHEN \(CountedMessage.karn("m.")) THEN m.rtt_us END AS rtt_karn_us,
      \(receipt(.delivered, of: "m.id")) AS delivered_us, \(receipt(.read, of: "m.id")) AS read_us, (m.problems & 16) <> 0 AS late,
      x.name AS crc, m.compression AS comp, m.flags, m.problems,
      capture.path AS capture, m.packet, m.stream_offset, m.byte_offset, m.byte_count,
      text.topic, text.text, text.other_text
    FROM message AS m
      LEFT JOIN connection AS c ON c.id = m.connection LEFT JOIN session AS s ON s.id = m.session
      LEFT JOIN type AS t ON t.id = m.type LEFT JOIN fate AS f ON f.id = m.fate
      LEFT JOIN cause ON cause.id = m.cause LEFT JOIN status ON status.id = m.status
      LEFT JOIN checksum AS x ON x.id = m.checksum LEFT JOIN capture ON capture.id = m.capture
      LEFT JOIN message_text AS text ON text.id = m.id;
    CREATE VIEW problems AS SELECT
      p.id, strftime('%Y-%m-%dT%H:%M:%S', p.time_us / 1000000, 'unixepoch')
        || printf('.%06dZ', p.time_us % 1000000) AS time, p.time_us,
      k.name AS kind, cause.name AS cause, p.connection AS conn, c.client, c.server,
      CASE p.direction WHEN 0 THEN 'c2s' ELSE 's2c' END AS dir, s.name AS session, p.message, t.name AS type, t.role,
      p.stream_offset, p.byte_count
    FROM problem AS p
      JOIN problem_kind AS k ON k.id = p.kind LEFT JOIN cause ON cause.id = p.cause
      LEFT JOIN connection AS c ON c.id = p.connection LEFT JOIN session AS s ON s.id = p.session
      LEFT JOIN message AS m ON m.id = p.message LEFT JOIN type AS t ON t.id = m.type;
    """

  /// When a receipt said so of the message with this number, as SQL: microseconds after its first copy.
  static func receipt(_ level: MessageReceipt.Level, of message: String) -> String {
    "(SELECT after_us FROM receipt WHERE message = \(message) AND level = \(level.rawValue))"
  }

  /// The secondary indexes, and what each is on. The first is that by which a message's problems are found.
  private static let secondary = [
    ("problem_kind_time", "problem (kind, time_us)"),
    ("message_session", "message (session, id)"),
    ("message_connection", "message (connection, id)"),
    ("message_problem", "message (id, problems) WHERE problems <> 0"),
    ("message_session_problem", "message (session, id, problems) WHERE problems <> 0"),
    ("problem_connection", "problem (connection, time_us)"),
    ("session_name", "session (name)"),
  ]

  private static func creates(_ indexes: some Sequence<(String, String)>) -> String {
    indexes.map { "CREATE INDEX IF NOT EXISTS \($0) ON \($1);" }.joined(separator: "\n")
  }

  /// Builds the index of problems, early where some are to be removed.
  static let problemIndex = creates(secondary.prefix(1))
  /// Builds all, when all rows are there: with three of them from the start, rows go in six times slower.
  static let indexes = creates(secondary)
  /// Drops all of them.
  static let dropIndexes = secondary.map { "DROP INDEX IF EXISTS main.\($0.0);" }.joined(separator: "\n")
}
