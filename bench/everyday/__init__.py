"""The everyday bench: 300 statements as analysts and dashboards write them, without artifacts."""
