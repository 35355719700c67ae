"""The query log as a table, in any query: `system.runtime.query_log`.

`docs/reference/query-log.md` has its columns, and what answers queries of it.
"""
