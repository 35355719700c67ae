"""SQL in, better SQL out: normal form, domains, types. Pure: sqlglot only, no I/O."""
