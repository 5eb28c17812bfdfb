create schema if not exists gateway;

-- Processes with a devices' door, and when each said last that it lives.
create table gateway.nodes (
  node_id text collate "C" primary key,
  seen_at timestamptz not null
);

-- Endpoints that have a connection (node_id), or none but a session that waits for its client (session_key).
create table gateway.bindings (
  endpoint_id text collate "C" primary key,
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  version_name text collate "C" not null,
  node_id text collate "C",
  session_key text collate "C",
  -- The topic of a message needs the token's text: sealed, and only where a session is kept.
  token_sealed text,
  bound_at timestamptz not null,
  check (node_id is not null or session_key is not null),
  check ((session_key is null) = (token_sealed is null))
);
create index bindings_of_node on gateway.bindings (node_id) where node_id is not null;
create index bindings_of_tenant on gateway.bindings (tenant_id);
