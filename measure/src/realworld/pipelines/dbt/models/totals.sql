select customer, count(*) as orders, sum(amount) as total
from {{ ref('cleaned') }}
group by customer
