/**
 * What clients ask at their start and to show schemas: our own texts, with the catalogs, functions and syntax that each
 * client uses. Several statements in one text are one message.
 */
export const BI_CLIENT_QUERIES: Readonly<Record<string, readonly string[]>> = {
  psql: [
    `select n.nspname as "Schema", c.relname as "Name",
      case c.relkind when 'r' then 'table' when 'v' then 'view' when 'm' then 'materialized view' when 'p' then 'partitioned table' end as "Type",
      pg_catalog.pg_get_userbyid(c.relowner) as "Owner", pg_catalog.pg_size_pretty(pg_catalog.pg_table_size(c.oid)) as "Size",
      pg_catalog.obj_description(c.oid, 'pg_class') as "Description"
    from pg_catalog.pg_class c left join pg_catalog.pg_namespace n on n.oid = c.relnamespace left join pg_catalog.pg_am am on am.oid = c.relam
    where c.relkind in ('r', 'p', 'v', 'm', 'S', 'f', '') and n.nspname <> 'pg_catalog' and n.nspname !~ '^pg_toast' and pg_catalog.pg_table_is_visible(c.oid)
    order by 1, 2`,
    `select c.oid, n.nspname, c.relname from pg_catalog.pg_class c left join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.relname operator(pg_catalog.~) '^(customers)$' collate pg_catalog.default and pg_catalog.pg_table_is_visible(c.oid) order by 2, 3`,
    `select c.relchecks, c.relkind, c.relhasindex, c.relhasrules, c.relhastriggers, c.relrowsecurity, c.relforcerowsecurity, c.relispartition,
      pg_catalog.array_to_string(c.reloptions || array(select 'toast.' || x from pg_catalog.unnest(tc.reloptions) x), ', '),
      c.reltablespace, case when c.reloftype = 0 then '' else c.reloftype::pg_catalog.regtype::pg_catalog.text end, c.relpersistence, c.relreplident, am.amname
    from pg_catalog.pg_class c left join pg_catalog.pg_class tc on c.reltoastrelid = tc.oid left join pg_catalog.pg_am am on c.relam = am.oid where c.oid = '1259'`,
    `select a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod),
      (select pg_catalog.pg_get_expr(d.adbin, d.adrelid, true) from pg_catalog.pg_attrdef d where d.adrelid = a.attrelid and d.adnum = a.attnum and a.atthasdef),
      a.attnotnull, (select c.collname from pg_catalog.pg_collation c, pg_catalog.pg_type t where c.oid = a.attcollation and t.oid = a.atttypid and a.attcollation <> t.typcollation),
      a.attidentity, a.attgenerated, a.attstorage, a.attstattarget, pg_catalog.col_description(a.attrelid, a.attnum)
    from pg_catalog.pg_attribute a where a.attrelid = '1259' and a.attnum > 0 and not a.attisdropped order by a.attnum`,
    "select pg_catalog.pg_get_viewdef('data.big_orders'::pg_catalog.regclass::pg_catalog.oid, true)",
    "select r.rulename, trim(trailing ';' from pg_catalog.pg_get_ruledef(r.oid, true)) from pg_catalog.pg_rewrite r where r.ev_class = '1259' and r.rulename <> '_RETURN' order by 1",
    `select c2.relname, i.indisprimary, i.indisunique, pg_catalog.pg_get_indexdef(i.indexrelid, 0, true), pg_catalog.pg_get_constraintdef(con.oid, true), contype, condeferrable, i.indisreplident, c2.reltablespace
    from pg_catalog.pg_class c, pg_catalog.pg_class c2, pg_catalog.pg_index i left join pg_catalog.pg_constraint con on (conrelid = i.indrelid and conindid = i.indexrelid and contype in ('p', 'u', 'x'))
    where c.oid = '1259' and c.oid = i.indrelid and i.indexrelid = c2.oid order by i.indisprimary desc, c2.relname`,
    `select pol.polname, pol.polpermissive, case when pol.polroles = '{0}' then null else pg_catalog.array_to_string(array(select rolname from pg_catalog.pg_roles where oid = any (pol.polroles) order by 1), ',') end,
      pg_catalog.pg_get_expr(pol.polqual, pol.polrelid), pg_catalog.pg_get_expr(pol.polwithcheck, pol.polrelid), pol.polcmd from pg_catalog.pg_policy pol where pol.polrelid = '1259' order by 1`,
    `select oid, stxrelid::pg_catalog.regclass, stxnamespace::pg_catalog.regnamespace::pg_catalog.text, stxname, pg_catalog.pg_get_statisticsobjdef_columns(oid), 'd' = any (stxkind)
    from pg_catalog.pg_statistic_ext where stxrelid = '1259' order by 1`,
    `select pubname, null, null from pg_catalog.pg_publication p join pg_catalog.pg_publication_namespace pn on p.oid = pn.pnpubid join pg_catalog.pg_class pc on pc.relnamespace = pn.pnnspid
    where pc.oid = '1259' and pg_catalog.pg_relation_is_publishable('1259') union select pubname, pg_catalog.pg_get_expr(pr.prqual, c.oid),
      case when pr.prattrs is not null then (select string_agg(attname, ', ') from pg_catalog.generate_series(0, pg_catalog.array_upper(pr.prattrs::pg_catalog.int2[], 1)) s, pg_catalog.pg_attribute where attrelid = pr.prrelid and attnum = prattrs[s]) end
    from pg_catalog.pg_publication p join pg_catalog.pg_publication_rel pr on p.oid = pr.prpubid join pg_catalog.pg_class c on c.oid = pr.prrelid where pr.prrelid = '1259' order by 1`,
    `select c.oid::pg_catalog.regclass, c.relkind, inhdetachpending, pg_catalog.pg_get_expr(c.relpartbound, c.oid) from pg_catalog.pg_class c, pg_catalog.pg_inherits i where c.oid = i.inhrelid and i.inhparent = '1259'
    order by pg_catalog.pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT', c.oid::pg_catalog.regclass::pg_catalog.text`,
    `select conname, conrelid::pg_catalog.regclass, pg_catalog.pg_get_constraintdef(oid, true) from pg_catalog.pg_constraint where confrelid in (select pg_catalog.pg_partition_ancestors('1259') union all values ('1259'::pg_catalog.regclass)) and contype = 'f'`,
    `select n.nspname, pg_catalog.pg_get_userbyid(n.nspowner), pg_catalog.array_to_string(n.nspacl, e'\\n'), pg_catalog.obj_description(n.oid, 'pg_namespace')
    from pg_catalog.pg_namespace n where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 1`,
    `select n.nspname, p.proname, pg_catalog.pg_get_function_result(p.oid), pg_catalog.pg_get_function_arguments(p.oid),
      case p.prokind when 'a' then 'agg' when 'w' then 'window' when 'p' then 'proc' else 'func' end, p.provolatile, l.lanname
    from pg_catalog.pg_proc p left join pg_catalog.pg_namespace n on n.oid = p.pronamespace left join pg_catalog.pg_language l on l.oid = p.prolang
    where pg_catalog.pg_function_is_visible(p.oid) and n.nspname <> 'pg_catalog' and n.nspname <> 'information_schema' order by 1, 2, 4`,
    `select d.datname, pg_catalog.pg_get_userbyid(d.datdba), pg_catalog.pg_encoding_to_char(d.encoding), d.datcollate, pg_catalog.array_to_string(d.datacl, e'\\n'),
      case when pg_catalog.has_database_privilege(d.datname, 'CONNECT') then 'yes' else 'No Access' end from pg_catalog.pg_database d order by 1`,
    `select r.rolname, r.rolsuper, r.rolinherit, r.rolcreaterole, r.rolcreatedb, r.rolcanlogin, r.rolconnlimit, r.rolvaliduntil,
      array(select b.rolname from pg_catalog.pg_auth_members m join pg_catalog.pg_roles b on (m.roleid = b.oid) where m.member = r.oid) from pg_catalog.pg_roles r where r.rolname !~ '^pg_' order by 1`,
    "select spcname, pg_catalog.pg_get_userbyid(spcowner), pg_catalog.pg_tablespace_location(oid) from pg_catalog.pg_tablespace order by 1",
    `select n.nspname, pg_catalog.format_type(t.oid, null), pg_catalog.obj_description(t.oid, 'pg_type') from pg_catalog.pg_type t left join pg_catalog.pg_namespace n on n.oid = t.typnamespace
    where (t.typrelid = 0 or (select c.relkind = 'c' from pg_catalog.pg_class c where c.oid = t.typrelid)) and not exists (select 1 from pg_catalog.pg_type el where el.oid = t.typelem and el.typarray = t.oid)
      and n.nspname <> 'pg_catalog' and pg_catalog.pg_type_is_visible(t.oid) order by 1, 2`,
    "select pg_catalog.quote_ident(c.relname) from pg_catalog.pg_class c where (pg_catalog.quote_ident(c.relname)) like 'cust%' and c.relkind in ('r', 'v') limit 1000",
    "select word from pg_catalog.pg_get_keywords() where word like 'sel%'",
    "show server_version",
  ],
  jdbc: [
    "set extra_float_digits = 3",
    "set application_name = 'PostgreSQL JDBC Driver'",
    "show transaction isolation level",
    "set session characteristics as transaction isolation level read committed",
    "set session characteristics as transaction read only",
    "begin read only",
    "commit",
    "select current_schema()",
    "select setting from pg_catalog.pg_settings where name = 'max_index_keys'",
    "select typlen from pg_catalog.pg_type t, pg_catalog.pg_namespace n where t.typnamespace = n.oid and t.typname = 'name' and n.nspname = 'pg_catalog'",
    "select string_agg(word, ',') from pg_catalog.pg_get_keywords() where word <> all ('{a,abs,absolute,action}'::text[])",
    `select null as table_cat, n.nspname as table_schem, c.relname as table_name,
      case n.nspname ~ '^pg_' or n.nspname = 'information_schema' when true then case c.relkind when 'r' then 'SYSTEM TABLE' when 'v' then 'SYSTEM VIEW' else null end
        when false then case c.relkind when 'r' then 'TABLE' when 'p' then 'PARTITIONED TABLE' when 'v' then 'VIEW' when 'm' then 'MATERIALIZED VIEW' else null end else null end as table_type,
      d.description as remarks, '' as type_cat, '' as type_schem, '' as type_name, '' as self_referencing_col_name, '' as ref_generation
    from pg_catalog.pg_namespace n, pg_catalog.pg_class c left join pg_catalog.pg_description d on (c.oid = d.objoid and d.objsubid = 0 and d.classoid = 'pg_class'::regclass)
    where c.relnamespace = n.oid and n.nspname like 'data' and (false or (c.relkind = 'v' and n.nspname <> 'pg_catalog')) order by table_type, table_schem, table_name`,
    `select * from (select n.nspname, c.relname, a.attname, a.atttypid, a.attnotnull or (t.typtype = 'd' and t.typnotnull) as attnotnull, a.atttypmod, a.attlen, t.typtypmod,
        row_number() over (partition by a.attrelid order by a.attnum) as attnum, nullif(a.attidentity, '') as attidentity, nullif(a.attgenerated, '') as attgenerated,
        pg_catalog.pg_get_expr(def.adbin, def.adrelid) as adsrc, dsc.description, t.typbasetype, t.typtype
      from pg_catalog.pg_namespace n join pg_catalog.pg_class c on (c.relnamespace = n.oid) join pg_catalog.pg_attribute a on (a.attrelid = c.oid) join pg_catalog.pg_type t on (a.atttypid = t.oid)
        left join pg_catalog.pg_attrdef def on (a.attrelid = def.adrelid and a.attnum = def.adnum) left join pg_catalog.pg_description dsc on (c.oid = dsc.objoid and a.attnum = dsc.objsubid)
        left join pg_catalog.pg_class dc on (dc.oid = dsc.classoid and dc.relname = 'pg_class') left join pg_catalog.pg_namespace dn on (dc.relnamespace = dn.oid and dn.nspname = 'pg_catalog')
      where c.relkind in ('r', 'p', 'v', 'f', 'm') and a.attnum > 0 and not a.attisdropped and n.nspname like 'data') c where true order by nspname, c.relname, attnum`,
    `select result.table_schem, result.column_name, result.key_seq from (select n.nspname as table_schem, ct.relname as table_name, a.attname as column_name,
        (information_schema._pg_expandarray(i.indkey)).n as key_seq, ci.relname as pk_name, information_schema._pg_expandarray(i.indkey) as keys, a.attnum as a_attnum
      from pg_catalog.pg_class ct join pg_catalog.pg_attribute a on (ct.oid = a.attrelid) join pg_catalog.pg_namespace n on (ct.relnamespace = n.oid)
        join pg_catalog.pg_index i on (a.attrelid = i.indrelid) join pg_catalog.pg_class ci on (ci.oid = i.indexrelid) where i.indisprimary) result
    where result.a_attnum = (result.keys).x order by result.table_name, result.pk_name, result.key_seq`,
    `select nspname as table_schem from pg_catalog.pg_namespace where nspname <> 'pg_toast' and (nspname !~ '^pg_temp_' or nspname = (pg_catalog.current_schemas(true))[1])
      and (nspname !~ '^pg_toast_temp_' or nspname = replace((pg_catalog.current_schemas(true))[1], 'pg_temp_', 'pg_toast_temp_')) order by 1`,
    `select n.nspname = any (current_schemas(true)), n.nspname, t.typname from pg_catalog.pg_type t join pg_catalog.pg_namespace n on t.typnamespace = n.oid where t.oid = 23`,
    `select typinput = 'pg_catalog.array_in'::regproc as is_array, typtype, typname, pg_type.oid from pg_catalog.pg_type left join (select ns.oid as nspoid, ns.nspname, r.r from pg_namespace as ns
      join (select s.r, (current_schemas(false))[s.r] as nspname from generate_series(1, array_upper(current_schemas(false), 1)) as s(r)) as r using (nspname)) as sp on sp.nspoid = typnamespace
    where typname = 'jsonb' order by sp.r, pg_type.oid desc`,
    "select t.typname, t.oid from pg_catalog.pg_type t join pg_catalog.pg_namespace n on (t.typnamespace = n.oid) where n.nspname <> 'pg_toast' and (t.typrelid = 0 or (select c.relkind = 'c' from pg_catalog.pg_class c where c.oid = t.typrelid))",
    "select n.nspname, c.relname, r.rolname, c.relacl from pg_catalog.pg_namespace n, pg_catalog.pg_class c, pg_catalog.pg_roles r where c.relnamespace = n.oid and c.relowner = r.oid and c.relkind in ('r', 'v')",
  ],
  npgsql: [
    "select version()",
    `select ns.nspname, t.oid, t.typname, t.typtype, t.typnotnull, t.elemtypoid from (select typ.oid, typ.typnamespace, typ.typname, typ.typtype, typ.typrelid, typ.typnotnull, typ.relkind, elemtyp.oid as elemtypoid, elemtyp.typname as elemtypname,
        case when elemproc.proname = 'array_recv' then 'a' else elemtyp.typtype end as elemtyptype
      from (select typ.oid, typnamespace, typname, typrelid, typnotnull, relkind, typelem as elemoid, case when proc.proname = 'array_recv' then 'a' else typ.typtype end as typtype,
          case when proc.proname = 'array_recv' then typ.typelem when typ.typtype = 'r' then rngsubtype when typ.typtype = 'm' then (select rngtypid from pg_range where rngmultitypid = typ.oid) when typ.typtype = 'd' then typ.typbasetype end as elemtypoid
        from pg_type as typ left join pg_class as cls on (cls.oid = typ.typrelid) left join pg_proc as proc on proc.oid = typ.typreceive left join pg_range on (pg_range.rngtypid = typ.oid)) as typ
      left join pg_type as elemtyp on elemtyp.oid = elemtypoid left join pg_proc as elemproc on elemproc.oid = elemtyp.typreceive) as t join pg_namespace as ns on (ns.oid = typnamespace)
    where typtype in ('b', 'r', 'm', 'e', 'd') or (typtype = 'c' and relkind = 'c') or (typtype = 'p' and typname in ('record', 'void', 'unknown')) or (typtype = 'a' and elemtyptype in ('b', 'r', 'm', 'e', 'd'))
    order by case when typtype in ('b', 'e', 'p') then 0 when typtype = 'r' then 1 else 2 end;
    select typ.oid, att.attname, att.atttypid from pg_type as typ join pg_namespace as ns on (ns.oid = typ.typnamespace) join pg_class as cls on (cls.oid = typ.typrelid) join pg_attribute as att on (att.attrelid = typ.typrelid)
    where (typ.typtype = 'c' and cls.relkind = 'c') and attnum > 0 and not attisdropped order by typ.oid, att.attnum;
    select pg_type.oid, enumlabel from pg_enum join pg_type on pg_type.oid = enumtypid order by oid, enumsortorder`,
    "set session authorization default;reset all;close all;unlisten *;select pg_advisory_unlock_all();discard sequences;discard temp",
    "discard all",
  ],
  powerBi: [
    "select table_schema, table_name, table_type from information_schema.tables where table_schema not in ('information_schema', 'pg_catalog') order by table_schema, table_name",
    `select column_name, ordinal_position, is_nullable, case when (data_type like '%unsigned%') then data_type || ' unsigned' else data_type end as data_type
    from information_schema.columns where table_schema = 'data' and table_name = 'customers' order by table_schema, table_name, ordinal_position`,
    `select pkcol.column_name as "PK_COLUMN_NAME", fkcol.table_schema as fk_schema, fkcol.ordinal_position as ordinal, fkcon.constraint_schema || '_' || fkcol.table_name || '_' || fkcon.constraint_name as fk_name
    from (select distinct constraint_catalog, constraint_schema, unique_constraint_schema, constraint_name, unique_constraint_name from information_schema.referential_constraints) fkcon
      inner join information_schema.key_column_usage fkcol on fkcon.constraint_schema = fkcol.constraint_schema and fkcon.constraint_name = fkcol.constraint_name
      inner join information_schema.key_column_usage pkcol on fkcon.unique_constraint_schema = pkcol.constraint_schema and fkcon.unique_constraint_name = pkcol.constraint_name
    where fkcol.table_schema = 'data' and pkcol.ordinal_position = fkcol.ordinal_position order by fk_name, fkcol.ordinal_position`,
    `select i.constraint_schema || '_' || i.constraint_name, ii.column_name, ii.ordinal_position, case when i.constraint_type = 'PRIMARY KEY' then 'Y' else 'N' end
    from information_schema.table_constraints i inner join information_schema.key_column_usage ii on i.constraint_schema = ii.constraint_schema and i.constraint_name = ii.constraint_name
    where i.table_schema = 'data' and i.constraint_type in ('PRIMARY KEY', 'UNIQUE')`,
    'select "$Table"."id" as "id", "$Table"."name" as "name" from "data"."customers" "$Table" limit 1000',
    `select "rows"."country" as "country", sum("rows"."id") as "a0" from (select "country", "id" from "data"."customers") "rows" group by "country"`,
    "select character_set_name from information_schema.character_sets",
    "discard all",
  ],
  metabase: [
    "set session timezone to 'Europe/Berlin'",
    "set transaction isolation level read uncommitted",
    "show timezone",
    "select now() at time zone 'UTC', current_timestamp::text",
    `with table_privileges as (select null as role, t.schemaname as schema, t.objectname as table,
        pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'update') as update,
        pg_catalog.has_any_column_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'select') as select,
        pg_catalog.has_table_privilege(current_user, '"' || replace(t.schemaname, '"', '""') || '"' || '.' || '"' || replace(t.objectname, '"', '""') || '"', 'delete') as delete
      from (select schemaname, tablename as objectname from pg_catalog.pg_tables union select schemaname, viewname as objectname from pg_catalog.pg_views union select schemaname, matviewname as objectname from pg_catalog.pg_matviews) t
      where t.schemaname !~ '^pg_' and t.schemaname <> 'information_schema' and pg_catalog.has_schema_privilege(current_user, t.schemaname, 'usage')) select t.* from table_privileges t`,
    `select c.column_name as name, case when c.udt_schema in ('public', 'pg_catalog') then format('%s', c.udt_name) else format('"%s"."%s"', c.udt_schema, c.udt_name) end as "database-type", c.ordinal_position - 1 as position,
      pk.column_name is not null as "pk?", col_description(cast(cast(format('%I.%I', cast(c.table_schema as text), cast(c.table_name as text)) as regclass) as oid), c.ordinal_position) as "field-comment"
    from information_schema.columns c left join (select tc.table_schema, tc.table_name, kc.column_name from information_schema.table_constraints tc join information_schema.key_column_usage kc on tc.constraint_name = kc.constraint_name
      and tc.table_schema = kc.table_schema where tc.constraint_type = 'PRIMARY KEY') pk on c.table_schema = pk.table_schema and c.table_name = pk.table_name and c.column_name = pk.column_name
    where c.table_schema !~ '^information_schema|catalog_history|pg_' and c.table_schema in ('data') order by c.table_schema, c.table_name, position`,
    "select n.nspname, t.typname, e.enumlabel from pg_type t join pg_enum e on t.oid = e.enumtypid join pg_namespace n on n.oid = t.typnamespace",
    'select true as "_" from "data"."customers" where 1 <> 1 limit 0',
    'select count(*) as "count", cast(date_trunc(\'month\', "data"."orders"."ordered_at") as date) from "data"."orders" group by 2 order by 2 asc',
    'select substring("data"."customers"."name", 1, 1234) as "substring1" from "data"."customers" limit 10000',
    "begin; declare cursor_of_fetch cursor for select * from data.customers; fetch forward 5 from cursor_of_fetch; close cursor_of_fetch; rollback",
  ],
  grafana: [
    "select current_setting('server_version_num')::int / 100 as version",
    "select extversion from pg_extension where extname = 'timescaledb'",
    `select case when quote_ident(table_schema) in (select case when trim(s[i]) = '"$user"' then user else trim(s[i]) end from generate_series(array_lower(string_to_array(current_setting('search_path'), ','), 1), array_upper(string_to_array(current_setting('search_path'), ','), 1)) as i, string_to_array(current_setting('search_path'), ',') s)
      then quote_ident(table_name) else quote_ident(table_schema) || '.' || quote_ident(table_name) end as "table" from information_schema.tables where quote_ident(table_schema) not in ('information_schema', 'pg_catalog', '_timescaledb_cache') order by 1`,
    `select quote_ident(column_name) as "column", data_type as "type" from information_schema.columns where case when array_length(parse_ident('data.orders'), 1) = 2
      then quote_ident(table_schema) = (parse_ident('data.orders'))[1] and quote_ident(table_name) = (parse_ident('data.orders'))[2] else quote_ident(table_name) = 'orders' end`,
    `select floor(extract(epoch from ordered_at) / 86400) * 86400 as "time", status as metric, avg(total) as "value" from orders where ordered_at between '2026-01-01T00:00:00Z' and '2026-02-01T00:00:00Z' group by 1, 2 order by 1`,
  ],
  dbeaver: [
    "set application_name = 'DBeaver 25 - Main <data>'",
    "set extra_float_digits = 3",
    "select current_schema(), session_user",
    "show search_path",
    'set search_path = data, "$user"',
    "select db.oid, db.* from pg_catalog.pg_database db where datname = current_database()",
    "select n.oid, n.*, d.description from pg_catalog.pg_namespace n left outer join pg_catalog.pg_description d on d.objoid = n.oid and d.objsubid = 0 and d.classoid = 'pg_namespace'::regclass order by nspname",
    `select t.oid, t.*, c.relkind, format_type(nullif(t.typbasetype, 0), t.typtypmod) as base_type_name, d.description from pg_catalog.pg_type t
      left outer join pg_catalog.pg_type et on et.oid = t.typelem left outer join pg_catalog.pg_class c on c.oid = t.typrelid left outer join pg_catalog.pg_description d on t.oid = d.objoid
    where t.typname is not null and (c.relkind is null or c.relkind = 'c') and (et.typcategory is null or et.typcategory <> 'C')`,
    `select c.oid, c.*, d.description, pg_catalog.pg_get_expr(c.relpartbound, c.oid) as partition_expr, pg_catalog.pg_get_partkeydef(c.oid) as partition_key from pg_catalog.pg_class c
      left outer join pg_catalog.pg_description d on d.objoid = c.oid and d.objsubid = 0 and d.classoid = 'pg_class'::regclass where c.relkind not in ('i', 'I', 'c')`,
    `select c.relname, a.*, pg_catalog.pg_get_expr(ad.adbin, ad.adrelid, true) as def_value, dsc.description, dep.objid from pg_catalog.pg_attribute a inner join pg_catalog.pg_class c on (a.attrelid = c.oid)
      left outer join pg_catalog.pg_attrdef ad on (a.attrelid = ad.adrelid and a.attnum = ad.adnum) left outer join pg_catalog.pg_description dsc on (c.oid = dsc.objoid and a.attnum = dsc.objsubid)
      left outer join pg_depend dep on dep.refobjid = a.attrelid and dep.deptype = 'i' and dep.refobjsubid = a.attnum and dep.classid = dep.refclassid where not a.attisdropped and c.relkind not in ('i', 'I', 'c') order by a.attnum`,
    "select c.oid, c.*, t.relname as tabrelname, rt.relnamespace as refnamespace, d.description, null as consrc_copy from pg_catalog.pg_constraint c inner join pg_catalog.pg_class t on t.oid = c.conrelid left outer join pg_catalog.pg_class rt on rt.oid = c.confrelid left outer join pg_catalog.pg_description d on d.objoid = c.oid",
    "select a.oid, a.*, pd.description from pg_catalog.pg_roles a left join pg_catalog.pg_shdescription pd on a.oid = pd.objoid order by a.rolname",
    "select t.oid, t.*, pg_tablespace_location(t.oid) loc from pg_catalog.pg_tablespace t order by t.oid",
    "select x.oid, x.* from pg_catalog.pg_am x",
    "select p.oid, p.*, pg_catalog.pg_get_expr(p.proargdefaults, 0) as arg_defaults, d.description from pg_catalog.pg_proc p left outer join pg_catalog.pg_description d on d.objoid = p.oid limit 50",
    "select e.oid, cfg.tbls, n.nspname as schema_name, e.* from pg_catalog.pg_extension e join pg_catalog.pg_namespace n on n.oid = e.extnamespace left join (select ft.oid, array_agg(c.relname) tbls from pg_catalog.pg_extension ft, pg_catalog.pg_class c where c.oid = any (ft.extconfig) group by ft.oid) cfg on cfg.oid = e.oid",
    "select pg_catalog.pg_total_relation_size(c.oid), pg_catalog.pg_relation_size(c.oid) from pg_class c where c.relkind = 'r' limit 3",
    "select * from pg_catalog.pg_settings",
    "select sa.* from pg_catalog.pg_stat_activity sa",
    "select pg_catalog.pg_get_functiondef(p.oid) from pg_catalog.pg_proc p where p.proname = 'array_position' limit 1",
    "select * from pg_catalog.pg_enum; select 1 from pg_catalog.pg_available_extensions limit 1",
    "explain (format xml, verbose) select * from data.customers",
  ],
  sqlalchemy: [
    "begin",
    "select pg_catalog.version()",
    "select current_schema()",
    "show standard_conforming_strings",
    "show transaction isolation level",
    "rollback",
    "set datestyle to 'ISO'",
    "set client_encoding to 'utf8'",
    "select pg_catalog.pg_namespace.nspname from pg_catalog.pg_namespace where pg_catalog.pg_namespace.nspname not like 'pg_%%' order by pg_catalog.pg_namespace.nspname",
    `select pg_catalog.pg_class.relname from pg_catalog.pg_class join pg_catalog.pg_namespace on pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace
    where pg_catalog.pg_class.relkind = any (array['v']) and pg_catalog.pg_class.relpersistence <> cast('t' as char) and pg_catalog.pg_namespace.nspname = 'data'`,
    `select pg_catalog.pg_attribute.attname as name, pg_catalog.format_type(pg_catalog.pg_attribute.atttypid, pg_catalog.pg_attribute.atttypmod) as format_type,
      (select pg_catalog.pg_get_expr(pg_catalog.pg_attrdef.adbin, pg_catalog.pg_attrdef.adrelid) as pg_get_expr_1 from pg_catalog.pg_attrdef where pg_catalog.pg_attrdef.adrelid = pg_catalog.pg_attribute.attrelid and pg_catalog.pg_attrdef.adnum = pg_catalog.pg_attribute.attnum and pg_catalog.pg_attribute.atthasdef) as "default",
      pg_catalog.pg_attribute.attnotnull as not_null, pg_catalog.pg_description.description as comment, pg_catalog.pg_attribute.attgenerated as generated,
      (select json_build_object('always', pg_catalog.pg_attribute.attidentity = 'a', 'start', pg_catalog.pg_sequence.seqstart) as json_build_object_1 from pg_catalog.pg_sequence
        where pg_catalog.pg_attribute.attidentity <> '' and pg_catalog.pg_sequence.seqrelid = cast(cast(pg_catalog.pg_get_serial_sequence(cast(cast(pg_catalog.pg_attribute.attrelid as regclass) as text), pg_catalog.pg_attribute.attname) as regclass) as oid)) as identity_options
    from pg_catalog.pg_class left outer join pg_catalog.pg_attribute on pg_catalog.pg_class.oid = pg_catalog.pg_attribute.attrelid and pg_catalog.pg_attribute.attnum > 0 and not pg_catalog.pg_attribute.attisdropped
      left outer join pg_catalog.pg_description on pg_catalog.pg_description.objoid = pg_catalog.pg_attribute.attrelid and pg_catalog.pg_description.objsubid = pg_catalog.pg_attribute.attnum
      join pg_catalog.pg_namespace on pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace where pg_catalog.pg_class.relkind = any (array['r', 'p', 'f', 'v', 'm']) and pg_catalog.pg_namespace.nspname = 'data' order by pg_catalog.pg_class.relname, pg_catalog.pg_attribute.attnum`,
    `select attr.conrelid, array_agg(cast(attr.attname as text) order by attr.ord) as cols, attr.conname from (select con.conrelid, con.conname, con.conkey, con.ord, a.attname from (select conrelid, conname, conkey, unnest(conkey) as attnum, generate_subscripts(conkey, 1) as ord from pg_catalog.pg_constraint where contype = 'p') as con
      join pg_catalog.pg_attribute a on a.attnum = con.attnum and a.attrelid = con.conrelid) as attr group by attr.conrelid, attr.conname`,
    "select t.typname as name, pg_catalog.pg_type_is_visible(t.oid) as visible, n.nspname as schema, lbl_agg.labels from pg_catalog.pg_type t join pg_catalog.pg_namespace n on n.oid = t.typnamespace left outer join (select enumtypid, array_agg(cast(enumlabel as text) order by enumsortorder) as labels from pg_catalog.pg_enum group by enumtypid) as lbl_agg on t.oid = lbl_agg.enumtypid where t.typtype = 'e'",
    "select typname as name, oid, typarray as array_oid, oid::regtype::text as regtype, typdelim as delimiter from pg_type t where t.oid = to_regtype('hstore') order by t.oid",
    "select 'x'::varchar(60) as anon_1, cast('test unicode returns' as varchar(60))",
  ],
  asyncpg: [
    "select pg_advisory_unlock_all();\nclose all;\nunlisten *;\nreset all;",
    "select current_setting('jit') as cur, set_config('jit', 'off', false) as new",
    "select t.oid, t.typelem as elemtype, t.typtype as kind from pg_catalog.pg_type as t inner join pg_catalog.pg_namespace ns on (ns.oid = t.typnamespace) where t.typname = 'jsonb' and ns.nspname = 'pg_catalog'",
    `with recursive tree (oid, ns, name, kind, basetype, elemtype, elemdelim, range_subtype, attrtypoids, depth) as (
      select ti.*, 0 from (select t.oid, n.nspname, t.typname, t.typtype,
          case when t.typtype = 'd' then (with recursive bases (oid, depth) as (select t2.typbasetype, 0 from pg_type t2 where t2.oid = t.oid
            union all select t2.typbasetype, b.depth + 1 from pg_type t2, bases b where b.oid = t2.oid and t2.typbasetype != 0) select oid from bases order by depth desc limit 1) end,
          t.typelem, e.typdelim, r.rngsubtype,
          case when t.typtype = 'c' then (select array_agg(a.atttypid order by a.attnum) from pg_attribute a inner join pg_class c on (a.attrelid = c.oid) where a.attnum > 0 and not a.attisdropped and c.reltype = t.oid) end
        from pg_catalog.pg_type t inner join pg_catalog.pg_namespace n on n.oid = t.typnamespace left join pg_type e on t.typlen = -1 and t.typelem != 0 and t.typelem = e.oid
          left join pg_range r on t.oid = r.rngtypid) ti where ti.oid = any (array[1003, 13426]::oid[])
      union all
      select t.oid, n.nspname, t.typname, t.typtype, null::oid, t.typelem, null::"char", null::oid, null::oid[], tt.depth + 1
        from pg_catalog.pg_type t inner join pg_catalog.pg_namespace n on n.oid = t.typnamespace, tree tt where tt.elemtype is not null and t.oid = tt.elemtype)
    select distinct *, basetype::regtype::text, elemtype::regtype::text from tree order by depth desc`,
  ],
  goDrivers: [
    ";",
    "-- ping",
    "select t.oid, t.typname from pg_type t where t.typname = any (array['citext', 'hstore'])",
    "set application_name = 'grafana'; set datestyle = 'ISO, MDY'; set client_encoding = 'utf-8'",
  ],
  pgAdmin: [
    "SET DateStyle=ISO; SET client_min_messages=notice; SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = 'bytea_output'; SET client_encoding='utf-8';",
    "select version()",
    `select db.oid as did, db.datname, db.datallowconn, pg_encoding_to_char(db.encoding) as serverencoding, has_database_privilege(db.oid, 'CREATE') as cancreate, datistemplate
    from pg_catalog.pg_database db where db.datname = current_database()`,
    `select gss_authenticated, encrypted from pg_catalog.pg_stat_gssapi where pid = pg_backend_pid()`,
    `select roles.oid as id, roles.rolname as name, roles.rolsuper as is_superuser, case when roles.rolsuper then true else roles.rolcreaterole end as can_create_role,
      case when 'pg_signal_backend' = any (array(with recursive cte as (select pg_roles.oid, pg_roles.rolname from pg_roles where pg_roles.oid = roles.oid
        union all select m.roleid, pgr.rolname from cte cte_1 join pg_auth_members m on m.member = cte_1.oid join pg_roles pgr on pgr.oid = m.roleid) select rolname from cte)) then true else false end as can_signal_backend
    from pg_catalog.pg_roles as roles where rolname = current_user`,
    `select case when usesuper then pg_catalog.pg_is_in_recovery() else false end as inrecovery,
      case when usesuper and pg_catalog.pg_is_in_recovery() then pg_is_wal_replay_paused() else false end as isreplaypaused from pg_catalog.pg_user where usename = current_user`,
    `select db.oid as did, db.datname as name, ta.spcname, db.datallowconn, db.datistemplate, pg_catalog.has_database_privilege(db.oid, 'CREATE') as cancreate, datdba as owner, descr.description
    from pg_catalog.pg_database db left outer join pg_catalog.pg_tablespace ta on db.dattablespace = ta.oid left outer join pg_catalog.pg_shdescription descr on (db.oid = descr.objoid and descr.classoid = 'pg_database'::regclass)
    where db.oid > 0::oid or db.datname in ('postgres', 'edb') order by datname`,
    `select nsp.oid, nsp.nspname as name, has_schema_privilege(nsp.oid, 'CREATE') as can_create, has_schema_privilege(nsp.oid, 'USAGE') as has_usage from pg_catalog.pg_namespace nsp
    where nspname not like e'pg\\_%' and not ((nsp.nspname = 'pg_catalog' and exists (select 1 from pg_catalog.pg_class where relname = 'pg_class' and relnamespace = nsp.oid limit 1)) or (nsp.nspname = 'information_schema')) order by nspname`,
    `select c.oid, c.xmin, c.relname as name, pg_catalog.pg_get_userbyid(c.relowner) as owner, description as comment, substring(array_to_string(c.reloptions, ',') from 'security_barrier=([a-z|0-9]*)') as security_barrier,
      pg_catalog.pg_get_viewdef(c.oid, true) as definition, array(select provider || '=' || label from pg_catalog.pg_seclabels sl1 where sl1.objoid = c.oid) as seclabels
    from pg_catalog.pg_class c left outer join pg_catalog.pg_description des on (des.objoid = c.oid and des.objsubid = 0 and des.classoid = 'pg_class'::regclass)
    where c.relkind = 'v' and c.relnamespace = (select oid from pg_namespace where nspname = 'data') order by c.relname`,
    `select at.attname, at.attnum, ty.typname, coalesce(pg_catalog.col_description(at.attrelid, at.attnum), '') as description, pg_catalog.format_type(ty.oid, at.atttypmod) as cltype from pg_catalog.pg_attribute at
    left join pg_catalog.pg_type ty on ty.oid = at.atttypid where at.attnum > 0 and not at.attisdropped and at.attrelid = (select oid from pg_class where relkind = 'v' limit 1) order by at.attnum`,
    `select 'session_stats' as chart_name, pg_catalog.row_to_json(t) as chart_data from (select (select count(*) from pg_catalog.pg_stat_activity) as "Total",
      (select count(*) from pg_catalog.pg_stat_activity where state = 'active') as "Active") t
    union all select 'tps_stats', pg_catalog.row_to_json(t) from (select (select sum(xact_commit) + sum(xact_rollback) from pg_catalog.pg_stat_database) as "Transactions") t`,
    "select * from pg_catalog.pg_settings order by category, name",
  ],
  dataGrip: [
    "set application_name = 'DataGrip 2025.3'",
    "select current_database() as a, current_schemas(false) as b",
    "select round(extract(epoch from pg_postmaster_start_time() at time zone 'UTC')) as startup_time",
    `select n.oid::bigint as id, datname as name, d.description, datistemplate as is_template, datallowconn as allow_connections, pg_catalog.pg_get_userbyid(n.datdba) as "owner"
    from pg_catalog.pg_database n left join pg_catalog.pg_shdescription d on n.oid = d.objoid order by case when datname = pg_catalog.current_database() then -1::bigint else n.oid::bigint end`,
    `select n.oid::bigint as id, n.xmin as state_number, nspname as name, d.description, pg_catalog.pg_get_userbyid(n.nspowner) as "owner" from pg_catalog.pg_namespace n
    left join pg_catalog.pg_description d on n.oid = d.objoid order by case when nspname = pg_catalog.current_schema() then -1::bigint else n.oid::bigint end`,
    "select l.transactionid::varchar::bigint as transaction_id from pg_catalog.pg_locks l where l.transactionid is not null order by pg_catalog.age(l.transactionid) desc limit 1",
    "select case when pg_catalog.pg_is_in_recovery() then null else (pg_catalog.txid_current() % 4294967296)::varchar::bigint end as current_txid",
    "show datestyle",
    "select member id, roleid role_id, admin_option from pg_catalog.pg_auth_members order by id, roleid::text",
    `select e.oid as id, e.xmin as state_number, extname as name, extversion as version, nspname as schema_name, array(select unnest from unnest(available_versions) where unnest > extversion) as available_updates
    from pg_catalog.pg_extension e join pg_namespace n on e.extnamespace = n.oid left join (select name, array_agg(version) as available_versions from pg_available_extension_versions() group by name) v on e.extname = v.name`,
    `select t.relkind as table_kind, t.relname as table_name, t.oid as table_id, t.xmin as state_number, t.reloptions as options, (select pg_catalog.array_agg(inhparent::bigint order by inhseqno)::varchar from pg_catalog.pg_inherits where t.oid = inhrelid) as ancestors,
      pg_catalog.pg_get_partkeydef(t.oid) as partition_key, pg_catalog.pg_get_expr(t.relpartbound, t.oid) as partition_expression, pg_catalog.pg_get_userbyid(t.relowner) as "owner"
    from pg_catalog.pg_class t where relnamespace = (select oid from pg_namespace where nspname = 'data') and relkind in ('r', 'm', 'v', 'f', 'p') order by table_kind, table_id`,
    `with t as (select distinct t.oid as table_id, t.relname as table_name from pg_catalog.pg_class t, pg_catalog.pg_attribute a where t.relkind in ('r', 'm', 'v', 'f', 'p')
      and (pg_catalog.age(a.xmin) <= coalesce(nullif(greatest(pg_catalog.age('3'::varchar::xid), -1), -1), 2147483647)) and a.attrelid = t.oid)
    select t.table_id, c.attnum, c.attname, c.atttypmod, c.attndims, pg_catalog.format_type(c.atttypid, c.atttypmod), c.attnotnull, pg_catalog.pg_get_expr(d.adbin, d.adrelid), not c.attislocal, c.attidentity
    from t join pg_catalog.pg_attribute c on t.table_id = c.attrelid left join pg_catalog.pg_attrdef d on (c.attrelid, c.attnum) = (d.adrelid, d.adnum) where attnum > 0 order by table_id, attnum`,
    `with languages as (select oid as lang_oid, lanname as lang from pg_catalog.pg_language), routines as (select proname as r_name, prolang as lang_oid, oid as r_id, xmin as r_state_number, proargnames, proargtypes::int[],
      pg_catalog.pg_get_expr(proargdefaults, 0) as arg_defaults, prokind, provolatile, proconfig, pg_catalog.pg_get_function_sqlbody(oid) as sqlbody from pg_catalog.pg_proc where pronamespace = (select oid from pg_namespace where nspname = 'data'))
    select * from routines natural join languages`,
    `select r.ev_class as table_id, r.oid as rule_id, r.rulename, pg_catalog.translate(ev_type, '1234', 'SUID') as event, r.ev_enabled, r.is_instead from pg_catalog.pg_rewrite r where r.rulename != '_RETURN'::name order by r.ev_class::bigint, ev_type`,
    `select t.oid as view_id, pg_catalog.pg_get_viewdef(t.oid, true) as source_text from pg_catalog.pg_class t join pg_catalog.pg_namespace n on t.relnamespace = n.oid where n.nspname = 'data' and t.relkind in ('m', 'v')`,
  ],
  psqlOdbc: [
    ";",
    "set DateStyle = 'ISO'; set extra_float_digits = 2; show transaction_isolation",
    "select oid, typbasetype from pg_type where typname = 'lo'",
    "select current_schema()",
    'begin;declare "SQL_CUR0x55d0" cursor with hold for select * from data.customers;fetch 100 in "SQL_CUR0x55d0"',
    'fetch 100 in "SQL_CUR0x55d0"',
    'close "SQL_CUR0x55d0";commit',
    "begin;savepoint _per_query_svp_;release _per_query_svp_;rollback",
    `select n.nspname, c.relname, a.attname, a.atttypid, t.typname, a.attnum, a.attlen, a.atttypmod, a.attnotnull, c.relhasrules, c.relkind, c.oid, pg_get_expr(d.adbin, d.adrelid),
      case t.typtype when 'd' then t.typbasetype else 0 end, t.typtypmod, 0, attidentity, c.relhassubclass from (((pg_catalog.pg_class c inner join pg_catalog.pg_namespace n on n.oid = c.relnamespace and c.oid = 1259)
      inner join pg_catalog.pg_attribute a on (not a.attisdropped) and a.attnum > 0 and a.attrelid = c.oid) inner join pg_catalog.pg_type t on t.oid = a.atttypid) left outer join pg_attrdef d on a.atthasdef and d.adrelid = a.attrelid and d.adnum = a.attnum order by n.nspname, c.relname, attnum`,
    "select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in ('r', 'v', 'm', 'f', 'p') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1') and n.oid = relnamespace order by nspname, relname",
  ],
};
