-- A replay calls the platform with the present permissions of who started it. `position_micros` is the exact time of the last message.
alter table rules.replays
  add column caller_type text not null,
  add column caller_id text not null,
  add column position_micros bigint not null,
  drop column position;
