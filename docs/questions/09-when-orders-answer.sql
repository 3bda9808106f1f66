-- When do orders answer? Delivered products of orders by the week after delivery in which their first review came.
select
  case
    when days is null then 'no review yet'
    when days < 0 then 'before delivery'
    when days < 7 then 'first week'
    when days < 14 then 'second week'
    else 'later'
  end as first_review,
  sum(deliveries) as deliveries,
  round(sum(deliveries) / sum(sum(deliveries)) over (), 3) as share,
  round(sum(stars) / nullif(sum(rated_reviews), 0), 2) as average_score
from bi.time_to_review
group by 1
order by deliveries desc, first_review
