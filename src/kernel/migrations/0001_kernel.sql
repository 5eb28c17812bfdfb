-- What waits to be delivered: one row for each event and durable reaction, deleted in the transaction of its success.
create table kernel.outbox (
  id bigint generated always as identity primary key,
  subscription text not null,
  event text not null,
  key text not null,
  payload jsonb not null,
  attempts integer not null default 0,
  due_at timestamptz not null default now(),
  created_at timestamptz not null default now()
);
-- Order holds for each subscription and key: its oldest row is its head.
create index outbox_heads on kernel.outbox (subscription, key, id);

-- Work that one node at a time does again and again.
create table kernel.periodic (
  name text primary key,
  ran_at timestamptz not null default '-infinity'
);

-- The key that seals secrets, itself sealed by the master key that lives outside the database.
create table kernel.data_keys (
  id integer primary key check (id = 1),
  sealed text not null
);

-- Secrets of the platform itself, sealed.
create table kernel.vault (
  name text primary key,
  sealed text not null
);
