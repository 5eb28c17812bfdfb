-- Numbers of alerts, so that the total of a list does not count a million rows. Each statement that changes alerts adds the differences; a
-- periodic task adds them up to one row for each combination (`is_sum`).
create table rules.alert_counts (
  tenant_id text collate "C" not null,
  application_name text collate "C",
  entity_type text collate "C" not null,
  alert_type text collate "C" not null,
  state text collate "C" not null,
  severity smallint not null,
  is_acknowledged boolean not null,
  count bigint not null,
  is_sum boolean not null default false
);
create index alert_counts_of_tenant on rules.alert_counts (tenant_id);
create index alert_counts_to_add on rules.alert_counts (tenant_id) where not is_sum;

-- Numbers of alerts with a key in their metadata or in that of their entity.
create table rules.alert_keys (
  tenant_id text collate "C" not null,
  application_name text collate "C",
  entity_type text collate "C" not null,
  kind text collate "C" not null check (kind in ('ALERT', 'ENTITY')),
  key text collate "C" not null,
  count bigint not null,
  is_sum boolean not null default false
);
create index alert_keys_of_tenant on rules.alert_keys (tenant_id);
create index alert_keys_to_add on rules.alert_keys (tenant_id) where not is_sum;

-- A trigger cannot have the rows of several kinds of statements, so there are three functions.
create function rules.count_inserted_alerts() returns trigger language plpgsql as $$
begin
  insert into rules.alert_counts (tenant_id, application_name, entity_type, alert_type, state, severity, is_acknowledged, count)
  select tenant_id, application_name, entity_type, alert_type, state, severity, is_acknowledged, count(*)
  from added group by 1, 2, 3, 4, 5, 6, 7;
  insert into rules.alert_keys (tenant_id, application_name, entity_type, kind, key, count)
  select tenant_id, application_name, entity_type, kind, key, count(*)
  from added, lateral (
    select 'ALERT' as kind, jsonb_object_keys(metadata) as key
    union all select 'ENTITY', jsonb_object_keys(entity_metadata)) k
  group by 1, 2, 3, 4, 5;
  return null;
end $$;

create function rules.count_updated_alerts() returns trigger language plpgsql as $$
begin
  insert into rules.alert_counts (tenant_id, application_name, entity_type, alert_type, state, severity, is_acknowledged, count)
  select tenant_id, application_name, entity_type, alert_type, state, severity, is_acknowledged, sum(n)
  from (select *, 1 as n from added union all select *, -1 from removed) changes
  group by 1, 2, 3, 4, 5, 6, 7 having sum(n) <> 0;
  -- Most changes leave the metadata as it is.
  insert into rules.alert_keys (tenant_id, application_name, entity_type, kind, key, count)
  select tenant_id, application_name, entity_type, kind, key, sum(n)
  from (
    select a.*, 1 as n from added a join removed r using (id)
    where a.metadata is distinct from r.metadata or a.entity_metadata is distinct from r.entity_metadata
    union all
    select r.*, -1 from added a join removed r using (id)
    where a.metadata is distinct from r.metadata or a.entity_metadata is distinct from r.entity_metadata) changes,
    lateral (
      select 'ALERT' as kind, jsonb_object_keys(metadata) as key
      union all select 'ENTITY', jsonb_object_keys(entity_metadata)) k
  group by 1, 2, 3, 4, 5 having sum(n) <> 0;
  return null;
end $$;

create function rules.count_deleted_alerts() returns trigger language plpgsql as $$
begin
  insert into rules.alert_counts (tenant_id, application_name, entity_type, alert_type, state, severity, is_acknowledged, count)
  select tenant_id, application_name, entity_type, alert_type, state, severity, is_acknowledged, -count(*)
  from removed group by 1, 2, 3, 4, 5, 6, 7;
  insert into rules.alert_keys (tenant_id, application_name, entity_type, kind, key, count)
  select tenant_id, application_name, entity_type, kind, key, -count(*)
  from removed, lateral (
    select 'ALERT' as kind, jsonb_object_keys(metadata) as key
    union all select 'ENTITY', jsonb_object_keys(entity_metadata)) k
  group by 1, 2, 3, 4, 5;
  return null;
end $$;

create trigger count_inserted after insert on rules.alerts
  referencing new table as added for each statement execute function rules.count_inserted_alerts();
create trigger count_updated after update on rules.alerts
  referencing old table as removed new table as added for each statement execute function rules.count_updated_alerts();
create trigger count_deleted after delete on rules.alerts
  referencing old table as removed for each statement execute function rules.count_deleted_alerts();

insert into rules.alert_counts
select tenant_id, application_name, entity_type, alert_type, state, severity, is_acknowledged, count(*), true
from rules.alerts group by 1, 2, 3, 4, 5, 6, 7;
insert into rules.alert_keys
select tenant_id, application_name, entity_type, kind, key, count(*), true
from rules.alerts, lateral (
  select 'ALERT' as kind, jsonb_object_keys(metadata) as key
  union all select 'ENTITY', jsonb_object_keys(entity_metadata)) k
group by 1, 2, 3, 4, 5;
