-- Of several connections of one client the last one has its session, in whichever process. Each CONNECT gets a number, which only
-- grows: what an earlier one still writes is ignored.
create sequence gateway.session_claims;
alter table gateway.sessions
  add column claim bigint not null default 0,
  -- The process in which the client is connected; null: it is away.
  add column node_id text collate "C";
