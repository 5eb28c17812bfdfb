/** The life of something as data: from which state to which, and by whom. */
export interface Move<State extends string, Mover extends string> {
  from: State
  to: State
  by: Mover
}

export const movesOf = <State extends string, Mover extends string>(moves: readonly Move<State, Mover>[]) => ({
  mayMove: (from: State, to: State, by: Mover): boolean =>
    moves.some((move) => move.from === from && move.to === to && move.by === by),
  from: (state: State) => moves.filter((move) => move.from === state),
})
