alter index kernel.outbox_heads rename to outbox_by_key;

-- One row for each subscription and key with waiting events: whoever locks it delivers them, in order. Finding work costs the same
-- however many events wait.
create table kernel.outbox_heads (
  subscription text collate "C" not null,
  key text collate "C" not null,
  due_at timestamptz not null default clock_timestamp(),
  -- How often the oldest event has failed.
  attempts integer not null default 0,
  -- Events up to this one are delivered one by one, since a batch with it failed.
  failed_id bigint,
  primary key (subscription, key)
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index outbox_heads_due on kernel.outbox_heads (subscription, due_at) where failed_id is null;
create index outbox_heads_failed on kernel.outbox_heads (subscription, due_at) where failed_id is not null;

-- Written by publishers, who must not wait for each other on a head: turned into heads by whoever delivers.
create table kernel.outbox_arrivals (
  id bigint generated always as identity primary key,
  subscription text collate "C" not null,
  key text collate "C" not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

insert into kernel.outbox_heads (subscription, key, due_at, attempts, failed_id)
  select distinct on (subscription, key) subscription, key, due_at, attempts, case when attempts > 0 then id end
  from kernel.outbox order by subscription, key, id;

alter table kernel.outbox
  drop column attempts, drop column due_at,
  alter column subscription type text collate "C",
  alter column key type text collate "C";
