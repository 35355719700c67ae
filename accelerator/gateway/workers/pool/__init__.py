"""The gateway's end of its workers: starts, watches and limits them."""
