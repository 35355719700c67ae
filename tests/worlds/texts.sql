-- Texts, numbers and days in several files, for indexes; rows are deleted in both ways.

-- of index_answers.slt
CREATE TABLE lake.d.answers_2 (id BIGINT, name STRING, x DOUBLE, n DECIMAL(12, 2), d DATE, small
  INT, yes BOOLEAN) USING iceberg TBLPROPERTIES ('write.delete.mode'='merge-on-read');
CREATE TABLE lake.d.index_answers_rows USING iceberg AS SELECT * FROM (SELECT id, id, IF(id % 11 =
  0, NULL, concat('né', id * 31 % 50)), CASE WHEN id % 13 = 0 THEN DOUBLE('NaN') WHEN id % 7 = 0
  THEN NULL ELSE id % 30 / 3 + 1 END, id % 77 / 10, date_add(DATE '1960-01-01', CAST(id % 90 AS
  INT)), CAST(id % 40 AS INT), IF(id % 9 = 0, NULL, id % 2 = 0) FROM range(0, 950, 1, 1)) AS t
  (row, c1, c2, c3, c4, c5, c6, c7);
INSERT INTO lake.d.answers_2 SELECT * EXCEPT (row) FROM lake.d.index_answers_rows WHERE row < 300;
INSERT INTO lake.d.answers_2 SELECT * EXCEPT (row) FROM lake.d.index_answers_rows WHERE row
  BETWEEN 300 AND 599;
INSERT INTO lake.d.answers_2 SELECT * EXCEPT (row) FROM lake.d.index_answers_rows WHERE row
  BETWEEN 600 AND 899;
CREATE TABLE lake.d.answers_3 (id BIGINT, name STRING, x DOUBLE, n DECIMAL(12, 2), d DATE, small
  INT, yes BOOLEAN) USING iceberg TBLPROPERTIES ('format-version'='3',
  'write.delete.mode'='merge-on-read');
INSERT INTO lake.d.answers_3 SELECT * EXCEPT (row) FROM lake.d.index_answers_rows WHERE row < 300;
INSERT INTO lake.d.answers_3 SELECT * EXCEPT (row) FROM lake.d.index_answers_rows WHERE row
  BETWEEN 300 AND 599;
INSERT INTO lake.d.answers_3 SELECT * EXCEPT (row) FROM lake.d.index_answers_rows WHERE row
  BETWEEN 600 AND 899;
CREATE TABLE lake.d.answers_small (id BIGINT, name STRING, x DOUBLE, n DECIMAL(12, 2), d DATE,
  small INT, yes BOOLEAN) USING iceberg PARTITIONED BY (small);
INSERT INTO lake.d.answers_small SELECT * EXCEPT (row) FROM lake.d.index_answers_rows WHERE row <
  160;

-- of indexes_attacked.slt
CREATE TABLE lake.d.attacked_texts (k INT, s STRING) USING iceberg;
INSERT INTO lake.d.attacked_texts SELECT CAST(id + 0 AS INT), IF(id % 2 = 0, CAST(X'61FF62' AS
  STRING), 'a�b') FROM range(0, 20, 1, 1);
INSERT INTO lake.d.attacked_texts SELECT CAST(id + 50 AS INT), CAST(X'EDA080ED' AS STRING) FROM
  range(0, 20, 1, 1);
INSERT INTO lake.d.attacked_texts SELECT CAST(id + 100 AS INT), concat('plain', id) FROM range(0,
  20, 1, 1);
CREATE TABLE lake.d.attacked_verify (k INT, s STRING) USING iceberg;
INSERT INTO lake.d.attacked_verify SELECT CAST(id * 37 % 151 AS INT), concat('s', id % 5) FROM
  range(0, 50);
INSERT INTO lake.d.attacked_verify SELECT CAST(id * 37 % 151 AS INT), concat('s', id % 5) FROM
  range(50, 100);
INSERT INTO lake.d.attacked_verify SELECT CAST(id * 37 % 151 AS INT), concat('s', id % 5) FROM
  range(100, 150);
CREATE TABLE lake.d.attacked_sums (k INT, n DECIMAL(18, 4)) USING iceberg;
INSERT INTO lake.d.attacked_sums SELECT CAST(id AS INT), 99999999999999.9999 FROM range(0, 20, 1,
  1);
INSERT INTO lake.d.attacked_sums SELECT CAST(id AS INT), -99999999999999.9999 FROM range(0, 21, 1,
  1);

-- of terms_indexes.slt
CREATE TABLE lake.d.terms_grams (id BIGINT, t STRING) USING iceberg;
CREATE TABLE lake.d.terms_indexes_rows USING iceberg AS SELECT * FROM (SELECT id, id, CASE id % 7
  WHEN 0 THEN concat('connection from 10.0.', id % 50, ' refused') WHEN 1 THEN concat('用户', id,
  '登录失败') WHEN 2 THEN 'İSTANBUL ΟΔΟΣ Straße' WHEN 3 THEN '' WHEN 4 THEN NULL WHEN 5 THEN
  concat('a%b_c \\ ', chr(128512), id) ELSE concat('x\n', id) END AS t FROM range(0, 900, 1, 1))
  AS t (row, c1, c2);
INSERT INTO lake.d.terms_grams SELECT * EXCEPT (row) FROM lake.d.terms_indexes_rows WHERE row <
  300;
INSERT INTO lake.d.terms_grams SELECT * EXCEPT (row) FROM lake.d.terms_indexes_rows WHERE row
  BETWEEN 300 AND 599;
CREATE TABLE lake.d.terms_bitmap (id BIGINT, t STRING) USING iceberg;
INSERT INTO lake.d.terms_bitmap SELECT * EXCEPT (row) FROM lake.d.terms_indexes_rows WHERE row <
  300;
INSERT INTO lake.d.terms_bitmap SELECT * EXCEPT (row) FROM lake.d.terms_indexes_rows WHERE row
  BETWEEN 300 AND 599;
CREATE TABLE lake.d.terms_blocks (id BIGINT, t STRING) USING iceberg TBLPROPERTIES
  ('write.parquet.row-group-size-bytes'='1024', 'write.parquet.page-size-bytes'='512',
  'write.parquet.row-group-check-min-record-count'='50',
  'write.parquet.row-group-check-max-record-count'='50', 'write.delete.mode'='merge-on-read');
INSERT INTO lake.d.terms_blocks SELECT * EXCEPT (row) FROM lake.d.terms_indexes_rows WHERE row <
  400;
INSERT INTO lake.d.terms_blocks SELECT * EXCEPT (row) FROM lake.d.terms_indexes_rows WHERE row
  BETWEEN 400 AND 799;
CREATE TABLE lake.d.terms_java (id BIGINT, t STRING) USING iceberg;
INSERT INTO lake.d.terms_java SELECT * EXCEPT (row) FROM lake.d.terms_indexes_rows WHERE row < 50;
-- state made


-- of index_answers.slt
DELETE FROM lake.d.answers_2 WHERE id % 5 = 1;
DELETE FROM lake.d.answers_2 WHERE id < 300 AND name = 'né31';
DELETE FROM lake.d.answers_3 WHERE id % 5 = 1;
DELETE FROM lake.d.answers_3 WHERE id < 300 AND name = 'né31';

-- of terms_indexes.slt
DELETE FROM lake.d.terms_blocks WHERE id % 5 = 2;
INSERT INTO lake.d.terms_blocks SELECT * EXCEPT (row) FROM lake.d.terms_indexes_rows WHERE row
  BETWEEN 800 AND 899;
-- state deleted


-- of index_answers.slt
INSERT INTO lake.d.answers_2 SELECT * EXCEPT (row) FROM lake.d.index_answers_rows WHERE row
  BETWEEN 900 AND 949;
INSERT INTO lake.d.answers_3 SELECT * EXCEPT (row) FROM lake.d.index_answers_rows WHERE row
  BETWEEN 900 AND 949;
-- state appended


-- of index_answers.slt
ALTER TABLE lake.d.answers_2 SET TBLPROPERTIES ('format-version' = '3');
DELETE FROM lake.d.answers_2 WHERE id % 7 = 3;
-- state mixed
