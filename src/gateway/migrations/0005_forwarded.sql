-- Pushes on their way to the process that has the connection, where they are too large for a message between processes.
create table gateway.forwarded (
  push_id text collate "C" primary key,
  -- Sealed: what services tell devices may be secret.
  sealed text not null,
  forwarded_at timestamptz not null
);
