-- Documents that wait for the external search engine are rows of ingest.documents; the queue only names them.
drop table ingest.outgoing;
create table ingest.outgoing (
  no bigint generated always as identity primary key,
  index_no integer not null,
  -- Null: all documents of the index are deleted in the search engine.
  id uuid,
  arrived_at timestamptz,
  unique (id)
);

-- The node that sends them, until its time is over.
create table ingest.sender (
  id smallint primary key check (id = 1),
  node_id text not null,
  until timestamptz not null
);
insert into ingest.sender values (1, '', '-infinity');
