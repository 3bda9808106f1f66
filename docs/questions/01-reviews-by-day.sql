-- How many reviews came on each of the last seven days, and how do they rate?
select day, reviews, average_score, photo_share
from bi.reviews_by_day
order by day desc
limit 7
