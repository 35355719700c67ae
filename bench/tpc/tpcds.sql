-- The cubes over TPC-DS: sales of the three channels by item, by customer and by place, baskets,
-- returns and stock; no literal of a query.

-- Sales of a store's day.
CREATE CUBE store_days AS
SELECT ss_sold_date_sk, ss_store_sk, count(*), sum(ss_quantity), sum(ss_sales_price),
       sum(ss_ext_sales_price), sum(ss_net_profit)
FROM store_sales
GROUP BY ss_sold_date_sk, ss_store_sk;

-- Sales of an item's day. Few items are sold twice a day: hardly smaller than the table.
CREATE CUBE store_items AS
SELECT ss_item_sk, ss_sold_date_sk, count(*), sum(ss_quantity), sum(ss_sales_price),
       sum(ss_ext_sales_price), sum(ss_net_profit), sum(ss_quantity * ss_list_price)
FROM store_sales
GROUP BY ss_item_sk, ss_sold_date_sk;

-- Brands in stores, by month.
CREATE CUBE store_brands AS
SELECT i_category, i_class, i_brand, i_brand_id, i_manufact_id, ss_store_sk, d_year, d_qoy, d_moy,
       d_month_seq, count(*), sum(ss_sales_price), sum(ss_ext_sales_price), sum(ss_net_profit),
       sum(ss_sales_price * ss_quantity)
FROM store_sales
JOIN item ON ss_item_sk = i_item_sk
JOIN date_dim ON ss_sold_date_sk = d_date_sk
GROUP BY i_category, i_class, i_brand, i_brand_id, i_manufact_id, ss_store_sk, d_year, d_qoy, d_moy,
         d_month_seq;

-- Baskets: one row for each ticket.
CREATE CUBE store_baskets AS
SELECT ss_ticket_number, ss_customer_sk, ss_addr_sk, ss_hdemo_sk, ss_store_sk, ss_sold_date_sk,
       count(*), sum(ss_coupon_amt), sum(ss_net_profit), sum(ss_ext_sales_price),
       sum(ss_ext_list_price), sum(ss_ext_tax)
FROM store_sales
GROUP BY ss_ticket_number, ss_customer_sk, ss_addr_sk, ss_hdemo_sk, ss_store_sk, ss_sold_date_sk;

-- What customers buy, by month.
CREATE CUBE store_customers AS
SELECT ss_customer_sk, d_year, d_qoy, d_moy, d_month_seq, count(*), sum(ss_net_paid),
       sum(ss_ext_sales_price), sum(ss_ext_list_price - ss_ext_discount_amt)
FROM store_sales
JOIN date_dim ON ss_sold_date_sk = d_date_sk
GROUP BY ss_customer_sk, d_year, d_qoy, d_moy, d_month_seq;

-- Who buys what: demographics and promotions.
CREATE CUBE store_people AS
SELECT cd_gender, cd_marital_status, cd_education_status, ss_item_sk, ss_store_sk, ss_promo_sk,
       d_year, avg(ss_quantity), avg(ss_list_price), avg(ss_coupon_amt), avg(ss_sales_price)
FROM store_sales
JOIN customer_demographics ON ss_cdemo_sk = cd_demo_sk
JOIN date_dim ON ss_sold_date_sk = d_date_sk
GROUP BY cd_gender, cd_marital_status, cd_education_status, ss_item_sk, ss_store_sk, ss_promo_sk,
         d_year;

-- When stores are busy.
CREATE CUBE store_hours AS
SELECT t_hour, t_minute, hd_dep_count, hd_vehicle_count, ss_store_sk, count(*)
FROM store_sales
JOIN time_dim ON ss_sold_time_sk = t_time_sk
JOIN household_demographics ON ss_hdemo_sk = hd_demo_sk
GROUP BY t_hour, t_minute, hd_dep_count, hd_vehicle_count, ss_store_sk;

-- What comes back to stores, by day, item and customer; below that of catalog and web.
CREATE CUBE store_return_days AS
SELECT sr_returned_date_sk, sr_item_sk, sr_store_sk, sr_customer_sk, count(*),
       sum(sr_return_quantity), sum(sr_return_amt), sum(sr_net_loss), sum(sr_fee)
FROM store_returns
GROUP BY sr_returned_date_sk, sr_item_sk, sr_store_sk, sr_customer_sk;

-- Sales of the catalog and the web by item, day and place, and by customer.
CREATE CUBE catalog_items AS
SELECT cs_item_sk, cs_sold_date_sk, cs_call_center_sk, count(*), sum(cs_quantity),
       sum(cs_sales_price), sum(cs_ext_sales_price), sum(cs_net_profit),
       sum(cs_quantity * cs_list_price)
FROM catalog_sales
GROUP BY cs_item_sk, cs_sold_date_sk, cs_call_center_sk;

CREATE CUBE catalog_return_days AS
SELECT cr_returned_date_sk, cr_item_sk, cr_call_center_sk, cr_returning_customer_sk,
       cr_returning_addr_sk, count(*), sum(cr_return_quantity), sum(cr_return_amount),
       sum(cr_return_amt_inc_tax), sum(cr_net_loss)
FROM catalog_returns
GROUP BY cr_returned_date_sk, cr_item_sk, cr_call_center_sk, cr_returning_customer_sk,
         cr_returning_addr_sk;

CREATE CUBE web_items AS
SELECT ws_item_sk, ws_sold_date_sk, ws_web_page_sk, count(*), sum(ws_quantity),
       sum(ws_sales_price), sum(ws_ext_sales_price), sum(ws_net_profit), sum(ws_net_paid),
       sum(ws_quantity * ws_list_price)
FROM web_sales
GROUP BY ws_item_sk, ws_sold_date_sk, ws_web_page_sk;

CREATE CUBE web_customers AS
SELECT ws_bill_customer_sk, d_year, d_qoy, d_moy, d_month_seq, count(*), sum(ws_net_paid),
       sum(ws_sales_price), sum(ws_ext_sales_price), sum(ws_ext_list_price - ws_ext_discount_amt)
FROM web_sales
JOIN date_dim ON ws_sold_date_sk = d_date_sk
GROUP BY ws_bill_customer_sk, d_year, d_qoy, d_moy, d_month_seq;

CREATE CUBE web_return_days AS
SELECT wr_returned_date_sk, wr_item_sk, wr_web_page_sk, wr_returning_customer_sk, count(*),
       sum(wr_return_quantity), sum(wr_return_amt), sum(wr_net_loss)
FROM web_returns
GROUP BY wr_returned_date_sk, wr_item_sk, wr_web_page_sk, wr_returning_customer_sk;

-- Stock of an item in a warehouse, by month.
CREATE CUBE stock AS
SELECT inv_item_sk, inv_warehouse_sk, d_year, d_moy, d_month_seq, count(*),
       sum(inv_quantity_on_hand), avg(inv_quantity_on_hand), stddev_samp(inv_quantity_on_hand)
FROM inventory
JOIN date_dim ON inv_date_sk = d_date_sk
GROUP BY inv_item_sk, inv_warehouse_sk, d_year, d_moy, d_month_seq;
