-- Noised counts of models, by the entry that paid for them. They cannot be computed again from the
-- entries, which hold their digests. Made when the first model is charged.
CREATE TABLE noised_counts (
    seq  BIGINT PRIMARY KEY,
    data BYTEA NOT NULL
);

COMMENT ON TABLE noised_counts IS 'isinglass noised counts 1';

CREATE TRIGGER noised_counts_no_change BEFORE UPDATE OR DELETE ON noised_counts
FOR EACH ROW EXECUTE FUNCTION entries_only_added();

CREATE TRIGGER noised_counts_no_truncate BEFORE TRUNCATE ON noised_counts
FOR EACH STATEMENT EXECUTE FUNCTION entries_only_added();
