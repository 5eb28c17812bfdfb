-- Bytes that each tenant has stored on a day (UTC), and what its quota refused (kernel/daily-quota.ts).
create table kernel.daily_bytes (
  tenant_id text collate "C" not null,
  day date not null,
  samples bigint not null default 0,
  traffic_log bigint not null default 0,
  -- Messages and requests with samples that were refused.
  refused bigint not null default 0,
  -- Records that the traffic log left out.
  unrecorded bigint not null default 0,
  primary key (tenant_id, day)
);
create index daily_bytes_by_day on kernel.daily_bytes (day);
