{{ config(materialized='view') }}
select customer, total from {{ ref('totals') }} order by total desc limit 1
