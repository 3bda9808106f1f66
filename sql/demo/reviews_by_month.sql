-- Reviews by month: how many, how they rate, how many carry photos.
select
  to_char(created_at at time zone 'Asia/Seoul', 'YYYY-MM') as month,
  count(*) as reviews,
  round(avg(score), 2) as average_score,
  round(100.0 * count(*) filter (where images_count > 0) / count(*), 1) as with_photo_percent
from warehouse.reviews
where deleted_at is null
group by 1
order by 1 desc
limit 12
