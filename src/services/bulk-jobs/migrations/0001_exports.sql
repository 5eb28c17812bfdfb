create schema bulk_jobs;

-- The file of an export. Its bulk task (kernel.bulk_tasks) has the state; a finished file expires before its task does.
create table bulk_jobs.exports (
  task_id text collate "C" primary key,
  tenant_id text collate "C" not null,
  file_name text not null,
  -- Where the next part begins; null before the first part. Each source has a position of its own.
  position jsonb,
  size bigint not null default 0,
  finished_at timestamptz,
  expires_at timestamptz not null
);
create index exports_by_expiry on bulk_jobs.exports (expires_at);
create index exports_by_tenant on bulk_jobs.exports (tenant_id);

-- The contents of a file in the blob store, in order. An export that continues after a crash writes its unfinished part again.
create table bulk_jobs.export_parts (
  task_id text collate "C" not null,
  part integer not null,
  content_key text not null,
  size bigint not null,
  checksum text not null,
  primary key (task_id, part)
);
