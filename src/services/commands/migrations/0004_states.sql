-- Counts by state are read from this index alone. A result changes `ends_at` anyway, so that the further columns cost no further writes.
drop index commands.commands_by_end;
create index commands_by_end on commands.commands (tenant_id, application_name, ends_at, endpoint_id, command_id)
  include (status_code, command_type);
