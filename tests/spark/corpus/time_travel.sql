%%%% states
%%
SELECT region, sum(qty) FROM lake.corpus.sales VERSION AS OF 'before' GROUP BY region
%%
SELECT count(*) FROM sales FOR VERSION AS OF 'before'
%%
SELECT count(*) FROM sales FOR SYSTEM_VERSION AS OF 'side'
%%
SELECT region, count(*) FROM lake.corpus.sales.branch_side GROUP BY region
%%
SELECT item, sum(qty) FROM lake.corpus.sales.tag_before GROUP BY item
%% raises TABLE_OR_VIEW_NOT_FOUND
SELECT count(*) FROM sales.branch_side
%%
SELECT count(*) FROM sales TIMESTAMP AS OF '2100-01-01'
%%
SELECT region, count(*) FROM sales FOR SYSTEM_TIME AS OF '2100-01-01 00:00:00' GROUP BY region
%%
SELECT count(*) FROM sales TIMESTAMP AS OF current_timestamp()
%%
SELECT count(*) FROM sales TIMESTAMP AS OF date_add(DATE '2099-12-31', 1)
%%
SELECT max(qty) FROM sales FOR TIMESTAMP AS OF TIMESTAMP '2100-01-01 00:00:00Z'
%%
SELECT a.n, b.n FROM (SELECT count(*) AS n FROM sales) a, (SELECT count(*) AS n FROM sales VERSION AS OF 'before') b
%%
SELECT region, count(*) FROM sales VERSION AS OF 'side' JOIN shops USING (shop) GROUP BY region
%%
SELECT s.region, count(*) FROM sales VERSION AS OF 'before' AS s WHERE s.qty > 3 GROUP BY s.region
%%
WITH old AS (SELECT region, sum(qty) AS q FROM sales VERSION AS OF 'before' GROUP BY region), new AS (SELECT region, sum(qty) AS q FROM sales GROUP BY region) SELECT region, new.q - old.q AS more FROM new JOIN old USING (region)
%%
SELECT id FROM sales EXCEPT SELECT id FROM sales VERSION AS OF 'before'
%% raises IllegalArgumentException
SELECT count(*) FROM sales VERSION AS OF 'no such tag'
%% raises IllegalArgumentException
SELECT count(*) FROM sales VERSION AS OF 12345
%% raises IllegalArgumentException
SELECT count(*) FROM sales TIMESTAMP AS OF '1999-01-01'
%% raises org.apache.iceberg.exceptions.ValidationException
SELECT count(*) FROM lake.corpus.sales.branch_nope
%% raises IllegalArgumentException
SELECT count(*) FROM lake.corpus.sales.tag_before VERSION AS OF 'before'
%% raises UNSUPPORTED_FEATURE.TIME_TRAVEL
WITH t AS (SELECT 1) SELECT * FROM t VERSION AS OF 1
%%%% metadata tables
%%
SELECT count(*), max(operation) FROM lake.corpus.sales.snapshots
%%
SELECT name, type FROM lake.corpus.sales.refs
%%
SELECT content, file_format, record_count FROM lake.corpus.sales.files
%%
SELECT sum(record_count) FROM lake.corpus.sales.data_files
%%
SELECT count(*) FROM lake.corpus.sales.history WHERE is_current_ancestor
%%
SELECT partition, record_count FROM lake.corpus.sales.partitions
%%
SELECT count(*) FROM lake.corpus.sales.manifests
%%
SELECT count(*) FROM lake.corpus.sales.all_data_files
%%
SELECT count(*) FROM lake.corpus.sales.entries WHERE status = 1
%%
SELECT count(*) FROM lake.corpus.sales.metadata_log_entries
%%
SELECT count(*) FROM lake.corpus.sales.position_deletes
%%
SELECT count(*) FROM lake.corpus.sales.files VERSION AS OF 'before'
%%
SELECT region, count(DISTINCT _file) AS n, min(_pos) AS p FROM sales GROUP BY region
%%
SELECT _spec_id, _partition.region AS r, count(*) FROM sales GROUP BY ALL
%% raises TABLE_OR_VIEW_NOT_FOUND
SELECT count(*) FROM lake.corpus.sales.nothing_such
