-- Bindings are ordered by a number that only grows, never by the clocks of the nodes.
create sequence gateway.binding_numbers;
alter table gateway.bindings
  drop column bound_at,
  add column number bigint not null default nextval('gateway.binding_numbers'),
  -- Of the connection's CONNECT.
  add column claim bigint not null default 0,
  -- The greatest number that the node had seen when it bound the endpoint.
  add column follows bigint not null default 0,
  -- The node that had the endpoint before this binding.
  add column previous_node_id text collate "C";

-- The node that has the connection of an MQTT client, for clients without a kept session too.
create table gateway.holders (
  session_key text collate "C" primary key,
  node_id text collate "C" not null,
  claim bigint not null,
  -- The node that had the client when this claim was made.
  previous_node_id text collate "C"
);
create index holders_of_node on gateway.holders (node_id);
alter table gateway.sessions drop column node_id;

-- Replaced by kernel.nodes and kernel.signals.
drop table gateway.nodes;
drop table gateway.forwarded;
