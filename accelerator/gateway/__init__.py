"""The gateway: sessions behind Trino's protocol, for clients that know no Python."""
