// The least that writing a store costs: a C program that inserts the same rows into the same tables with the same pragmas, by
// prepared statements, 5,000 in a transaction, table by table in the order of their keys; and then builds the same indexes and closes the database. The rows
// are in memory before the clock runs. Prints: messages, seconds of rows, seconds of CPU of rows and indexes, seconds of indexes.
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void check(sqlite3 *database, int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return;
  fprintf(stderr, "store_floor: %s\n", sqlite3_errmsg(database));
  exit(1);
}

static const char *const names[] = {"message", "session", "session_connection", "connection", "bucket", "problem"};
enum { TABLES = sizeof names / sizeof *names };

struct table {
  int columns;
  size_t rows;
  sqlite3_value **values;
};

/// Makes a table, and takes its rows into memory.
static struct table take(sqlite3 *from, sqlite3 *to, const char *name) {
  struct table table = {0, 0, NULL};
  char sql[512];
  sqlite3_stmt *read;
  snprintf(sql, sizeof sql, "SELECT sql FROM sqlite_master WHERE name = '%s'", name);
  check(from, sqlite3_prepare_v2(from, sql, -1, &read, NULL));
  check(from, sqlite3_step(read));
  check(to, sqlite3_exec(to, (const char *)sqlite3_column_text(read, 0), NULL, NULL, NULL));
  sqlite3_finalize(read);
  snprintf(sql, sizeof sql, "SELECT * FROM %s", name);
  check(from, sqlite3_prepare_v2(from, sql, -1, &read, NULL));
  table.columns = sqlite3_column_count(read);
  for (size_t room = 0; sqlite3_step(read) == SQLITE_ROW; table.rows++) {
    if (table.rows == room) {
      room = room ? 2 * room : 1 << 16;
      table.values = realloc(table.values, room * table.columns * sizeof *table.values);
    }
    for (int i = 0; i < table.columns; i++)
      table.values[table.rows * table.columns + i] = sqlite3_value_dup(sqlite3_column_value(read, i));
  }
  sqlite3_finalize(read);
  return table;
}

static void put(sqlite3 *to, const char *name, const struct table *table) {
  char sql[512];
  sqlite3_stmt *write;
  snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (?", name);
  for (int i = 1; i < table->columns; i++) strcat(sql, ", ?");
  strcat(sql, ")");
  check(to, sqlite3_prepare_v3(to, sql, -1, SQLITE_PREPARE_PERSISTENT, &write, NULL));
  for (size_t row = 0; row < table->rows; row++) {
    if (row % 5000 == 0) check(to, sqlite3_exec(to, row ? "COMMIT; BEGIN" : "BEGIN", NULL, NULL, NULL));
    for (int i = 0; i < table->columns; i++) {
      sqlite3_value *value = table->values[row * table->columns + i];
      switch (sqlite3_value_type(value)) {
        case SQLITE_INTEGER: sqlite3_bind_int64(write, i + 1, sqlite3_value_int64(value)); break;
        case SQLITE_TEXT:
          sqlite3_bind_text(write, i + 1, (const char *)sqlite3_value_text(value), sqlite3_value_bytes(value), SQLITE_STATIC);
          break;
        default: sqlite3_bind_null(write, i + 1);
      }
    }
    check(to, sqlite3_step(write));
    sqlite3_reset(write);
  }
  if (table->rows > 0) check(to, sqlite3_exec(to, "COMMIT", NULL, NULL, NULL));
  sqlite3_finalize(write);
}

int main(int count, char **words) {
  if (count != 3) return 64;
  sqlite3 *from, *to;
  check(NULL, sqlite3_open(words[1], &from));
  remove(words[2]);
  check(NULL, sqlite3_open(words[2], &to));
  check(to, sqlite3_exec(to, "PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "PRAGMA cache_size = -16384; PRAGMA wal_autocheckpoint = 10000", NULL, NULL, NULL));
  struct table tables[TABLES];
  for (int i = 0; i < TABLES; i++) tables[i] = take(from, to, names[i]);

  double wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  for (int i = 0; i < TABLES; i++) put(to, names[i], &tables[i]);
  wall = now(CLOCK_MONOTONIC) - wall;

  double indexes = now(CLOCK_MONOTONIC);
  check(to, sqlite3_exec(to, "PRAGMA cache_size = -4096; BEGIN", NULL, NULL, NULL));
  sqlite3_stmt *read;
  check(from, sqlite3_prepare_v2(from, "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql NOT NULL", -1, &read, NULL));
  while (sqlite3_step(read) == SQLITE_ROW)
    check(to, sqlite3_exec(to, (const char *)sqlite3_column_text(read, 0), NULL, NULL, NULL));
  sqlite3_finalize(read);
  // The log goes into the file, as at the end of imdump index.
  check(to, sqlite3_exec(to, "COMMIT", NULL, NULL, NULL));
  check(to, sqlite3_close(to));
  printf("%zu %.3f %.3f %.3f\n", tables[0].rows, wall, now(CLOCK_PROCESS_CPUTIME_ID) - cpu, now(CLOCK_MONOTONIC) - indexes);
  return 0;
}
