"""The fuzz of bytes: every format that is read, damaged in every way that is thought of.

`python -m fuzz.bytes --minutes 10 --json F` runs it. Sound samples are made by the product's own
writers, damaged, and read and used as the product does. Whatever a file, a store or a property
holds, what comes of it is an answer, "not used", or an error that the callers catch: no crash, no
hang, no memory without end.
"""
