-- Bytes that ingest pipelines and rules have stored on a day, and what was shortened or left out because of the quota
-- (kernel/daily-quota.ts).
alter table kernel.daily_bytes
  add column documents bigint not null default 0,
  add column traces bigint not null default 0,
  add column alerts bigint not null default 0,
  -- Traces that were stored without their details, and entries of the history of alerts that were left out.
  add column shortened bigint not null default 0;
