-- Runs once, when the volume of docker-compose.yml is made. review-sync owns the warehouse and is no superuser; it may
-- create the roles of analysts. The superuser has no password: docker compose exec postgres psql -U postgres warehouse
\getenv password POSTGRES_PASSWORD
create role review_sync login createrole password :'password';
alter database warehouse owner to review_sync;
alter role postgres password null;
