-- Statements of Power BI in DirectQuery: nested selections that its queries fold to.

-- name: preview of a table
select "e_id", "e_user", "e_kind", "e_country", "e_day", "e_at", "e_seen", "e_amount", "e_score", "e_done", "e_comment"
from "lake"."ssb"."events"
limit 4096

-- name: a card
select sum("lo_revenue") as "C1"
from "lake"."ssb"."lineorder"

-- name: bars over two tables
select "c_region", "C1"
from (
  select "c_region", sum("lo_revenue") as "C1"
  from (
    select "OTBL"."lo_revenue", "ITBL"."c_region"
    from "lake"."ssb"."lineorder" as "OTBL"
    left outer join "lake"."ssb"."customer" as "ITBL" on ("OTBL"."lo_custkey" = "ITBL"."c_custkey")
  ) as "ITBL"
  group by "c_region"
) as "ITBL"
where not "C1" is null
limit 1000001

-- name: a matrix over three tables
select "c_region", "d_year", "C1", "C2"
from (
  select "c_region", "d_year", sum("lo_revenue") as "C1", count(distinct "lo_custkey") as "C2"
  from (
    select "OTBL"."lo_revenue", "OTBL"."lo_custkey", "OTBL"."c_region", "ITBL"."d_year"
    from (
      select "OTBL"."lo_revenue", "OTBL"."lo_custkey", "OTBL"."lo_orderdate", "ITBL"."c_region"
      from "lake"."ssb"."lineorder" as "OTBL"
      left outer join "lake"."ssb"."customer" as "ITBL" on ("OTBL"."lo_custkey" = "ITBL"."c_custkey")
    ) as "OTBL"
    left outer join "lake"."ssb"."dates" as "ITBL" on ("OTBL"."lo_orderdate" = "ITBL"."d_datekey")
  ) as "ITBL"
  group by "c_region", "d_year"
) as "ITBL"
where not "C1" is null or not "C2" is null
limit 1000001

-- name: a slicer
select "c_nation"
from "lake"."ssb"."customer"
group by "c_nation"
order by "c_nation"
limit 101

-- name: bars with a slicer's choice
select "s_nation", sum("lo_supplycost") as "C1"
from (
  select "OTBL"."lo_supplycost", "ITBL"."s_nation", "ITBL"."s_region"
  from "lake"."ssb"."lineorder" as "OTBL"
  inner join "lake"."ssb"."supplier" as "ITBL" on ("OTBL"."lo_suppkey" = "ITBL"."s_suppkey")
) as "ITBL"
where "s_region" in ('ASIA', 'EUROPE') and not "s_nation" is null
group by "s_nation"

-- name: a line by days
select "e_day", sum("e_amount") as "C1", count(*) as "C2"
from "lake"."ssb"."events"
where "e_day" >= date '2026-01-01' and "e_day" < date '2027-01-01'
group by "e_day"

-- name: a line by years and months
select "C1", "C2", sum("e_amount") as "C3"
from (
  select "e_amount", year("e_at") as "C1", month("e_at") as "C2"
  from "lake"."ssb"."events"
) as "ITBL"
group by "C1", "C2"

-- name: the first by a sum
select "p_brand1", "C1"
from (
  select "p_brand1", sum("lo_revenue") as "C1"
  from (
    select "OTBL"."lo_revenue", "ITBL"."p_brand1"
    from "lake"."ssb"."lineorder" as "OTBL"
    left outer join "lake"."ssb"."part" as "ITBL" on ("OTBL"."lo_partkey" = "ITBL"."p_partkey")
  ) as "ITBL"
  group by "p_brand1"
) as "ITBL"
order by "C1" desc, "p_brand1"
limit 501

-- name: an average of doubles
select "e_kind", avg(cast("e_score" as double)) as "C1", stddev_pop("e_score") as "C2"
from "lake"."ssb"."events"
group by "e_kind"

-- name: texts with upper case in a filter
select "c_city", count(*) as "C1"
from "lake"."ssb"."customer"
where upper("c_city") like 'UNITED%' and "c_mktsegment" <> 'MACHINERY'
group by "c_city"

-- name: a conditional column
select case when "lo_discount" >= 5 then 'high' else 'low' end as "C1", cast(sum(cast("lo_revenue" as decimal(38, 0))) as decimal(38, 0)) as "C2"
from "lake"."ssb"."lineorder"
group by case when "lo_discount" >= 5 then 'high' else 'low' end
