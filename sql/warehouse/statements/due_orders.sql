-- One page, by code, of the orders to push although the shop did not change them:
-- - A push has begun and was not recorded: its process has died, or is still working on it.
-- - The last push failed, or the order is to be looked at once more, and its time has come.
-- - A line waited for a product whose id is known by now.
-- - The member grade has another id at the service than the one that was sent last.
-- $1 timestamptz: what becomes due later is left to the next run. $2 boolean: also orders that failed before $1 and are
-- not due yet. $3: the page begins after this code. $4: codes of a page. Indexes: order_links_waiting,
-- order_links_by_grade_id. The orders of each grade are looked up by themselves, below, above and without its id.
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
  select l.order_code from sync.user_grade_links g cross join lateral (
    select order_code from sync.order_links where user_grade_code = g.user_grade_code and user_grade_id < g.user_grade_id
    union all
    select order_code from sync.order_links where user_grade_code = g.user_grade_code and user_grade_id > g.user_grade_id
    union all
    select order_code from sync.order_links where user_grade_code = g.user_grade_code and user_grade_id is null
  ) as l
) as due
where code > $3 order by code limit $4
