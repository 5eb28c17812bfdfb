-- For live streams that resume, which read the changes since a time. A block range index costs next to nothing where rows come in order.
create index alert_events_in_time on rules.alert_events using brin (created_at) with (pages_per_range = 16);
