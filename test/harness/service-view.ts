/** A day passes for what is remembered of absent orders, pushes and removals. */
export const aDayPasses = `
  update sync.order_links set pushed_at = pushed_at - interval '1 day', absent_since = absent_since - interval '1 day';
  update sync.settings set removals_taken_at = array(select at - interval '1 day' from unnest(removals_taken_at) as at)`;

/** Runs a statement in a database and gives its rows. */
type Run = <Row extends Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>;

/** The service and the warehouse know the products, so that no line waits. */
export async function knowProducts(atService: Run, warehouse: Run, codes: readonly string[]): Promise<void> {
  const known = await atService<{ id: number; code: string }>(
    `insert into reference_service.products (id, code) select n, c from unnest($1::text[]) with ordinality as p (c, n)
     on conflict do nothing returning id, code`,
    [codes],
  );
  await warehouse(
    'insert into sync.product_links (product_code, product_id) select * from unnest($1::text[], $2::bigint[])',
    [known.map(({ code }) => code), known.map(({ id }) => id)],
  );
}

/** The orders at the service, without what is null. Their lines are in the order of product, price and status. */
export async function ordersAtService<Order>(atService: Run): Promise<Order[]> {
  const rows = await atService<{ order: Order }>(`
    select jsonb_strip_nulls(jsonb_build_object(
      'code', o.code, 'total', o.total_price, 'created', o.created_at, 'user', o.user_code, 'name', o.user_name,
      'phone', nullif(o.user_phone, ''), 'email', nullif(o.user_email, ''), 'grade', g.name, 'store', o.store_name,
      'device', o.order_device, 'mileage', o.mileage,
      'lines', coalesce((
        select jsonb_agg(jsonb_build_object(
            'product', p.code, 'price', s.price, 'status', s.status, 'shipped', s.delivery_started_at,
            'delivered', s.delivered_at, 'invoice', nullif(s.invoice, ''), 'carrier', nullif(s.delivery_service, ''),
            'options', nullif(s.product_options, '{}')
          ) order by p.code, s.price, s.status, s.id)
        from reference_service.sub_orders s join reference_service.products p on p.id = s.product_id
        where s.order_id = o.id
      ), '[]')
    )) as "order"
    from reference_service.orders o left join reference_service.user_grades g on g.id = o.user_grade_id
    order by o.code`);
  return rows.map(({ order }) => order);
}

/** Categories as `name < parent (hidden)` by code, and the names of the member grades. */
export async function catalogAtService(atService: Run) {
  const categories = await atService<{ code: string; text: string }>(`
    select c.code, c.name || coalesce(' < ' || p.code, '') || case c.status when 'hidden' then ' (hidden)' else '' end as text
    from reference_service.categories c left join reference_service.categories p on p.id = c.parent_category_id`);
  const grades = await atService<{ name: string }>('select name from reference_service.user_grades order by name');
  return {
    categories: Object.fromEntries(categories.map(({ code, text }) => [code, text])),
    grades: grades.map(({ name }) => name),
  };
}
