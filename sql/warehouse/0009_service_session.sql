-- Token, hold and quota belong to a client id of the review service and not to a process: all processes share this row.
create table sync.service_session (
  service_address text collate "C",
  service_client  text collate "C",
  token           bytea,
  obtained_at     timestamptz,
  renew_at        timestamptz,
  refused_at      timestamptz[] not null default '{}',
  held_until      timestamptz,
  held_reason     text,
  primary key (service_address, service_client)
);
comment on table sync.service_session is 'What the review service grants each client id. A process that renews the token locks the row.';
comment on column sync.service_session.service_address is 'REVIEW_API_BASE_URL.';
comment on column sync.service_session.service_client is 'The first digits of the SHA-256 of REVIEW_API_CLIENT_ID.';
comment on column sync.service_session.token is 'The access token, encrypted by a key that is derived from REVIEW_API_CLIENT_SECRET. With another secret it cannot be read and is replaced.';
comment on column sync.service_session.obtained_at is 'When the token was obtained.';
comment on column sync.service_session.renew_at is 'When the token is renewed ahead of its end. Null: the service names no end.';
comment on column sync.service_session.refused_at is 'When the service refused a token that it had accepted: at most the last hundred of an hour.';
comment on column sync.service_session.held_until is 'No process sends a request before: the service asked to wait (Retry-After). Null or past: no wait.';
comment on column sync.service_session.held_reason is 'Why requests are held.';
