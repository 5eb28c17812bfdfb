create schema if not exists gateway;

-- MQTT sessions that outlive their connections. Filters and topics hold tokens of endpoints: they are sealed, as payloads are.
create table gateway.sessions (
  session_key text collate "C" primary key,
  -- Null: it never expires.
  expiry_seconds bigint,
  expires_at timestamptz,
  subscriptions text not null,
  -- Packet ids of QoS 2 messages from the client that it has not released.
  received integer[] not null default '{}'
);
create index sessions_by_expiry on gateway.sessions (expires_at);

-- What a session owes its client, in this order.
create table gateway.session_messages (
  session_key text collate "C" not null references gateway.sessions on delete cascade,
  sequence bigint generated always as identity,
  qos smallint not null,
  -- 0: not sent yet.
  packet_id integer not null,
  -- QoS 2: PUBREC has come, PUBREL is owed.
  released boolean not null,
  taken_at timestamptz not null,
  expires_at timestamptz,
  bytes integer not null,
  sealed text not null,
  primary key (session_key, sequence)
);
create index session_messages_by_expiry on gateway.session_messages (expires_at) where expires_at is not null;
