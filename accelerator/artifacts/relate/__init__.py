"""Relate columns: attributes of dimensions that belong to a fact's rows through declared joins."""
