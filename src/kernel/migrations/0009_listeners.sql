-- The process id of the database connection on which the node listens. A killed node loses it at once, and its heartbeat only after seconds.
alter table kernel.nodes add column listener integer;
