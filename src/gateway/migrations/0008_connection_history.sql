-- The last connects and disconnects of each endpoint, the newest first: {at, connected, reason}, with milliseconds since 1970.
create table gateway.connection_history (
  endpoint_id text collate "C" primary key,
  tenant_id text collate "C" not null,
  events jsonb not null,
  changed_at timestamptz not null
) with (fillfactor = 80);
create index connection_history_of_tenant on gateway.connection_history (tenant_id);
