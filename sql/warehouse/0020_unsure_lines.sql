-- A push that sent requests and died, or was cut off, before it recorded them: what is remembered of the order may be older
-- than what the service holds.
alter table sync.order_links add column lines_unsure boolean not null default false;
comment on column sync.order_links.lines_unsure is 'Whether a push may have changed sub-orders without recording it. Then the contents in sync.sub_order_links may be older than what the service holds, and the next push compares the lines with what the service shows.';
