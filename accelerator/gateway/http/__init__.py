"""The gateway's HTTP servers: Trino's protocol, the REST API and the web page."""
