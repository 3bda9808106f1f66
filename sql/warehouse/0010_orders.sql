-- Orders: a lease for each order being pushed, what was sent of its contact, lines that wait for a product id, and dead
-- letters that name their order.
alter table sync.order_links
  add column lease_owner      text,
  add column lease_expires_at timestamptz,
  add column failures         integer not null default 0,
  add column contact_hash     text,
  add column contact_sent     boolean not null default false,
  add column sent_fields      text[],
  add column user_grade_code  text,
  add column user_grade_id    bigint;
update sync.order_links set contact_hash = 'withheld by 0.1' where not with_contact;
alter table sync.order_links drop column with_contact;
create index order_links_by_grade on sync.order_links (user_grade_code) where user_grade_code is not null;
comment on table sync.order_links is 'The shop''s orders and what the service calls them. A row exists from just before the first request about an order.';
comment on index sync.order_links_by_grade is 'Orders that carry, or wait for, a member grade.';
comment on column sync.order_links.order_id is 'The service''s id; null until the first response was recorded: the service may hold the order all the same.';
comment on column sync.order_links.fingerprint is 'Hash of the order with its lines as last pushed; while it is the same the order costs no request. Null: the next run pushes the order again.';
comment on column sync.order_links.lease_owner is 'Who is pushing the order now: host, process and a random part for each attempt. Null: nobody.';
comment on column sync.order_links.lease_expires_at is 'From then on another process may take the order over. Only the owner of the lease writes the order''s links.';
comment on column sync.order_links.failures is 'How many records of the order (itself or lines) became dead letters at the last push. Above 0: an unchanged order does not close its dead letters.';
comment on column sync.order_links.contact_hash is 'Hash of the e-mail address and phone number that the shop had at the last push; null: it had neither, or version 0.1 pushed the order. The text "withheld by 0.1": version 0.1 pushed the order without contact.';
comment on column sync.order_links.contact_sent is 'Whether the service was sent that contact.';
comment on column sync.order_links.sent_fields is 'Optional fields of the order that were last sent with a value. One that is empty now is sent as an empty value, so that the service clears it.';
comment on column sync.order_links.user_grade_code is 'The shop''s member grade of the order as last pushed.';
comment on column sync.order_links.user_grade_id is 'The service''s id of that grade as last sent; null: the grade was not linked yet.';

create table sync.waiting_lines (
  order_code    text not null,
  line_code     text not null,
  product_code  text not null,
  waiting_since timestamptz not null default now(),
  primary key (order_code, line_code)
);
create index waiting_lines_by_product on sync.waiting_lines (product_code);
comment on table sync.waiting_lines is 'Order lines whose product the service is not known to have yet. A line goes by itself as soon as a review, an order list or a webhook names the product''s id.';
comment on column sync.waiting_lines.order_code is 'The shop''s order code.';
comment on column sync.waiting_lines.line_code is 'The shop''s line code.';
comment on column sync.waiting_lines.product_code is 'The shop''s product code, for which sync.product_links has no row.';
comment on column sync.waiting_lines.waiting_since is 'When a push first found that the product id is not known.';
comment on index sync.waiting_lines_by_product is 'Lines that can go once a product''s id is known.';

alter table sync.dead_letters
  add column order_code text,
  add column checked_at timestamptz not null default now();
create index dead_letters_of_open_orders on sync.dead_letters (order_code) where resolved_at is null and order_code is not null;
comment on index sync.dead_letters_of_open_orders is 'Open dead letters of an order and its lines.';
comment on column sync.dead_letters.order_code is 'The order that the record is or belongs to; null: another kind of record, or an order without a code.';
comment on column sync.dead_letters.checked_at is 'When a run last read the record again. Each run reads those again that waited longest.';
update sync.dead_letters set order_code = case kind
    when 'order' then case when key not like 'sha256:%' then key end
    when 'order_line' then payload ->> 'order_code'
  end
where kind in ('order', 'order_line');

-- Lines that only wait for a product id were dead letters before; they are a state of their own now.
insert into sync.waiting_lines (order_code, line_code, product_code, waiting_since)
select payload ->> 'order_code', payload ->> 'line_code', payload ->> 'product_code', min(first_failed_at)
from sync.dead_letters
where kind = 'order_line' and resolved_at is null
  and payload ->> 'order_code' <> '' and payload ->> 'line_code' <> '' and payload ->> 'product_code' <> ''
  and payload ->> 'product_id' is null
  and reason = 'the service is not known to have the product yet: no review or order has told its product_id for this product_code'
group by 1, 2, 3
on conflict do nothing;
update sync.dead_letters set resolved_at = now()
where kind = 'order_line' and resolved_at is null
  and reason = 'the service is not known to have the product yet: no review or order has told its product_id for this product_code';

create table sync.leases (
  key        text primary key,
  owner      text not null,
  expires_at timestamptz not null
);
comment on table sync.leases is 'Work that only one process may do at a time. A lease runs out when its holder is frozen or cut off.';
comment on column sync.leases.key is 'What is leased, user-grades say.';
comment on column sync.leases.owner is 'Who holds it: host, process and a random part.';
comment on column sync.leases.expires_at is 'From then on another process may take it over.';
