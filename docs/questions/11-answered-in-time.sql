-- Which share of the reviews below three stars was answered within two days, by product?
select r.product_code, count(*) as reviews,
  round(avg(exists (
    select from bi.replies a
    where a.review_id = r.review_id and a.is_by_shop is not false and a.replied_at <= r.created_at + interval '2 days'
  )::integer), 4) as answered_share
from bi.reviews r
where r.score < 3 and r.created_at < now() - interval '2 days'
group by r.product_code
order by reviews desc
limit 20
