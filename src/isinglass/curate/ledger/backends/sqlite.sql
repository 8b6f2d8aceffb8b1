-- The ledger: entries are only ever added. Everything else is computed from them.
CREATE TABLE entries (
    seq       INTEGER PRIMARY KEY,
    at        TEXT NOT NULL,
    kind      TEXT NOT NULL,
    "user"    TEXT NOT NULL,
    "key"     TEXT,
    request   BLOB,
    query     BLOB,
    place     BLOB,
    influence REAL,
    micro     INTEGER NOT NULL CHECK (micro >= 0),
    anomalous INTEGER CHECK (anomalous IN (0, 1)),
    version   INTEGER NOT NULL,
    facts     TEXT,
    prev      BLOB NOT NULL,
    hash      BLOB NOT NULL
);

CREATE INDEX entries_query ON entries (query, version) WHERE anomalous IS NOT NULL;

CREATE INDEX entries_key ON entries ("user", "key") WHERE "key" IS NOT NULL;

CREATE TRIGGER entries_no_update BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never changed'); END;

CREATE TRIGGER entries_no_delete BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are never removed'); END;

-- INSERT OR REPLACE removes a row without asking the trigger above.
CREATE TRIGGER entries_in_order BEFORE INSERT ON entries
WHEN NEW.seq IS NOT (SELECT coalesce(max(seq), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'entries are added at the end'); END;

-- "isng", so that nobody takes the file for another program's
PRAGMA application_id = 1769172583;

PRAGMA user_version = 1;
