%%%% words that Spark has too
%%
CREATE TABLE lake.mine.k (a INT, b INT) USING iceberg
%%
INSERT INTO lake.mine.k VALUES (1, 2), (2, 2)
%% clash
ALTER TABLE lake.mine.k ADD CONSTRAINT pk PRIMARY KEY (a) NOT ENFORCED
%% clash
ALTER TABLE lake.mine.k DROP CONSTRAINT IF EXISTS pk RESTRICT
%% clash
CREATE INDEX mine_index ON lake.mine.k USING BITMAP (a)
%% clash
DROP INDEX mine_index
%% clash
SHOW INDEXES ON lake.mine.k
%% clash
SHOW CUBES
%% clash
EXPLAIN ACCELERATE SELECT count(*) FROM lake.mine.k
%% clash
VERIFY SELECT count(*) FROM lake.mine.k
%% raises INVALID_STATEMENT_OR_CLAUSE
CREATE INDEX i ON TABLE lake.mine.k USING
%% raises _LEGACY_ERROR_TEMP_1332
CREATE INDEX i ON TABLE lake.mine.k (a)
%% raises _LEGACY_ERROR_TEMP_1332
DROP INDEX i ON lake.mine.k
%% raises PARSE_SYNTAX_ERROR
VACUUM '/some/path'
%% raises PARSE_SYNTAX_ERROR
OPTIMIZE '/some/path' ZORDER BY (a)
%% raises UNSUPPORTED_FEATURE.TABLE_OPERATION
ALTER TABLE lake.mine.k ADD CONSTRAINT positive CHECK (a > 0)
%% raises UNSUPPORTED_FEATURE.TABLE_OPERATION
ALTER TABLE lake.mine.k ADD CHECK (a > 0)
%%
DROP TABLE lake.mine.k
