-- Do ratings get better or worse? The last twelve months, with the average over three months against chance.
select month, rated_reviews, average_score, average_score_3_months, change, low_share
from bi.score_trend
order by month desc
limit 12
