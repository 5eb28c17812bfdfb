-- Where an application's configuration (instance epl) names other keys than connected and connectivity_ts, connectivity stands
-- in the metadata itself under these two, and `connected` is null: lists, filters and counts need no word on it. Such
-- endpoints pay for it with their document and its index at each change. Null: the two columns, as everybody else.
alter table register.endpoints add column connectivity_keys text[];
