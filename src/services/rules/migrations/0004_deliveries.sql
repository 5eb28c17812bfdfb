-- Webhooks and e-mails that are not sent yet, or wait for their next attempt. The node `node_id` sends them; when it dies, another node
-- takes them over. A row is deleted in the transaction that writes the trace of its action.
create table rules.deliveries (
  id uuid primary key,
  node_id text collate "C" not null,
  tenant_id text collate "C" not null,
  type text collate "C" not null check (type in ('webhook', 'send-email')),
  -- The receiver, whose requests under way are limited.
  host text collate "C" not null,
  -- What is sent, sealed, because headers and bodies may hold secrets.
  content text not null,
  -- The action and run that the trace names (JSON).
  action text not null,
  -- The attempts so far (JSON): time, status, reason.
  attempts text not null default '[]',
  attempts_max smallint not null,
  wait_ms integer not null,
  wait_factor double precision not null,
  next_at timestamptz not null default now()
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
create index deliveries_of_node on rules.deliveries (node_id, next_at);
create index deliveries_of_tenant on rules.deliveries (tenant_id);

-- Effects of actions that must not happen again when the engine runs an event again after a crash.
create table rules.effects (
  key uuid primary key,
  created_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0.02);
create index effects_by_time on rules.effects (created_at);
