create schema commands;

-- The greatest command id that each endpoint was given. Its row lock puts the invocations of an endpoint in order.
create table commands.endpoints (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  last_id integer not null default 0,
  last_at timestamptz not null,
  primary key (tenant_id, endpoint_id)
);

create table commands.commands (
  tenant_id text collate "C" not null,
  endpoint_id text collate "C" not null,
  command_id integer not null,
  application_name text collate "C" not null,
  command_type text collate "C" not null,
  -- JSON text; null without a payload, or where the task of the command has it.
  payload text,
  -- About the bytes of the command in a message to its device.
  size integer not null,
  created_at timestamptz not null,
  -- When the result came, else when the command expires. No state is stored: see README.md.
  ends_at timestamptz not null,
  -- False for commandTtl=0: never given to a device that asks.
  kept boolean not null,
  -- The node whose caller waits for the result.
  waiting_node text,
  task_id text collate "C",
  dispatched_at timestamptz,
  -- Null until the device has sent the result.
  status_code smallint,
  reason_phrase text,
  result text,
  primary key (tenant_id, endpoint_id, command_id)
);
create index commands_without_result on commands.commands (tenant_id, endpoint_id, ends_at) where status_code is null;
create index commands_by_type on commands.commands (tenant_id, endpoint_id, command_type, command_id);
create index commands_with_result on commands.commands (tenant_id, endpoint_id, command_type, ends_at, command_id)
  where status_code is not null;
create index commands_by_creation on commands.commands (tenant_id, application_name, created_at, endpoint_id, command_id);
create index commands_by_end on commands.commands (tenant_id, application_name, ends_at, endpoint_id, command_id);
create index commands_of_task on commands.commands (tenant_id, task_id, application_name)
  include (status_code, ends_at) where task_id is not null;

create table commands.tasks (
  tenant_id text collate "C" not null,
  task_id text collate "C" not null,
  command_type text collate "C" not null,
  payload text,
  size integer not null,
  ttl_ms bigint not null,
  filter_id text,
  created_at timestamptz not null,
  primary key (tenant_id, task_id)
);

-- A task stands under each application that it has endpoints of.
create table commands.task_applications (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  task_id text collate "C" not null,
  created_at timestamptz not null,
  primary key (tenant_id, application_name, task_id)
);
create index task_applications_by_task on commands.task_applications (tenant_id, task_id);

-- The endpoints of a task whose command is not made yet.
create table commands.task_endpoints (
  tenant_id text collate "C" not null,
  task_id text collate "C" not null,
  position integer not null,
  application_name text collate "C" not null,
  endpoint_id text collate "C" not null,
  primary key (tenant_id, task_id, position)
);
create index task_endpoints_by_endpoint on commands.task_endpoints (tenant_id, endpoint_id);
