-- A replay can be canceled; its row stays, with what was found until then.
alter table rules.replays
  drop constraint replays_status_check,
  add constraint replays_status_check check (status in ('RUNNING', 'COMPLETED', 'FAILED', 'CANCELED'));
create index replays_newest on rules.replays (tenant_id, rule_id, created_at, id);
drop index rules.replays_of_rule;
