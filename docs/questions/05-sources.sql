-- Where do reviews come from, and does the source make a difference?
select source, reviews, share, average_score, photo_share
from bi.reviews_by_source
order by reviews desc, source
