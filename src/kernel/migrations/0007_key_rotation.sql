-- The rotation of the keys that is under way, if any. `by_old` and `by_new` are sealed by the master key until now and by the new one.
create table kernel.key_rotation (
  id integer primary key check (id = 1),
  -- adding: nodes learn the new data key. sealing: they seal with it. sealed: no value is left that only the old one opens.
  phase text not null check (phase in ('adding', 'sealing', 'sealed')),
  old_key_by_old text not null,
  old_key_by_new text not null,
  new_key_by_old text not null,
  new_key_by_new text not null,
  started_at timestamptz not null default now()
);

-- The phase that each node has taken up.
create table kernel.key_rotation_nodes (
  node_id text collate "C" primary key,
  phase text not null
);
