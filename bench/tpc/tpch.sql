-- The cubes over TPC-H: by what a seller of goods looks at, no literal of a query.

-- What was shipped on a day, in what state.
CREATE CUBE pricing AS
SELECT l_shipdate, l_returnflag, l_linestatus, count(*),
       sum(l_quantity), sum(l_extendedprice), sum(l_extendedprice * (1 - l_discount)),
       sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)),
       avg(l_quantity), avg(l_extendedprice), avg(l_discount)
FROM lineitem
GROUP BY l_shipdate, l_returnflag, l_linestatus;

-- What discounts cost, by month, discount and quantity.
CREATE CUBE discounts AS
SELECT trunc(l_shipdate, 'MONTH'), l_discount, l_quantity, count(*),
       sum(l_extendedprice * l_discount)
FROM lineitem
GROUP BY trunc(l_shipdate, 'MONTH'), l_discount, l_quantity;

-- Trade between nations, by month of order and year of shipment.
CREATE CUBE trade AS
SELECT c_nationkey, s_nationkey, trunc(o_orderdate, 'MONTH'), year(l_shipdate), count(*),
       sum(l_extendedprice * (1 - l_discount))
FROM lineitem
JOIN orders ON l_orderkey = o_orderkey
JOIN customer ON o_custkey = c_custkey
JOIN supplier ON l_suppkey = s_suppkey
GROUP BY c_nationkey, s_nationkey, trunc(o_orderdate, 'MONTH'), year(l_shipdate);

-- The same by type of part and year.
CREATE CUBE markets AS
SELECT c_nationkey, s_nationkey, p_type, year(o_orderdate), count(*),
       sum(l_extendedprice * (1 - l_discount))
FROM lineitem
JOIN orders ON l_orderkey = o_orderkey
JOIN customer ON o_custkey = c_custkey
JOIN supplier ON l_suppkey = s_suppkey
JOIN part ON l_partkey = p_partkey
GROUP BY c_nationkey, s_nationkey, p_type, year(o_orderdate);

-- What is earned with a part of a supplier.
CREATE CUBE profits AS
SELECT l_partkey, l_suppkey, year(o_orderdate), year(l_shipdate), count(*), sum(l_quantity),
       avg(l_quantity), sum(l_extendedprice),
       sum(l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity)
FROM lineitem
JOIN partsupp ON l_partkey = ps_partkey AND l_suppkey = ps_suppkey
JOIN orders ON l_orderkey = o_orderkey
GROUP BY l_partkey, l_suppkey, year(o_orderdate), year(l_shipdate);

-- What customers order and send back.
CREATE CUBE customers AS
SELECT o_custkey, trunc(o_orderdate, 'MONTH'), l_returnflag, count(*),
       sum(l_extendedprice * (1 - l_discount))
FROM lineitem
JOIN orders ON l_orderkey = o_orderkey
GROUP BY o_custkey, trunc(o_orderdate, 'MONTH'), l_returnflag;

-- What suppliers and types of parts bring, by month.
CREATE CUBE revenue_of_suppliers AS
SELECT l_suppkey, trunc(l_shipdate, 'MONTH'), count(*), sum(l_extendedprice * (1 - l_discount))
FROM lineitem
GROUP BY l_suppkey, trunc(l_shipdate, 'MONTH');

CREATE CUBE revenue_of_types AS
SELECT p_type, p_brand, trunc(l_shipdate, 'MONTH'), count(*),
       sum(l_extendedprice * (1 - l_discount))
FROM lineitem
JOIN part ON l_partkey = p_partkey
GROUP BY p_type, p_brand, trunc(l_shipdate, 'MONTH');

-- Whether goods come in time.
CREATE CUBE punctuality AS
SELECT l_shipmode, o_orderpriority, trunc(l_receiptdate, 'MONTH'),
       l_commitdate < l_receiptdate, l_shipdate < l_commitdate, count(*)
FROM lineitem
JOIN orders ON l_orderkey = o_orderkey
GROUP BY l_shipmode, o_orderpriority, trunc(l_receiptdate, 'MONTH'),
         l_commitdate < l_receiptdate, l_shipdate < l_commitdate;

-- How large orders are.
CREATE CUBE baskets AS
SELECT l_orderkey, count(*), sum(l_quantity), sum(l_extendedprice * (1 - l_discount))
FROM lineitem
GROUP BY l_orderkey;

-- What stock is worth.
CREATE CUBE stock AS
SELECT ps_partkey, s_nationkey, count(*), sum(ps_supplycost * ps_availqty), min(ps_supplycost)
FROM partsupp
JOIN supplier ON ps_suppkey = s_suppkey
GROUP BY ps_partkey, s_nationkey;
