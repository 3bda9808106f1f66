-- The user of the BI tool: it reads the views of bi by way of the role bi_reader, and nothing else. Safe to run again,
-- by the owner of the database or an administrator.
-- The password comes from the environment, BI_PASSWORD.
\getenv password BI_PASSWORD
select 'create role bi_user login' where to_regrole('bi_user') is null
\gexec
alter role bi_user password :'password';
grant bi_reader to bi_user;
-- A dashboard must not take the connections and the time that review-sync needs. These are defaults of the role:
-- somebody with the password can change the times in a session, so give it to the BI tool only.
alter role bi_user connection limit 10;
alter role bi_user set statement_timeout = '60s';
alter role bi_user set lock_timeout = '5s';
alter role bi_user set idle_in_transaction_session_timeout = '60s';
-- Postgres 14 and older let everybody create functions in public.
revoke create on schema public from public;
