"""The query log: what was asked, by whom, and how it was answered, kept in the store.

`docs/formats/query-log.md` has its format and what it promises.
"""
