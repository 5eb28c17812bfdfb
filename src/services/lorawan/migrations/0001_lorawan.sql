-- Collation C: ids and names are ASCII, and their order is the same on every machine.
create schema lorawan;

create table lorawan.app_integrations (
  id integer generated always as identity primary key,
  tenant_id text collate "C" not null,
  app_name text collate "C" not null,
  net_username text collate "C" not null,
  -- The API key of the network, sealed.
  net_api_key text not null,
  -- Hosts as they were given. The key is the identity server in canonical form, for comparisons.
  net_identity_server_host text not null,
  net_identity_server_key text collate "C" not null,
  net_network_server_host text,
  net_join_server_host text,
  net_application_server_host text,
  net_plain_mqtt_server_url text,
  net_mqtt_integration_enabled boolean not null,
  name text not null,
  description text,
  pool_ids text[] not null,
  status text collate "C" not null,
  -- Grows with every change that people make; part of the ETag.
  version integer not null default 1,
  -- The MQTT client id, which is stable so that the broker keeps messages for the session.
  client_id text not null,
  created_at timestamptz not null,
  constraint app_integration_username unique (tenant_id, net_identity_server_key, net_username),
  constraint app_integration_application unique (tenant_id, app_name)
);

-- The MQTT session of each application integration: which node has it, and how it is.
create table lorawan.sessions (
  app_integration_id integer primary key references lorawan.app_integrations on delete cascade,
  node_id text collate "C",
  -- Counts the nodes that have had the session. A node writes the state only while the number is its own.
  claim bigint not null default 0,
  is_connected boolean not null default false,
  error text,
  -- True if the broker may hold messages of a time in which the integration was suspended: they are discarded.
  starts_clean boolean not null default true
);
create index sessions_by_node on lorawan.sessions (node_id);

create table lorawan.device_integrations (
  id integer generated always as identity primary key,
  tenant_id text collate "C" not null,
  app_integration_id integer not null references lorawan.app_integrations,
  app_name text collate "C" not null,
  app_version_name text collate "C" not null,
  net_device_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  name text not null,
  description text,
  endpoint_metadata jsonb,
  endpoint_relations jsonb,
  pool_ids text[] not null,
  formatter text,
  -- The functions that the formatter has.
  decodes boolean not null,
  encodes boolean not null,
  downlink_f_port smallint not null,
  downlink_confirmed boolean not null,
  status text collate "C" not null,
  version integer not null default 1,
  created_at timestamptz not null,
  constraint device_integration_device unique (app_integration_id, net_device_id),
  constraint device_integration_endpoint unique (endpoint_id)
);

-- Counts of uplinks, which nodes add up in memory and write every second.
create table lorawan.device_statistics (
  device_integration_id integer primary key references lorawan.device_integrations on delete cascade,
  received bigint not null default 0,
  stored bigint not null default 0,
  duplicates bigint not null default 0,
  dropped bigint not null default 0,
  last_uplink_at timestamptz,
  last_error text,
  last_error_at timestamptz
) with (fillfactor = 70);

-- The uplinks of the last hour. A repeated one finds its row, on every node, and is not stored again.
create table lorawan.uplinks (
  device_integration_id integer not null,
  session_key text collate "C" not null,
  f_cnt bigint not null,
  -- The time of the sample, chosen before it is stored: storing it again after a crash writes the same point.
  sample_at timestamptz not null,
  claimed_at timestamptz not null,
  is_stored boolean not null,
  primary key (device_integration_id, session_key, f_cnt)
) with (fillfactor = 70);
create index uplinks_by_age on lorawan.uplinks (claimed_at);

-- Commands that were published as downlinks, until the network reports their outcome.
create table lorawan.downlinks (
  correlation_id text collate "C" primary key,
  device_integration_id integer not null references lorawan.device_integrations on delete cascade,
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  command_id integer not null,
  command_type text collate "C" not null,
  is_confirmed boolean not null,
  -- When the broker acknowledged it. Before that, it is published again on the next connection.
  published_at timestamptz,
  created_at timestamptz not null,
  constraint downlink_command unique (tenant_id, endpoint_id, command_id)
);
create index downlinks_by_age on lorawan.downlinks (created_at);
create index downlinks_of_device on lorawan.downlinks (device_integration_id);

create table lorawan.account_integrations (
  id integer generated always as identity primary key,
  tenant_id text collate "C" not null,
  net_username text collate "C" not null,
  net_api_key text not null,
  net_identity_server_host text not null,
  net_identity_server_key text collate "C" not null,
  net_network_server_host text,
  net_join_server_host text,
  net_application_server_host text,
  net_plain_mqtt_server_url text,
  net_mqtt_integration_enabled boolean not null,
  name text not null,
  description text,
  pool_ids text[] not null,
  status text collate "C" not null,
  version integer not null default 1,
  created_at timestamptz not null,
  constraint account_integration_username unique (tenant_id, net_identity_server_key, net_username)
);

create table lorawan.gateway_integrations (
  id integer generated always as identity primary key,
  tenant_id text collate "C" not null,
  account_integration_id integer not null references lorawan.account_integrations,
  net_identity_server_key text collate "C" not null,
  app_name text collate "C" not null,
  app_version_name text collate "C" not null,
  net_gateway_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  name text not null,
  description text,
  endpoint_metadata jsonb,
  endpoint_relations jsonb,
  net_gateway_info jsonb,
  pool_ids text[] not null,
  status text collate "C" not null,
  version integer not null default 1,
  created_at timestamptz not null,
  constraint gateway_integration_gateway unique (tenant_id, net_identity_server_key, net_gateway_id),
  constraint gateway_integration_endpoint unique (endpoint_id)
);
create index gateway_integrations_of_account on lorawan.gateway_integrations (account_integration_id);
