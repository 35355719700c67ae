-- Tests of dbt and of its utilities, as dbt-trino sends them.

-- name: unique customer c_custkey
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.unique_customer_c_custkey"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select
  c_custkey as value,
  count(*) as n
from "lake"."ssb"."customer"
where c_custkey is not null
group by c_custkey
having count(*) > 1
  ) found

-- name: unique part p_partkey
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.unique_part_p_partkey"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select
  p_partkey as value,
  count(*) as n
from "lake"."ssb"."part"
where p_partkey is not null
group by p_partkey
having count(*) > 1
  ) found

-- name: unique dates d_datekey
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.unique_dates_d_datekey"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select
  d_datekey as value,
  count(*) as n
from "lake"."ssb"."dates"
where d_datekey is not null
group by d_datekey
having count(*) > 1
  ) found

-- name: unique events e_id
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.unique_events_e_id"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select
  e_id as value,
  count(*) as n
from "lake"."ssb"."events"
where e_id is not null
group by e_id
having count(*) > 1
  ) found

-- name: not null lineorder lo_orderkey
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.not_null_lineorder_lo_orderkey"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select lo_orderkey
from "lake"."ssb"."lineorder"
where lo_orderkey is null
  ) found

-- name: not null lineorder lo_revenue
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.not_null_lineorder_lo_revenue"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select lo_revenue
from "lake"."ssb"."lineorder"
where lo_revenue is null
  ) found

-- name: not null supplier s_suppkey
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.not_null_supplier_s_suppkey"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select s_suppkey
from "lake"."ssb"."supplier"
where s_suppkey is null
  ) found

-- name: not null events e_at
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.not_null_events_e_at"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select e_at
from "lake"."ssb"."events"
where e_at is null
  ) found

-- name: not null events e_country
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.not_null_events_e_country"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select e_country
from "lake"."ssb"."events"
where e_country is null
  ) found

-- name: accepted values customer c_region
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.accepted_values_customer_c_region"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with per_value as (
  select
    c_region as value,
    count(*) as n
  from "lake"."ssb"."customer"
  group by c_region
)
select *
from per_value
where value not in (
  'AFRICA','AMERICA','ASIA','EUROPE','MIDDLE EAST'
)
  ) found

-- name: accepted values events e_kind
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.accepted_values_events_e_kind"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with per_value as (
  select
    e_kind as value,
    count(*) as n
  from "lake"."ssb"."events"
  group by e_kind
)
select *
from per_value
where value not in (
  'view','click','cart','buy'
)
  ) found

-- name: accepted values dates d_monthnuminyear
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.accepted_values_dates_d_monthnuminyear"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with per_value as (
  select
    d_monthnuminyear as value,
    count(*) as n
  from "lake"."ssb"."dates"
  group by d_monthnuminyear
)
select *
from per_value
where value not in (
  1,2,3,4,5,6,7,8,9,10,11,12
)
  ) found

-- name: relationships lineorder lo_custkey
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.relationships_lineorder_lo_custkey"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with referring as (
  select lo_custkey as referring_key
  from "lake"."ssb"."lineorder"
  where lo_custkey is not null
),
referred as (
  select c_custkey as referred_key
  from "lake"."ssb"."customer"
)
select
  referring_key
from referring
left join referred
  on referring.referring_key = referred.referred_key
where referred.referred_key is null
  ) found

-- name: relationships lineorder lo_partkey
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.relationships_lineorder_lo_partkey"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with referring as (
  select lo_partkey as referring_key
  from "lake"."ssb"."lineorder"
  where lo_partkey is not null
),
referred as (
  select p_partkey as referred_key
  from "lake"."ssb"."part"
)
select
  referring_key
from referring
left join referred
  on referring.referring_key = referred.referred_key
where referred.referred_key is null
  ) found

-- name: relationships lineorder lo_suppkey
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.relationships_lineorder_lo_suppkey"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with referring as (
  select lo_suppkey as referring_key
  from "lake"."ssb"."lineorder"
  where lo_suppkey is not null
),
referred as (
  select s_suppkey as referred_key
  from "lake"."ssb"."supplier"
)
select
  referring_key
from referring
left join referred
  on referring.referring_key = referred.referred_key
where referred.referred_key is null
  ) found

-- name: relationships lineorder lo_orderdate
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.relationships_lineorder_lo_orderdate"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with referring as (
  select lo_orderdate as referring_key
  from "lake"."ssb"."lineorder"
  where lo_orderdate is not null
),
referred as (
  select d_datekey as referred_key
  from "lake"."ssb"."dates"
)
select
  referring_key
from referring
left join referred
  on referring.referring_key = referred.referred_key
where referred.referred_key is null
  ) found

-- name: relationships lineorder lo_commitdate
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.relationships_lineorder_lo_commitdate"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with referring as (
  select lo_commitdate as referring_key
  from "lake"."ssb"."lineorder"
  where lo_commitdate is not null
),
referred as (
  select d_datekey as referred_key
  from "lake"."ssb"."dates"
)
select
  referring_key
from referring
left join referred
  on referring.referring_key = referred.referred_key
where referred.referred_key is null
  ) found

-- name: not null where a condition holds
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.not_null_where_a_condition_holds"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select e_amount
from (select * from "lake"."ssb"."events" where e_kind = 'buy') restricted
where e_amount is null
  ) found

-- name: a test of one's own, revenue isn't negative
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.a_test_of_ones_own_revenue_isnt_negative"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select lo_orderkey, lo_linenumber, lo_revenue
from "lake"."ssb"."lineorder"
where lo_revenue < 0
  ) found

-- name: a test that warns above ten failures
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.a_test_that_warns_above_ten_failures"} */
select
  count(*) as failures,
  count(*) >10 as should_warn,
  count(*) >100 as should_error
  from (
  select e_id
from "lake"."ssb"."events"
where e_comment = ''
  limit 500
  ) found

-- name: utilities: expression is true
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.dbt_utils_expression_is_true"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select
  1
from "lake"."ssb"."lineorder"
where not(lo_extendedprice >= lo_revenue)
  ) found

-- name: utilities: unique combination of columns
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.dbt_utils_unique_combination_of_columns"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with broken as (
  select
    lo_orderkey, lo_linenumber
  from "lake"."ssb"."lineorder"
  group by lo_orderkey, lo_linenumber
  having count(*) > 1
)
select *
from broken
  ) found

-- name: utilities: recency
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.dbt_utils_latest"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with latest as (
  select
    max(e_at) as newest
  from "lake"."ssb"."events"
)
select
  newest,
  cast(date_add('day', -7, current_timestamp) as timestamp) as threshold
from latest
where newest < cast(date_add('day', -7, current_timestamp) as timestamp)
  ) found

-- name: utilities: equal rowcount
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.dbt_utils_equal_rowcount"} */
select
  sum(coalesce(diff_count, 0)) as failures,
  sum(coalesce(diff_count, 0)) != 0 as should_warn,
  sum(coalesce(diff_count, 0)) != 0 as should_error
  from (
with a as (
  select
  1 as same,
  count(*) as count_a
  from "lake"."ssb"."dates"
  group by 1
),
b as (
  select
  1 as same,
  count(*) as count_b
  from "lake"."ssb"."calendar"
  group by 1
),
final as (
  select
    a.same as same_a,
    b.same as same_b,
    count_a,
    count_b,
    abs(count_a - count_b) as diff_count
  from a
  full join b
  on
  a.same = b.same
)
select * from final
  ) found

-- name: utilities: accepted range
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.dbt_utils_accepted_range"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
with checked as(
select *
from "lake"."ssb"."lineorder"
),
broken as (
select *
from checked
where
  1 = 2
  or not lo_discount >= 0
  or not lo_discount <= 10
)
select *
from broken
  ) found

-- name: utilities: at least one
/* {"app": "dbt", "dbt_version": "1.11.16", "profile_name": "shop", "target_name": "dev", "node_id": "test.shop.dbt_utils_at_least_one"} */
select
  count(*) as failures,
  count(*) != 0 as should_warn,
  count(*) != 0 as should_error
  from (
select *
from (
  with some_rows as (
  select
    e_amount
  from "lake"."ssb"."events"
    where e_amount is not null
    limit 1
  )
  select
    count(e_amount) as filled
  from some_rows
  having count(e_amount) = 0
) broken
  ) found
