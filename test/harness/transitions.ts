import assert from 'node:assert/strict'

/** Checks every combination of states and causes against the allowed transitions. */
export function assertTransitions<State extends string, Cause extends string>(
  isAllowed: (from: State, to: State, by: Cause) => boolean,
  table: { states: readonly State[]; causes: readonly Cause[]; allowed: [Cause, State, State][] },
) {
  for (const by of table.causes)
    for (const from of table.states)
      for (const to of table.states) {
        const expected = table.allowed.some(([cause, a, b]) => cause === by && a === from && b === to)
        assert.equal(isAllowed(from, to, by), expected, `${from} → ${to} by ${by}`)
      }
}
