-- When do orders answer? Orders by the week after delivery in which their first review came.
select
  case
    when not has_review then 'no review yet'
    when days_from_delivery_to_review < 0 then 'before delivery'
    when days_from_delivery_to_review < 7 then 'first week'
    when days_from_delivery_to_review < 14 then 'second week'
    else 'later'
  end as first_review,
  count(*) as orders,
  round(count(*) / sum(count(*)) over (), 3) as share,
  round(avg(average_score), 2) as average_score
from bi.response_by_order
where delivered_at is not null
group by 1
order by orders desc, first_review
