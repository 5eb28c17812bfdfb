-- Who changed what, when, from where and by which request (kernel/audit).
create table kernel.audit_log (
  id uuid not null,
  at timestamptz not null,
  tenant_id text collate "C" not null,
  -- The name of the operation, or of what happened: `users.create`, `logins.failed`.
  operation text collate "C" not null,
  -- The path of the changed object; secrets in it are hidden.
  resource text,
  -- The status of the response; null where there was none.
  status integer,
  actor_type text,
  actor_id text,
  actor_name text,
  -- The tenant of the actor, where it is not the tenant of the record.
  actor_tenant_id text,
  address text,
  correlation_id text,
  -- Names of the fields in the body, without their values.
  fields text[],
  -- Equal events of a second are one record.
  count integer not null default 1,
  primary key (tenant_id, at, id)
);
create index audit_log_by_time on kernel.audit_log (at);
create index audit_log_by_actor on kernel.audit_log (tenant_id, actor_id, at);
create index audit_log_by_correlation on kernel.audit_log (tenant_id, correlation_id);
