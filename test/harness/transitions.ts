import assert from 'node:assert/strict'

/** Every move that there could be, against those that there are. */
export function assertTransitions<State extends string, Mover extends string>(
  isAllowed: (from: State, to: State, by: Mover) => boolean,
  of: { states: readonly State[]; movers: readonly Mover[]; allowed: [Mover, State, State][] },
) {
  for (const by of of.movers)
    for (const from of of.states)
      for (const to of of.states) {
        const expected = of.allowed.some(([mover, a, b]) => mover === by && a === from && b === to)
        assert.equal(isAllowed(from, to, by), expected, `${from} → ${to} by ${by}`)
      }
}
