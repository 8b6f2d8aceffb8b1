-- Noised counts of models, by the entry that paid for them. They cannot be computed again from the
-- entries, which hold their digests. Made when the first model is charged.
CREATE TABLE noised_counts (
    seq  INTEGER PRIMARY KEY,
    data BLOB NOT NULL
);

CREATE TRIGGER noised_counts_no_update BEFORE UPDATE ON noised_counts
BEGIN SELECT RAISE(ABORT, 'noised counts are never changed'); END;

CREATE TRIGGER noised_counts_no_delete BEFORE DELETE ON noised_counts
BEGIN SELECT RAISE(ABORT, 'noised counts are never removed'); END;

-- INSERT OR REPLACE removes a row without asking the trigger above.
CREATE TRIGGER noised_counts_once BEFORE INSERT ON noised_counts
WHEN EXISTS (SELECT 1 FROM noised_counts WHERE seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'noised counts are added once'); END;
