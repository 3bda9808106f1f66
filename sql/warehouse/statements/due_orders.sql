-- One page of the codes of orders to push although the shop did not change them, by code:
-- - a push has begun and was not recorded: its process has died, or is still at it;
-- - the last push failed, or is to be looked at once more, and its time has come;
-- - a line waited for a product that the service is known to have by now;
-- - the member grade has another id at the service than was last sent.
-- $1 timestamptz: what becomes due later is left to the next run. $2 boolean: also orders that failed before, and whose time
-- has not come yet. $3: the code after which the page begins. $4: codes of a page. Index: order_links_waiting.
select code from (
  select order_code as code from sync.order_links where lease_owner is not null
  union
  select order_code from sync.order_links
  where due_at <= $1 or ($2 and due_at is not null and failed_pushes > 0 and coalesce(pushed_at, '-infinity') < $1)
  union
  select order_code from sync.order_links cross join lateral jsonb_each_text(waiting_lines) as line (line_code, product_code)
  join sync.product_links using (product_code)
  where waiting_lines is not null
  union
  select l.order_code from sync.order_links l join sync.user_grade_links g using (user_grade_code)
  where l.user_grade_id is distinct from g.user_grade_id
) as due
where code > $3 order by code limit $4
