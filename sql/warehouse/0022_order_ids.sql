-- Codes that a service may hold for one are found by sync.code_key (0020_same_codes.sql): no statement asks by the id.
drop index sync.order_links_by_id;
