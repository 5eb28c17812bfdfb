-- The directory serves lists for people: search by a part of a text, order by any indexed key, connection state, places on a map. A
-- background task maintains it from the endpoints that changed, so that registrations and metadata changes only add a row to this queue.
create table register.directory_queue (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  seq bigint not null,
  -- False: only the connectivity of the endpoint changed.
  whole boolean not null
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);

-- The searchable texts of an endpoint in lower case, one line each. `grams` has a number for each part of one, two and three characters,
-- and a negative number for the range of `seq` (see search_candidates). `sorted` has the rows of `sort_values`, to replace them.
create table register.documents (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  seq bigint not null,
  text text collate "C" not null,
  grams integer[] not null,
  sorted jsonb not null,
  -- Millionths of a degree.
  latitude integer,
  longitude integer,
  primary key (tenant_id, application_name, seq)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);
create index documents_grams on register.documents using gin (grams) with (fastupdate = on, gin_pending_list_limit = 512);

-- One row for each indexed key of an endpoint; the empty key has the id. Collation C: Node.js encodes values so that bytes have the order.
create table register.sort_values (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  key text collate "C" not null,
  value text collate "C" not null,
  seq bigint not null,
  primary key (tenant_id, application_name, key, value, seq)
);

-- When an endpoint was last active. Not a column of the endpoints, because its index would make every update of an endpoint expensive.
create table register.activity (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  seq bigint not null,
  -- 0: never connected, 1: disconnected, 2: connected.
  connection smallint not null,
  at timestamptz not null,
  primary key (tenant_id, application_name, seq)
) with (fillfactor = 80);
create index activity_order on register.activity (tenant_id, application_name, connection, at, seq);

-- Endpoints with a place, in 16384 bands of latitude.
create table register.places (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  band integer not null,
  longitude integer not null,
  latitude integer not null,
  seq bigint not null,
  primary key (tenant_id, application_name, band, longitude, latitude, seq)
);
-- Sums over the cells of a grid of 2^level columns and rows, for even levels. `seqs` of a cell with one endpoint is its number.
create table register.place_cells (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  level smallint not null,
  y integer not null,
  x integer not null,
  count bigint not null,
  latitudes bigint not null,
  longitudes bigint not null,
  seqs bigint not null,
  primary key (tenant_id, application_name, level, y, x)
) with (fillfactor = 80);
-- Places that a time series reports; they replace those in the metadata.
create table register.reported_places (
  tenant_id text collate "C" not null,
  application_name text collate "C" not null,
  seq bigint not null,
  latitude integer not null,
  longitude integer not null,
  at timestamptz not null,
  primary key (tenant_id, application_name, seq)
) with (fillfactor = 80);

-- Finds endpoints whose text contains all words. It goes through ranges of 16384 numbers, which are an element of `grams`, in either
-- direction, and stops after the range in which `at_most` was reached. A search that matches everything reads one range.
create function register.search_candidates(tenant text, applications text[], words text[], wanted integer[], first_seq bigint,
  last_seq bigint, descending boolean, at_most bigint)
  returns table (number bigint) language plpgsql stable rows 1000
  set enable_seqscan = off set enable_indexscan = off set enable_indexonlyscan = off as $$
declare
  range bigint := case when descending then last_seq >> 14 else first_seq >> 14 end;
  step bigint := case when descending then -1 else 1 end;
  found_count bigint := 0;
  found_here bigint;
begin
  while range between first_seq >> 14 and last_seq >> 14 and found_count < at_most loop
    return query select d.seq from register.documents d
      where d.grams @> (wanted || (-1 - range)::integer) and d.tenant_id || '' = tenant and d.application_name || '' = any(applications)
        and d.seq between first_seq and last_seq
        and not exists (select from unnest(words) word where strpos(d.text, word) = 0);
    get diagnostics found_here = row_count;
    found_count := found_count + found_here;
    range := range + step;
  end loop;
end
$$;

insert into register.directory_queue (tenant_id, application_name, seq, whole)
select tenant_id, application_name, seq, true from register.endpoints;
