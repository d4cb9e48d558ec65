\timing on
\d
\d+ usage_by_day
\dt
\dv
\dn
\dn+
\df
\du
\l
\conninfo
select 'before' as place;
delete from requests;
select 'after the refused one' as place;
begin;
select 'in a transaction' as place;
truncate requests;
select 'not reached, because the transaction failed' as place;
rollback;
select 'after the rollback' as place;
prepare twice(int) as select $1 * 2 as twice;
execute twice(21);
deallocate twice;
\set FETCH_COUNT 1000
select count(*) from (select n from generate_series(1, 25000) n) numbers;
select n from generate_series(1, 3000) n offset 2999;
\gdesc
select 1 as a \gset
select :a + 1 as gset;
copy (select 1) to stdout;
select 'the end' as place;
