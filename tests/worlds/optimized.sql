-- Values that raise by some operators, of optimizer_rules.slt.

CREATE TABLE lake.d.rule_f (k INT NOT NULL, a INT, x INT, b BIGINT, s STRING) USING iceberg;
INSERT INTO lake.d.rule_f SELECT /*+ COALESCE(1) */ * FROM VALUES (1, 10, 0, 5L, '1'),
  (1, 20, 1, 6L, 'a'), (2, 30, 2, NULL, '3'), (3, NULL, NULL, 9L, NULL);
INSERT INTO lake.d.rule_f SELECT /*+ COALESCE(1) */ * FROM VALUES (2, 10, 4, 1L, '7'),
  (4, 50, 7, 2L, 'z');
CREATE TABLE lake.d.rule_d (dk INT, g STRING) USING iceberg;
INSERT INTO lake.d.rule_d SELECT /*+ COALESCE(1) */ * FROM VALUES (2, 'u'), (3, 'v'), (4, 'u');
CREATE TABLE lake.d.rule_empty (dk INT, g STRING) USING iceberg;
-- state made
