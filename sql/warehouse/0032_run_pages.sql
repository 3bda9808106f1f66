-- What status and the page of a run ask for: they stay fast with many orders and dead letters.
create index order_links_without_grade on sync.order_links (user_grade_code)
  where user_grade_code is not null and user_grade_id is null;
comment on index sync.order_links_without_grade is 'Orders whose member grade is not at the service yet.';
