"""`python -m bench gateway`: what a client of Trino's gets from the gateway, and at what speed."""
