-- OpenCart 3.0: one row for each product line. The tables that are summed up in brackets have no index on their order:
-- each is read as a whole for 500 orders. README.md says which indexes help. A new shop has these numbers of the
-- states. To see those of yours:
--   select order_status_id, name from oc_order_status; select return_status_id, name from oc_return_status
select
  l.order_id as order_code,

  -- Saving an order in the back office deletes its lines and writes new ones with new ids. So the code of a line is its
  -- product, its options, and a running number in case both come twice.
  concat(
    l.product_id, '-', coalesce(left(md5(c.all_options), 8), '0'), '-',
    row_number() over (partition by l.order_id, l.product_id, c.all_options order by l.order_product_id)
  ) as line_code,

  -- The id of the product. For the model, select l.model.
  l.product_id as product_code,

  -- All pieces with tax, before coupons. The tax is that of one piece.
  l.total + l.tax * l.quantity as price,

  case
    -- A return knows the product and not its options: all pieces of the product, in whatever lines, must be back.
    when r.taken_back >= sum(l.quantity) over (partition by l.order_id, l.product_id) then 'returned'
    when o.order_status_id = 5 then 'delivery_finished'
    when o.order_status_id = 3 then 'delivery_started'
    -- 11: refunded, 12: reversed, 13: charged back.
    when o.order_status_id in (11, 12, 13) then 'returned'
    -- 7: cancelled, 8: denied, 10: failed, 14: expired, 16: voided.
    when o.order_status_id in (7, 8, 10, 14, 16) then 'cancelled'
    when o.order_status_id in (2, 15) then 'paid'
    when o.order_status_id = 1 then 'unpaid'
    -- A state of your own is passed on by its name.
    else (
      select max(replace(replace(replace(replace(n.name, '&quot;', '"'), '&lt;', '<'), '&gt;', '>'), '&amp;', '&'))
      from oc_order_status n
      where n.order_status_id = o.order_status_id
    )
  end as status,

  -- The dates on which the order first got the state Shipped, and Complete, as long as it has that state. A comment on
  -- an order repeats its state.
  h.shipped_at as delivery_started_at,
  -- If all pieces came back, there is no date: the service asks for reviews of what was delivered.
  case
    when o.order_status_id = 5
      and coalesce(r.taken_back, 0) < sum(l.quantity) over (partition by l.order_id, l.product_id) then h.completed_at
  end as delivered_at,

  -- What was chosen from lists. Texts and files that the customer added stay here.
  chosen.options as product_options
from oc_order_product l
join oc_order o on o.order_id = l.order_id and o.order_status_id > 0
left join (
  select p.order_product_id, group_concat(concat(p.name, '=', p.value) order by p.name, p.value separator '; ') as all_options
  from oc_order_option p
  group by p.order_product_id
) c on c.order_product_id = l.order_product_id
left join (
  -- OpenCart keeps these characters as entities.
  select p.order_product_id, json_objectagg(
    replace(replace(replace(replace(p.name, '&quot;', '"'), '&lt;', '<'), '&gt;', '>'), '&amp;', '&'),
    replace(replace(replace(replace(p.value, '&quot;', '"'), '&lt;', '<'), '&gt;', '>'), '&amp;', '&')
  ) as options
  from oc_order_option p
  where p.type in ('select', 'radio')
  group by p.order_product_id
) chosen on chosen.order_product_id = l.order_product_id
left join (
  select
    h.order_id,
    min(case when h.order_status_id = 3 then h.date_added end) as shipped_at,
    min(case when h.order_status_id = 5 then h.date_added end) as completed_at
  from oc_order_history h
  group by h.order_id
) h on h.order_id = l.order_id
left join (
  -- 3: the return is complete.
  select t.order_id, t.product_id, sum(t.quantity) as taken_back
  from oc_return t
  where t.return_status_id = 3
  group by t.order_id, t.product_id
) r on r.order_id = l.order_id and r.product_id = l.product_id
