-- As enter(), for records of which none is older than this: fails where the counting is beyond it already, and they have to be moved.
create function traffic_log.enter_since(earliest timestamptz) returns void language plpgsql as $$
begin
  perform pg_current_xact_id();
  if (select closed_until from traffic_log.counting) > earliest then
    raise exception 'records since % are counted already', earliest using errcode = 'WP002';
  end if;
end $$;
