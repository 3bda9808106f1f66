-- Links, cursors and reviews are those of one review service. Another one behind the same warehouse would be taken for up to date.
create table sync.connected_service (
  is_only boolean primary key default true check (is_only),
  address text not null,
  client text not null,
  connected_at timestamptz not null default now()
);
comment on table sync.connected_service is 'The review service to which all links, cursors and reviews belong. One row, or none before the first command that uses the service.';
comment on column sync.connected_service.is_only is 'Always true: keeps the table at one row.';
comment on column sync.connected_service.address is 'REVIEW_API_BASE_URL as of the last command.';
comment on column sync.connected_service.client is 'The first digits of the SHA-256 of REVIEW_API_CLIENT_ID: one address may serve many shops.';
comment on column sync.connected_service.connected_at is 'When the address or the client last changed.';
