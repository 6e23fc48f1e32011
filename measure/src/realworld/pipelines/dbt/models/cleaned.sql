select id, customer, cast(amount as decimal(9, 2)) as amount
from {{ ref('orders') }}
