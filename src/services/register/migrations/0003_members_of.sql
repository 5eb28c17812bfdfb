-- All that are in all of these sets, in no order. A planner that knows nothing of a set that was just filled takes it for
-- empty and looks up half a million endpoints one by one: to it, this is always many.
create function register.members_of(tenant text, sets bigint[])
  returns table (number bigint) language plpgsql stable rows 100000
  set enable_bitmapscan = off set enable_seqscan = off set enable_sort = off set enable_hashjoin = off as $$
begin
  if cardinality(sets) = 1 then
    return query select m.seq from register.filter_members m where m.tenant_id = tenant and m.member_set = sets[1];
  else
    return query select m.seq from register.filter_members m
      where m.tenant_id = tenant and m.member_set = sets[1] and not exists (
        select from unnest(sets[2:]) as other(member_set) where not exists (
          select from register.filter_members o
          where o.tenant_id = tenant and o.member_set = other.member_set and o.seq = m.seq));
  end if;
end
$$;
