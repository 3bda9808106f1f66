-- Finds the orders of a member grade that were sent with another id of it (due_orders.sql) without reading all of them.
create index order_links_by_grade_id on sync.order_links (user_grade_code, user_grade_id) where user_grade_code is not null;
comment on index sync.order_links_by_grade_id is 'Orders whose member grade has another id at the service by now.';
drop index sync.order_links_by_grade;
