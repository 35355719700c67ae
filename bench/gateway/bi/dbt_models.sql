-- What dbt-trino reads beside tests: freshness, show, unit tests, docs. What builds models writes, and isn't here.

-- name: freshness of a source
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "source.shop.ssb.events"} */
select
  max(e_at) as max_loaded_at,
  current_timestamp as snapshotted_at
  from "lake"."ssb"."events"

-- name: freshness of a source with a filter
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "source.shop.ssb.recent_events"} */
select
  max(e_seen) as max_loaded_at,
  current_timestamp as snapshotted_at
  from "lake"."ssb"."events"
  where e_day >= date_add('day', -3, current_date)

-- name: show of a model
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "model.shop.nations"} */
with orders as (
  select * from "lake"."ssb"."lineorder"
),
customers as (
  select * from "lake"."ssb"."customer"
),
final as (
  select
    customers.c_nation,
    count(distinct orders.lo_orderkey) as orders,
    sum(orders.lo_revenue) as revenue
  from orders
  left join customers on orders.lo_custkey = customers.c_custkey
  group by 1
)
select * from final
limit 5

-- name: show of a model with utilities
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "model.shop.events"} */
select
  e_id,
  lower(to_hex(md5(to_utf8(cast(coalesce(cast(e_user as varchar), '_null_') || '-' || coalesce(cast(e_kind as varchar), '_null_') as varchar))))) as event_key,
  date_trunc('month', e_at) as month,
  date_add('day', 7, e_day) as due,
  split_part(e_kind, 'i', 1) as start,
  try_cast(e_comment as integer) as number
from "lake"."ssb"."events"
limit 5

-- name: show of a model with row numbers
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "model.shop.newest_events"} */
with numbered as (
  select
    *,
    row_number() over (partition by e_user order by e_at desc) as rn
  from "lake"."ssb"."events"
)
select * from numbered where rn = 1
limit 5

-- name: show of a model with a list
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "model.shop.users"} */
select
  e_user,
  array_join(array_agg(e_kind order by e_at), ',') as kinds,
  min(e_country) as country,
  bool_or(e_done) as any_done
from "lake"."ssb"."events"
group by 1
limit 5

-- name: show of periods of days
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "model.shop.days"} */
with numbers as (
  with p as (
    select 0 as number union all select 1
  ), sums as (
  select
  p0.number * power(2, 0)
  +
  p1.number * power(2, 1)
  +
  p2.number * power(2, 2)
  + 1
  as number
  from
  p as p0
  cross join
  p as p1
  cross join
  p as p2
  )
  select *
  from sums
  where number <= 7
  order by number
),
periods as (
  select (
    date_add('day', row_number() over (order by 1) - 1, cast('2026-01-01' as date))
  ) as date_day
  from numbers
),
wanted as (
  select *
  from periods
  where date_day <= cast('2026-01-08' as date)
)
select * from wanted
limit 10

-- name: how many months lie between two dates
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "model.shop.months"} */
select ((year(CAST(cast('2026-11-01' as date) AS TIMESTAMP)) - year(CAST(cast('2024-01-01' as date) AS TIMESTAMP))) * 12) + month(CAST(cast('2026-11-01' as date) AS TIMESTAMP)) - month(CAST(cast('2024-01-01' as date) AS TIMESTAMP))

-- name: how many days lie between two dates
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "model.shop.days"} */
select ((to_milliseconds((CAST(CAST(cast('2026-11-01' as date) AS TIMESTAMP) AS DATE) - CAST(CAST(cast('2026-01-01' as date) AS TIMESTAMP) AS DATE)))) / 86400000)

-- name: columns of a query
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "model.shop.regions"} */
select * from (
    select c_region, sum(lo_revenue) as revenue
    from "lake"."ssb"."lineorder" join "lake"."ssb"."customer" on lo_custkey = c_custkey
    group by 1
  ) as columns_of
  where false
  limit 0

-- name: a unit test's actual and expected rows
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "unit_test.shop.kinds"} */
with actual_rows as (
select
  kind,n, 'actual' as "which"
from (
  with events as (
    select cast('buy' as varchar) as kind, cast(1 as integer) as n
    union all
    select cast('view' as varchar) as kind, cast(2 as integer) as n
  )
  select kind, sum(n) as n from events group by 1
) model_rows
),
expected_rows as (
select
  kind, n, 'expected' as "which"
from (
  select cast('buy' as varchar) as kind, cast(1 as bigint) as n
) fixture_rows
)
select * from actual_rows
union all
select * from expected_rows

-- name: schemas of the catalog
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "connection_name": "list_lake"} */
select schema_name
  from "lake".INFORMATION_SCHEMA.schemata

-- name: whether the schema exists
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "connection_name": "check_lake_ssb"} */
select count(*)
    from "lake".INFORMATION_SCHEMA.schemata
    where catalog_name = 'lake'
    and schema_name = 'ssb'

-- name: relations of the schema
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "connection_name": "list_lake_ssb"} */
select
  t.table_catalog as database,
  t.table_name as name,
  t.table_schema as schema,
  case when mv.name is not null then 'materialized_view'
    when t.table_type = 'BASE TABLE' then 'table'
    when t.table_type = 'VIEW' then 'view'
    else t.table_type
  end as table_type
  from "lake".INFORMATION_SCHEMA.tables t
  left join (
      select * from system.metadata.materialized_views
      where catalog_name = 'lake'
      and schema_name = 'ssb') mv
    on mv.catalog_name = t.table_catalog and mv.schema_name = t.table_schema and mv.name = t.table_name
  where t.table_schema = 'ssb'

-- name: columns of a relation
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "model.shop.events"} */
select column_name, data_type
  from "lake".INFORMATION_SCHEMA.columns
  where
  table_catalog = 'lake'
  and table_schema = 'ssb'
  and table_name = 'events'

-- name: catalog of the schema for docs
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "connection_name": "lake.INFORMATION_SCHEMA"} */
with tables as (
      select
    table_catalog as "db",
    table_schema as "sch",
    table_name as "tab",
    table_type as "table_type",
    null as "table_owner"
  from "lake".INFORMATION_SCHEMA.tables
      where
    table_schema != 'information_schema'
    and
    table_schema in ('ssb')
    ),
    columns as (
      select
    table_catalog as "db",
    table_schema as "sch",
    table_name as "tab",
    column_name as "column_name",
    ordinal_position as "column_index",
    data_type as "column_type",
    comment as "column_comment"
  from "lake".INFORMATION_SCHEMA.columns
      where
    table_schema != 'information_schema'
    and
    table_schema in ('ssb')
    ),
    table_comment as (
      select
    catalog_name as "db",
    schema_name as "sch",
    table_name as "tab",
    comment as "table_comment"
  from system.metadata.table_comments
  where
    catalog_name = 'lake'
    and
    schema_name != 'information_schema'
    and
    schema_name in ('ssb')
    )
    select
      db,
      sch,
      tab,
      table_type,
      table_owner,
      column_name,
      column_index,
      column_type,
      column_comment,
      table_comment
    from tables
    join columns using ("db", "sch", "tab")
    join table_comment using ("db", "sch", "tab")
    order by "column_index"

-- name: catalog of one relation for docs
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "connection_name": "lake.INFORMATION_SCHEMA"} */
with tables as (
      select
    table_catalog as "db",
    table_schema as "sch",
    table_name as "tab",
    table_type as "table_type",
    null as "table_owner"
  from "lake".INFORMATION_SCHEMA.tables
      where
    table_schema != 'information_schema'
    and
    (
      (
      table_schema = 'ssb'
      and table_name = 'customer'
      )
    )
    ),
    columns as (
      select
    table_catalog as "db",
    table_schema as "sch",
    table_name as "tab",
    column_name as "column_name",
    ordinal_position as "column_index",
    data_type as "column_type",
    comment as "column_comment"
  from "lake".INFORMATION_SCHEMA.columns
      where
    table_schema != 'information_schema'
    and
    (
      (
      table_schema = 'ssb'
      and table_name = 'customer'
      )
    )
    ),
    table_comment as (
      select
    catalog_name as "db",
    schema_name as "sch",
    table_name as "tab",
    comment as "table_comment"
  from system.metadata.table_comments
  where
    catalog_name = 'lake'
    and
    schema_name != 'information_schema'
    and
    (
      schema_name = 'ssb'
      and table_name = 'customer'
      )
    )
    select
      db,
      sch,
      tab,
      table_type,
      table_owner,
      column_name,
      column_index,
      column_type,
      column_comment,
      table_comment
    from tables
    join columns using ("db", "sch", "tab")
    join table_comment using ("db", "sch", "tab")
    order by "column_index"

-- name: whether it connects
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "connection_name": "debug"} */
select 1 as id
