-- A review that a person discarded stays discarded while the service shows the same record. Only a hash of the record is kept: it may hold customers' data.
alter table sync.dead_letters add column discarded_hash text;
comment on column sync.dead_letters.discarded_hash is 'SHA-256 of the record of a discarded review: while the service shows the same record, no dead letter is opened for it again. Null: not discarded, or another kind of record.';
create index dead_letters_discarded on sync.dead_letters (key) where discarded_hash is not null;
comment on index sync.dead_letters_discarded is 'Finds the discarded dead letter of a review that cannot be written.';
comment on column sync.dead_letters.resolved_at is 'When the record was synced or discarded. The row is deleted 90 days later; that of a discarded review 90 days after the service showed the record last.';
