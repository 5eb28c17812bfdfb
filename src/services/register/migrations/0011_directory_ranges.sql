-- The range of `seq` is mixed into every element of `grams`, so that each range has posting lists of its own: with the range as a separate
-- element, PostgreSQL read the lists of all ranges for each. The other conditions are written so that the primary key cannot be scanned for
-- them. Documents are computed again.
create or replace function register.search_candidates(tenant text, applications text[], words text[], wanted integer[],
  first_seq bigint, last_seq bigint, descending boolean, at_most bigint)
  returns table (number bigint) language plpgsql stable rows 1000
  set enable_seqscan = off set enable_indexscan = off set enable_indexonlyscan = off as $$
declare
  range bigint := case when descending then last_seq >> 14 else first_seq >> 14 end;
  step bigint := case when descending then -1 else 1 end;
  found_count bigint := 0;
  found_here bigint;
  of_range integer[];
begin
  while range between first_seq >> 14 and last_seq >> 14 and found_count < at_most loop
    of_range := array(select gram # ((range * 2654435761) & 2147483647)::integer from unnest(wanted) as gram);
    return query select d.seq from register.documents d
      where d.grams @> of_range and d.tenant_id || '' = tenant and d.application_name || '' = any(applications)
        and d.seq + 0 between first_seq and last_seq and strpos(d.text, words[1]) > 0
        and (words[2] is null or strpos(d.text, words[2]) > 0) and (words[3] is null or strpos(d.text, words[3]) > 0)
        and (words[4] is null or strpos(d.text, words[4]) > 0) and (words[5] is null or strpos(d.text, words[5]) > 0)
      order by case when descending then -d.seq else d.seq end limit at_most - found_count;
    get diagnostics found_here = row_count;
    found_count := found_count + found_here;
    range := range + step;
  end loop;
end
$$;

truncate register.documents, register.sort_values, register.places, register.place_cells, register.directory_queue;
insert into register.directory_queue (tenant_id, application_name, seq, whole)
select tenant_id, application_name, seq, true from register.endpoints;
