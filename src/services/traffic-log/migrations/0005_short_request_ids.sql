-- Request ids modulo 2^15 suffice to find a block, and take half the space.
alter table traffic_log.blocks alter column request_ids type smallint[] using null;
