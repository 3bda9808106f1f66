-- How many reviews carry photos, month by month, and do these rate higher?
select month, reviews, photo_share, average_score_with_photo, average_score_without_photo
from bi.photo_share
order by month desc
limit 12
