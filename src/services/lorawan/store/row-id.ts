/** Returns 0, which no row has, for an integer of a path that cannot be an id: it is answered like an unknown id. */
export const rowIdOf = (id: number) => (id > 0 && id <= 2_147_483_647 ? id : 0)
