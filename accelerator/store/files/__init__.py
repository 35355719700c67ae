"""The files of a store, in a local folder or in an object store."""
