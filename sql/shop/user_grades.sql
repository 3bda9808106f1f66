-- The member grades that are shown beside a review. One row a grade.
-- This file belongs to you, see orders.sql. Delete it if grades are not to be synced. It is read as a whole once an
-- hour.
select
  -- * The code of the grade: what user_grade_code of orders.sql refers to. Unique, and it never changes.
  g.grade_code::text as code,

  -- * The name that customers see.
  g.grade_name::text as name,

  -- A picture, 20 pixels wide or 20 pixels high. Null: none.
  'https://shop.example.com/badges/' || g.badge_file as icon_url
from shop.member_grades g
