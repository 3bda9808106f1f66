-- What of the catalog at the service cannot be brought in line with the shop.
alter table sync.category_links
  add column differs text check (differs in ('not in the shop', 'parent not cleared'));
alter table sync.user_grade_links
  add column differs text check (differs in ('not in the shop', 'icon not cleared'));
comment on column sync.category_links.differs is 'Null: the category is at the service as in the shop. not in the shop: it was deleted in the shop and is still at the service (review-sync deletes none). parent not cleared: it has no parent in the shop any more, and the service keeps the old one.';
comment on column sync.user_grade_links.differs is 'Null: the grade is at the service as in the shop. not in the shop: it was deleted in the shop and is still at the service (review-sync deletes none). icon not cleared: it has no icon in the shop any more, and the service keeps the old one.';
