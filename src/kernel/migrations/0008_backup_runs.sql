-- Backups and restores of this installation, for its administrators (kernel/backup/history.ts). Backups do not contain it.
create table kernel.backup_runs (
  -- Not from a sequence, because a restore resets sequences.
  id uuid primary key,
  kind text not null check (kind in ('backup', 'restore')),
  started_at timestamptz not null,
  finished_at timestamptz not null,
  host text not null,
  file text not null,
  program text not null,
  encrypted boolean not null,
  with_contents boolean not null,
  tables bigint,
  rows bigint,
  bytes bigint,
  sha256 text,
  -- Null if it succeeded.
  problem text
);
create index backup_runs_by_time on kernel.backup_runs (finished_at, id);
