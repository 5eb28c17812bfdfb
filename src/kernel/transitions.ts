/** The life of something as data: from which state to which, and by whom. */
export interface Transition<State extends string, Mover extends string> {
  from: State
  to: State
  by: Mover
}

export const transitionsOf = <State extends string, Mover extends string>(
  moves: readonly Transition<State, Mover>[],
) => ({
  isAllowed: (from: State, to: State, by: Mover): boolean =>
    moves.some((move) => move.from === from && move.to === to && move.by === by),
  from: (state: State) => moves.filter((move) => move.from === state),
})
