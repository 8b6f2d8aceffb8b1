-- The ledger: entries are only ever added. Everything else is computed from them.
CREATE TABLE entries (
    seq       BIGINT PRIMARY KEY,
    at        TEXT NOT NULL,
    kind      TEXT NOT NULL,
    "user"    TEXT NOT NULL,
    "key"     TEXT,
    request   BYTEA,
    query     BYTEA,
    place     BYTEA,
    influence DOUBLE PRECISION,
    micro     BIGINT NOT NULL CHECK (micro >= 0),
    anomalous BIGINT CHECK (anomalous IN (0, 1)),
    version   BIGINT NOT NULL,
    facts     TEXT,
    prev      BYTEA NOT NULL,
    hash      BYTEA NOT NULL
);

COMMENT ON TABLE entries IS 'isinglass ledger 1';

CREATE INDEX entries_query ON entries (query, version, seq) WHERE anomalous IS NOT NULL;

CREATE INDEX entries_key ON entries ("user", "key") WHERE "key" IS NOT NULL;

CREATE FUNCTION entries_only_added() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'entries are never changed or removed';
END
$$;

CREATE TRIGGER entries_no_change BEFORE UPDATE OR DELETE ON entries
FOR EACH ROW EXECUTE FUNCTION entries_only_added();

CREATE TRIGGER entries_no_truncate BEFORE TRUNCATE ON entries
FOR EACH STATEMENT EXECUTE FUNCTION entries_only_added();
