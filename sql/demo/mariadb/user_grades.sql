-- The member grades of the sample shop on MariaDB.
select
  g.grade_code as code,
  g.grade_name as name,
  concat('https://shop.example.com/badges/', g.badge_file) as icon_url
from member_grades g
