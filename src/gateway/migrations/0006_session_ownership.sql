-- QoS 2 packet ids from a client count as received only together with their topic: another client may have used the same id on
-- the session. One hash for each element of `received`; absent: any topic.
alter table gateway.sessions add column received_topics integer[] not null default '{}';

-- Messages for endpoints whose token the client does not present wait, but not for ever.
create index session_messages_by_age on gateway.session_messages (taken_at);
