import { count } from '../../parts/texts.ts'

export const replayTexts = {
  title: 'Replay',
  lead: 'Runs the script without effects for the messages that were recorded, and compares what it returns with what the rule returned then.',
  period: 'Period',
  periods: { 'now-1h': 'Last hour', 'now-1d': 'Last day', 'now-7d': 'Last 7 days', other: 'Other' },
  from: 'From',
  to: 'To',
  timeNote: 'ISO 8601, such as 2026-01-31T08:00:00Z, or relative, such as now-2h.',
  endpoints: 'Endpoints',
  endpointsNote: 'Ids, separated by spaces. Empty: the endpoints of the triggers of the rule.',
  expression: 'Script to run',
  expressionNote: 'Change the expression here to see what a change would do. The rule itself does not change.',
  start: 'Start',
  cancel: 'Cancel the replay',
  canceled: 'Replay canceled. The differences that were found stay.',
  loading: 'Loading the replay',
  result: 'Result',
  states: { RUNNING: 'Running', COMPLETED: 'Completed', FAILED: 'Failed', CANCELED: 'Canceled' } as Record<
    string,
    string
  >,
  progress: 'Part of the period that is done',
  facts: { period: 'Period', events: 'Messages', skipped: 'Without a complete payload', differences: 'Differences' },
  span: 'to',
  count: (value: number) => count(value),
  none: 'The script returns the same as the rule did then, for every message.',
  noneYet: 'No difference so far.',
  noMessages: 'No message was recorded in this period for these endpoints.',
  more: (shown: number, kept: number) =>
    `The first ${count(shown)} of ${count(kept)} differences. The command returns all that are kept, at most 1,000.`,
  columns: { at: 'Time', endpoint: 'Endpoint', before: 'Then', now: 'Now' },
  notRun: 'did not run',
  earlier: 'Replays of the last 7 days',
  earlierNone: 'No replay yet. Start a replay to see what a changed script would have done.',
  earlierColumns: { created: 'Started', state: 'State', events: 'Messages', differences: 'Differences' },
}
