-- Whoever copies samples into a slot asks this first, in the same transaction: the slot is open, and stays so until the commit. The
-- second statement has to see what was committed while the first one waited; in a function of this kind it does.
create function time_series.hold_slot(wanted integer) returns void language plpgsql as $$
begin
  perform pg_advisory_xact_lock_shared(hashtext('time-series.slot'), wanted);
  if (select state from time_series.slots where slot = wanted) is distinct from 'open' then
    raise exception 'slot % is not open', wanted using errcode = 'WP001';
  end if;
end $$;
