"""SQLAlchemy over a session: `create_engine("accelerator:///data/warehouse")`, for reading.

SELECTs of Core and of the ORM become Spark SQL, with values bound by type; tables, views, columns
and declared keys are reflected. What would write is a CompileError. Needs SQLAlchemy 2.
"""
