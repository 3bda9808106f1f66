-- The user of the BI tool: it reads the views of bi by way of the role bi_reader, and nothing else. Safe to run again.
-- The password comes from the environment, BI_PASSWORD.
\getenv password BI_PASSWORD
select 'create role bi_user login' where to_regrole('bi_user') is null
\gexec
alter role bi_user password :'password';
grant bi_reader to bi_user;
