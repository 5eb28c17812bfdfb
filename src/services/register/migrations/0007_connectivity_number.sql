-- Connects and disconnects are ordered by the gateway's numbers, never by the clocks of the nodes.
alter table register.endpoints add column connectivity_number bigint;
