--
-- PostgreSQL database dump
--

\restrict pUcmz0qfCyZaP6VZXeBShvxJFDgAeJttsTwvFGlEl5tlP2l5Cek6mVQSC7uTBwo

-- Dumped from database version 15.18 (Debian 15.18-0+deb12u1)
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: compat; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA compat;


--
-- Name: entries_only_added(); Type: FUNCTION; Schema: compat; Owner: -
--

CREATE FUNCTION compat.entries_only_added() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    RAISE EXCEPTION 'entries are never changed or removed';
END
$$;


SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: entries; Type: TABLE; Schema: compat; Owner: -
--

CREATE TABLE compat.entries (
    seq bigint NOT NULL,
    at text NOT NULL,
    kind text NOT NULL,
    "user" text NOT NULL,
    key text,
    request bytea,
    query bytea,
    place bytea,
    influence double precision,
    micro bigint NOT NULL,
    anomalous bigint,
    version bigint NOT NULL,
    facts text,
    prev bytea NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT entries_anomalous_check CHECK ((anomalous = ANY (ARRAY[(0)::bigint, (1)::bigint]))),
    CONSTRAINT entries_micro_check CHECK ((micro >= 0))
);


--
-- Name: TABLE entries; Type: COMMENT; Schema: compat; Owner: -
--

COMMENT ON TABLE compat.entries IS 'isinglass ledger 1';


--
-- Data for Name: entries; Type: TABLE DATA; Schema: compat; Owner: -
--

INSERT INTO compat.entries VALUES (1, '2026-11-16T18:41:52.226+00:00', 'contract', 'curator', NULL, NULL, NULL, NULL, NULL, 0, NULL, 1, '{"contract": {"also_released": false, "beta_max": null, "cap": 2000000, "columns": ["weight", "length", "width", "pulse"], "k_min": null, "metric": {"name": "euclidean", "p": null, "weights": null}, "modes": ["sparse"], "r_min": null, "records_per_person": 1, "rule": null, "scaling": {"high": [25.27376300000001, 22.176521000000005, 22.822341, 22.845404000000002], "low": [15.201141, 18.698158, 17.865979, 17.882535999999998], "projection": [[-0.41082205303875113, 0.5493036699717346, 0.29103747846422545], [0.6150610144147369, -0.1018634977914511, 0.7716467375323055], [0.30181006298466745, 0.8268845903264437, -0.054415719482551826], [0.601527950443977, 0.06442965352960167, -0.5629364334080101]]}, "unit": "record", "user_cap": 1000000}, "distance": {"name": "euclidean", "power": 2.0, "weighted": false, "weights": [1.0, 1.0, 1.0]}, "ledger": "03fd12f9e1233834e88c4ff620c324a9", "table": "6805ec93c4a6d4b4d1c3fdc6064b23bc004b6c46bf2abfaa0cceee4d5d508fa2"}', '\x0000000000000000000000000000000000000000000000000000000000000000', '\x3de77168b61456a4406257dda431ccdd8b8021c575efd57982e7781514775fa7');
INSERT INTO compat.entries VALUES (2, '2026-11-16T18:41:52.234+00:00', 'answer', 'curator', NULL, NULL, '\x380663bb31c75526fa5e933b7e70a8864f592059e079ed382e9b3c7a879a0655', '\x21d035c7c8f2da3f2366cc2f4e6de33f98ee33eefbf8c43f', 0.4, 100000, 0, 1, NULL, '\x3de77168b61456a4406257dda431ccdd8b8021c575efd57982e7781514775fa7', '\xfe3e567c65bd633a4e5a6b5d51c541579ca89b01796091a5a9b4ef18c6f3b3a6');
INSERT INTO compat.entries VALUES (3, '2026-11-16T18:41:52.234+00:00', 'answer', 'curator', NULL, NULL, '\xe4c0bbdc15d46788659c8708b044627a4d178d1cf3d0a3ead3b6ce9d755b1a90', '\x408693c9111106c0ce03dd013653244028f2b2348e3a26c0', 0.4, 100000, 0, 1, NULL, '\xfe3e567c65bd633a4e5a6b5d51c541579ca89b01796091a5a9b4ef18c6f3b3a6', '\x9ef8f57905e0ad4f42ccd6874ce4ef75f691048bc80b97d48dadaef5942d3313');
INSERT INTO compat.entries VALUES (4, '2026-11-16T18:41:52.234+00:00', 'answer', 'curator', NULL, NULL, '\x94305d31448ade699988315e2dd0cff12ad5968832f7073487dd768014c9cc2c', '\xa67cb2870a8a10409426afbf8b450f40ae3c386f2cf22440', 0.4, 100000, 1, 1, NULL, '\x9ef8f57905e0ad4f42ccd6874ce4ef75f691048bc80b97d48dadaef5942d3313', '\x1aa812af33efb7fa05d0a120ae7fd57a315aaa92350be0c0b5896d19fb1d37eb');
INSERT INTO compat.entries VALUES (5, '2026-11-16T18:41:52.303+00:00', 'version', 'curator', NULL, NULL, NULL, NULL, NULL, 0, NULL, 2, '{"reason": "a record was added", "table": "f190207cad4afbdc1f63ae2977d6152d3fdb3b950a4f8e768a0238df677b8638"}', '\x1aa812af33efb7fa05d0a120ae7fd57a315aaa92350be0c0b5896d19fb1d37eb', '\xb455b1073df29eb8dcacedc53aa62ebf2d702029cf4ebe45a69b794965f17d4a');
INSERT INTO compat.entries VALUES (6, '2026-11-16T18:41:52.310+00:00', 'answer', 'curator', 'monday', '\xcb157a3ad45c9b9398e9d9d9f301fdcc283cbebe43be580f160abd6135df6afa', '\x380663bb31c75526fa5e933b7e70a8864f592059e079ed382e9b3c7a879a0655', '\x21d035c7c8f2da3f2366cc2f4e6de33f98ee33eefbf8c43f', 0.4, 100000, 0, 2, NULL, '\xb455b1073df29eb8dcacedc53aa62ebf2d702029cf4ebe45a69b794965f17d4a', '\x61ee6e9e2882cea5f003a3d2f1c930b08c1a3aa6a411afaa5963c892f62540c7');
INSERT INTO compat.entries VALUES (7, '2026-11-16T18:41:52.310+00:00', 'answer', 'curator', 'monday', '\xcb157a3ad45c9b9398e9d9d9f301fdcc283cbebe43be580f160abd6135df6afa', '\xe4c0bbdc15d46788659c8708b044627a4d178d1cf3d0a3ead3b6ce9d755b1a90', '\x408693c9111106c0ce03dd013653244028f2b2348e3a26c0', 0.4, 100000, 1, 2, NULL, '\x61ee6e9e2882cea5f003a3d2f1c930b08c1a3aa6a411afaa5963c892f62540c7', '\x8e232b21377f706667b100377c89c5547668321930e5691ee76d7e31b0fa2b54');
INSERT INTO compat.entries VALUES (8, '2026-11-16T18:41:52.310+00:00', 'answer', 'curator', 'monday', '\xcb157a3ad45c9b9398e9d9d9f301fdcc283cbebe43be580f160abd6135df6afa', '\x94305d31448ade699988315e2dd0cff12ad5968832f7073487dd768014c9cc2c', '\xa67cb2870a8a10409426afbf8b450f40ae3c386f2cf22440', 0.4, 100000, 1, 2, NULL, '\x8e232b21377f706667b100377c89c5547668321930e5691ee76d7e31b0fa2b54', '\x92506d951db18cb9f4bdca4deec1efd8621a3abcc0187bd2c0a753001c580e22');
INSERT INTO compat.entries VALUES (9, '2026-11-16T18:41:52.345+00:00', 'everywhere', 'curator', NULL, NULL, NULL, NULL, 'Infinity', 50000, NULL, 2, '{"reason": "a count of all rows"}', '\x92506d951db18cb9f4bdca4deec1efd8621a3abcc0187bd2c0a753001c580e22', '\x081af49ac15908d4db7fbedcc9f613b60faf93224a60ea84512fc47ab3cba412');
INSERT INTO compat.entries VALUES (10, '2026-11-16T18:41:52.391+00:00', 'amend', 'curator', NULL, NULL, NULL, NULL, NULL, 0, NULL, 2, '{"reason": "a study", "terms": {"shares": {"analyst": 300000}}}', '\x081af49ac15908d4db7fbedcc9f613b60faf93224a60ea84512fc47ab3cba412', '\xe23d6ab28262814f135a50b5ea8b882487211139156b5f00f1ce7a25c195221d');
INSERT INTO compat.entries VALUES (11, '2026-11-16T18:41:52.429+00:00', 'amend', 'curator', NULL, NULL, NULL, NULL, NULL, 0, NULL, 2, '{"reason": "agreed", "terms": {"cap": 3000000, "records_per_person": 2}}', '\xe23d6ab28262814f135a50b5ea8b882487211139156b5f00f1ce7a25c195221d', '\x7004ee681c5dcb83d3c022a11ddc25139b74077cc3d3b53b7c766b931c09b4af');
INSERT INTO compat.entries VALUES (12, '2026-11-16T18:41:52.575+00:00', 'answer', 'analyst', NULL, NULL, '\x380663bb31c75526fa5e933b7e70a8864f592059e079ed382e9b3c7a879a0655', '\x21d035c7c8f2da3f2366cc2f4e6de33f98ee33eefbf8c43f', 0.4, 100000, 0, 2, NULL, '\x7004ee681c5dcb83d3c022a11ddc25139b74077cc3d3b53b7c766b931c09b4af', '\x41eec567119ea552579f80ac7d58e60f5e387fff3fe1f9c79e1609c63ce7567b');
INSERT INTO compat.entries VALUES (13, '2026-11-16T18:41:52.575+00:00', 'answer', 'analyst', NULL, NULL, '\xe4c0bbdc15d46788659c8708b044627a4d178d1cf3d0a3ead3b6ce9d755b1a90', '\x408693c9111106c0ce03dd013653244028f2b2348e3a26c0', 0.4, 100000, 1, 2, NULL, '\x41eec567119ea552579f80ac7d58e60f5e387fff3fe1f9c79e1609c63ce7567b', '\x589c5645e8d63f07433f338d657a4cc89b18e3d81d521c78100c3bfa90790733');
INSERT INTO compat.entries VALUES (14, '2026-11-16T18:41:52.575+00:00', 'answer', 'analyst', NULL, NULL, '\x94305d31448ade699988315e2dd0cff12ad5968832f7073487dd768014c9cc2c', '\xa67cb2870a8a10409426afbf8b450f40ae3c386f2cf22440', 0.4, 100000, 0, 2, NULL, '\x589c5645e8d63f07433f338d657a4cc89b18e3d81d521c78100c3bfa90790733', '\xa8a052773afb6e280589260809df7a0269052940938ce3e7da95ce3afa7b37de');
INSERT INTO compat.entries VALUES (15, '2026-11-16T18:41:52.691+00:00', 'answer', 'curator', NULL, NULL, '\x380663bb31c75526fa5e933b7e70a8864f592059e079ed382e9b3c7a879a0655', '\x21d035c7c8f2da3f2366cc2f4e6de33f98ee33eefbf8c43f', 0.4, 100000, 0, 2, NULL, '\xa8a052773afb6e280589260809df7a0269052940938ce3e7da95ce3afa7b37de', '\x74ca833aa9b5f2111719013da1ca810e45ab084a6cedf4b76a4f2f94405a9e26');
INSERT INTO compat.entries VALUES (16, '2026-11-16T18:41:52.691+00:00', 'answer', 'curator', NULL, NULL, '\xe4c0bbdc15d46788659c8708b044627a4d178d1cf3d0a3ead3b6ce9d755b1a90', '\x408693c9111106c0ce03dd013653244028f2b2348e3a26c0', 0.4, 100000, 1, 2, NULL, '\x74ca833aa9b5f2111719013da1ca810e45ab084a6cedf4b76a4f2f94405a9e26', '\x217f05731a3f9c411c9dd770d806d752865fe326d2b1cd8adfc03f1751c613f7');
INSERT INTO compat.entries VALUES (17, '2026-11-16T18:41:52.691+00:00', 'answer', 'curator', NULL, NULL, '\x94305d31448ade699988315e2dd0cff12ad5968832f7073487dd768014c9cc2c', '\xa67cb2870a8a10409426afbf8b450f40ae3c386f2cf22440', 0.4, 100000, 1, 2, NULL, '\x217f05731a3f9c411c9dd770d806d752865fe326d2b1cd8adfc03f1751c613f7', '\xabf5eb0bb601522eb5f3e752d0d95d8b47858cb10e7b1ef123ef545ed14d286d');


--
-- Name: entries entries_pkey; Type: CONSTRAINT; Schema: compat; Owner: -
--

ALTER TABLE ONLY compat.entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (seq);


--
-- Name: entries_key; Type: INDEX; Schema: compat; Owner: -
--

CREATE INDEX entries_key ON compat.entries USING btree ("user", key) WHERE (key IS NOT NULL);


--
-- Name: entries_query; Type: INDEX; Schema: compat; Owner: -
--

CREATE INDEX entries_query ON compat.entries USING btree (query, version, seq) WHERE (anomalous IS NOT NULL);


--
-- Name: entries entries_no_change; Type: TRIGGER; Schema: compat; Owner: -
--

CREATE TRIGGER entries_no_change BEFORE DELETE OR UPDATE ON compat.entries FOR EACH ROW EXECUTE FUNCTION compat.entries_only_added();


--
-- Name: entries entries_no_truncate; Type: TRIGGER; Schema: compat; Owner: -
--

CREATE TRIGGER entries_no_truncate BEFORE TRUNCATE ON compat.entries FOR EACH STATEMENT EXECUTE FUNCTION compat.entries_only_added();


--
-- PostgreSQL database dump complete
--

\unrestrict pUcmz0qfCyZaP6VZXeBShvxJFDgAeJttsTwvFGlEl5tlP2l5Cek6mVQSC7uTBwo

