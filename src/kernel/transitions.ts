/** An allowed change of an object's state. `by` is the actor or event that may cause it. */
export interface Transition<State extends string, Actor extends string> {
  from: State
  to: State
  by: Actor
}

/** Returns functions that look up the allowed transitions of an object. */
export const transitionsOf = <State extends string, Actor extends string>(
  transitions: readonly Transition<State, Actor>[],
) => ({
  isAllowed: (from: State, to: State, by: Actor): boolean =>
    transitions.some((transition) => transition.from === from && transition.to === to && transition.by === by),
  from: (state: State) => transitions.filter((transition) => transition.from === state),
})
