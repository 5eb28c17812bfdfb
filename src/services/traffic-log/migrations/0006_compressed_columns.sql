-- The small columns of a block are compressed, but stay in its row, because searches read them without the data. The partitions of new
-- days have the setting that makes PostgreSQL compress such short rows.
alter table traffic_log.blocks alter column groups set storage main, alter column endpoints set storage main,
  alter column request_ids set storage main;
