-- Processes that share this database, see kernel/members.ts. All times are the database's.
create table kernel.nodes (
  id text collate "C" primary key,
  version text not null,
  addresses jsonb not null default '{}',
  started_at timestamptz not null default now(),
  seen_at timestamptz not null default now(),
  -- The node stopped, or is known only by rows that it left.
  gone boolean not null default false,
  -- The node that cleans up after this one, which is dead; another one may take over when the lease has expired.
  swept_by text collate "C",
  swept_until timestamptz
);

-- Messages between nodes that are committed and not sent yet, see kernel/signals.ts.
create table kernel.signals (
  id bigint generated always as identity primary key,
  node_id text collate "C" not null,
  address text collate "C" not null,
  topic text collate "C" not null,
  -- JSON, sent as it is.
  payload text not null,
  created_at timestamptz not null default clock_timestamp()
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Signs the messages: any database role may NOTIFY, only ours reads this.
create table kernel.signal_key (
  id integer primary key check (id = 1),
  key bytea not null
);
insert into kernel.signal_key (id, key)
  values (1, sha256(convert_to(gen_random_uuid()::text || gen_random_uuid()::text, 'UTF8')));
